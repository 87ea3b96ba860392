/**
 * The first part of the routing bytes and the rest, for maps of two levels. Split either at a delimiter
 * ("delimiter": "|", and "first": how many of the fields make the first part, 1 by default) or at a place
 * ("first-bytes": 8). Bytes without that many delimiters are all first part, and the rest is empty.
 */
#ifndef KR_SPLIT_H
#define KR_SPLIT_H

#include "../key/key.h"

struct kr_split {
        size_t first_len; /* > 0: split there, not at a delimiter */
        size_t first_fields;
        size_t delimiter_len;
        char delimiter[16];
};

#define KR_SPLIT_FIELDS "delimiter", "first", "first-bytes"

/** True when the object has fields that say how to split. */
bool kr_split_given(const struct kr_json *at);

bool kr_split_parse(struct kr_split *split, const struct kr_json *at, struct kr_error *err);

/** Both parts point into bytes; the delimiter between them belongs to neither. */
void kr_split(const struct kr_split *split, struct kr_bytes bytes, struct kr_bytes *first, struct kr_bytes *rest);

/** False when no key can have this first part: it is too long, or holds too many delimiters. */
bool kr_split_can_be_first(const struct kr_split *split, struct kr_bytes first);

/** True when both take the same first parts. */
bool kr_split_equal(const struct kr_split *a, const struct kr_split *b);

void kr_split_canon(const struct kr_split *split, struct kr_canon *canon);

#endif
