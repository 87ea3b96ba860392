#include "decide/digest.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const uint64_t NONE = UINT64_MAX; /* the length of NULL */

enum { KEYED = 1, KEYLESS = 2 }; /* seeds, so that a time is no key */

/* Length and hash of one field. */
struct field {
        uint64_t len, low, high;
};

static struct field field(const void *data, size_t len)
{
        XXH128_hash_t hash;

        if (!data)
                return (struct field){ htole64(NONE), 0, 0 };
        hash = XXH3_128bits(data, len);
        return (struct field){ htole64((uint64_t)len), htole64(hash.low64), htole64(hash.high64) };
}

/* A chain, so that order and number count. */
static struct field headers_field(const struct rp_record *rec)
{
        struct {
                struct field before, name, value;
        } link = { .before = { htole64((uint64_t)rec->header_cnt), 0, 0 } };

        for (size_t i = 0; i < rec->header_cnt; i++) {
                XXH128_hash_t hash;

                link.name = field(rec->headers[i].name, strlen(rec->headers[i].name));
                link.value = field(rec->headers[i].value, rec->headers[i].value_len);
                hash = XXH3_128bits(&link, sizeof(link));
                link.before.low = htole64(hash.low64);
                link.before.high = htole64(hash.high64);
        }
        return link.before;
}

struct rp_digest rp_digest_record(const struct rp_record *rec)
{
        struct {
                struct field key, value, headers;
                uint64_t timestamp;
        } whole = {
                .key = field(rec->key, rec->key_len),
                .value = field(rec->value, rec->value_len),
                .headers = headers_field(rec),
                .timestamp = htole64((uint64_t)rec->timestamp_ms),
        };
        XXH128_hash_t hash = XXH3_128bits(&whole, sizeof(whole));

        return (struct rp_digest){ .high = hash.high64, .low = hash.low64 };
}

void rp_digest_add(struct rp_digest *sum, struct rp_digest digest)
{
        sum->low += digest.low;
        sum->high += digest.high + (sum->low < digest.low);
}

bool rp_digest_equals(struct rp_digest a, struct rp_digest b)
{
        return a.high == b.high && a.low == b.low;
}

void rp_digest_print(struct rp_digest digest, char out[RP_DIGEST_TEXT_SIZE])
{
        snprintf(out, RP_DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, digest.high, digest.low);
}

uint64_t rp_digest_group(const struct rp_record *rec)
{
        uint64_t time = htole64((uint64_t)rec->timestamp_ms);
        uint64_t hash = rec->key ? XXH3_64bits_withSeed(rec->key, rec->key_len, KEYED)
                                 : XXH3_64bits_withSeed(&time, sizeof(time), KEYLESS);

        return hash ? hash : 1;
}
