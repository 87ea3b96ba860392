/**
 * Strict reading of JSON: each step knows its path, so that every complaint names file, path and what was expected.
 * A node lives on the stack of the function that visits it; children point at their parents.
 */
#ifndef KR_JSON_H
#define KR_JSON_H

#include "keyroute.h"

#include <jansson.h>

struct kr_json {
        const struct kr_json *parent; /* NULL at the root */
        const char *file;             /* at the root: what the document is called */
        const char *folder;           /* at the root: where the document stands; NULL when it came from memory */
        const char *key;              /* the member's name, or NULL for an element */
        size_t index;                 /* the element's index, when key is NULL and parent is not */
        json_t *value;                /* borrowed; NULL for an absent optional member */
};

/**
 * Parses a document; duplicate members and anything after the end are errors that name the line.
 * @returns the document, to be released with json_decref(); or NULL with *err.
 */
json_t *kr_json_parse(const char *text, size_t len, const char *name, struct kr_error *err);

/**
 * Reads a whole regular file of at most 64 MiB; `what` it is, such as "policy", stands in messages.
 * @returns the bytes, the caller's to free(), with a NUL behind them; or NULL with *err.
 */
char *kr_file_read(const char *path, const char *what, size_t *len, struct kr_error *err);

/** A document read from a file. */
struct kr_document {
        struct kr_json root; /* borrows the path it was loaded from */
        char *folder;
};

/**
 * Reads and parses a file; `what` it is stands in messages.
 * @returns true and *doc, the caller's to kr_document_release(); or false with *err and nothing to release.
 */
bool kr_document_load(struct kr_document *doc, const char *path, const char *what, struct kr_error *err);

/** The same from text that stands, or shall stand, in the file `path`: files that it names are looked for from there. */
bool kr_document_parse(struct kr_document *doc, const char *text, size_t len, const char *path, struct kr_error *err);
void kr_document_release(struct kr_document *doc);

/**
 * The document as text for people and version control: objects over several lines, arrays filled into lines.
 * @returns text that ends in a line end, the caller's to free(); or NULL when memory is out.
 */
char *kr_json_print(const json_t *value);

/** Messages are one line, whatever a document holds: control bytes become '?'. */
void kr_one_line(char *text);

/** Sets *err to "FILE: PATH: message" and returns false, so that callers can return its result. */
bool kr_json_fail(const struct kr_json *at, struct kr_error *err, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/**
 * True when `at` is an object whose members are all in `known` (a NULL-terminated list); "comment" is always known and
 * must be a string. The error lists what is known and, where a name is close, what was probably meant.
 */
bool kr_json_object(const struct kr_json *at, const char *const *known, struct kr_error *err);

/** The member of an object; its value is NULL when absent. */
struct kr_json kr_json_member(const struct kr_json *at, const char *key);

struct kr_json kr_json_element(const struct kr_json *at, size_t index);

/**
 * The file that the string at `at` names: as it is when absolute, else from the folder of the document, so that a policy
 * and what it names can be moved together.
 * @returns a path, the caller's to free(); or NULL with *err.
 */
char *kr_json_path(const struct kr_json *at, struct kr_error *err);

/** A string without NUL inside, borrowed from the document. */
bool kr_json_string(const struct kr_json *at, const char **out, struct kr_error *err);

/** A whole number in [min, max]. */
bool kr_json_integer(const struct kr_json *at, int64_t min, int64_t max, int64_t *out, struct kr_error *err);

/** The name among `names` (of `cnt`) that is closest to `word`, or NULL when none is close. */
const char *kr_closest(const char *word, const char *const *names, size_t cnt);

#endif
