/* The registry frame removed, so that a key keeps its partition when its schema gets a new id. */
#include "frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_MAX = 4096 };

struct payload {
        size_t id_len;
        int64_t *known; /* by rising value; NULL: any id */
        size_t known_cnt;
};

static const char *const fields[] = { "known-ids", "id-bytes", NULL };

struct kr_frame kr_frame_sniff(struct kr_bytes bytes, size_t id_len)
{
        struct kr_frame frame = { 0, -1, { 0 } };
        const unsigned char *data = bytes.data;

        if (bytes.len > id_len && data[0] == 0) {
                uint64_t id = 0;

                for (size_t i = 1; i <= id_len; i++)
                        id = id << 8 | data[i];
                if (id > 0 && id <= (id_len == 4 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX)) {
                        frame.len = 1 + id_len;
                        frame.id = (int64_t)id;
                }
        } else if (bytes.len > 16 && data[0] == 1) {
                unsigned version = data[7] >> 4;

                if (version >= 1 && version <= 8 && (data[9] & 0xc0) == 0x80) {
                        frame.len = 17;
                        memcpy(frame.guid, data + 1, 16);
                }
        }
        return frame;
}

static int by_value(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

static bool parse_known(struct payload *payload, const struct kr_json *at, struct kr_error *err)
{
        size_t cnt = json_array_size(at->value);

        if (!json_is_array(at->value) || !cnt || cnt > KNOWN_MAX)
                return kr_json_fail(at, err, "expected a list of 1 to %d schema ids", KNOWN_MAX);
        payload->known = calloc(cnt, sizeof(*payload->known));
        if (!payload->known)
                return kr_json_fail(at, err, "out of memory");
        for (; payload->known_cnt < cnt; payload->known_cnt++) {
                struct kr_json element = kr_json_element(at, payload->known_cnt);

                if (!kr_json_integer(&element, 1, INT64_MAX, &payload->known[payload->known_cnt], err))
                        return false;
        }
        qsort(payload->known, cnt, sizeof(*payload->known), by_value);
        return true;
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json known_at = kr_json_member(at, "known-ids");
        struct kr_json bytes_at = kr_json_member(at, "id-bytes");
        struct payload *payload = calloc(1, sizeof(*payload));
        int64_t id_len = 4;

        if (!payload)
                return kr_json_fail(at, err, "out of memory");
        key->state = payload;
        if (bytes_at.value && !kr_json_integer(&bytes_at, 4, 8, &id_len, err))
                return false;
        if (id_len != 4 && id_len != 8)
                return kr_json_fail(&bytes_at, err, "expected 4 (Confluent, Apicurio 3) or 8 (Apicurio's older form)");
        payload->id_len = (size_t)id_len;
        return !known_at.value || parse_known(payload, &known_at, err);
}

static void release(struct kr_key *key)
{
        struct payload *payload = key->state;

        if (payload)
                free(payload->known);
        free(payload);
}

/* Bytes that are no frame route as they are; that is an answer, not a failure, and counted by whoever counts. */
static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct payload *payload = key->state;
        struct kr_frame frame = kr_frame_sniff(*bytes, payload->id_len);

        (void)scratch;
        if (frame.len && payload->known && (frame.id < 0 || !bsearch(&frame.id, payload->known, payload->known_cnt,
                                                                     sizeof(*payload->known), by_value)))
                frame.len = 0;
        if (!frame.len)
                return KR_KEY_UNFRAMED;
        bytes->data += frame.len;
        bytes->len -= frame.len;
        return KR_KEY_PROJECTED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct payload *payload = key->state;

        kr_canon_add(canon, "id-bytes=%zu", payload->id_len);
        for (size_t i = 0; i < payload->known_cnt; i++)
                kr_canon_add(canon, "id=%" PRId64, payload->known[i]);
}

const struct kr_key_kind kr_key_payload = {
        .use = "payload", .fields = fields, .parse = parse, .release = release, .project = project, .canon = canon,
};
