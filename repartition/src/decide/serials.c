#include "decide/serials.h"

#include "decide/forms.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rp_serial_kinds[] = { "strings", "ints", "longs", "uuids", NULL };

static const char *const strings[] = { "", "a", "customer-42", " padded ", "UPPER lower", "say \"hi\"", "back\\slash", "42",
                                       "na\xc3\xafve", "stra\xc3\x9f" "e", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x98\x80", NULL };
static const char *const ints[] = { "0", "1", "-1", "42", "255", "256", "65536", "16909060", "2147483647", "-2147483648", NULL };
static const char *const longs[] = { "0", "1", "-1", "42", "4294967296", "72623859790382856", "1700000000000",
                                     "9223372036854775807", "-9223372036854775808", NULL };
static const char *const uuids[] = { "00000000-0000-0000-0000-000000000000", "123e4567-e89b-12d3-a456-426614174000",
                                     "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "00112233-4455-6677-8899-aabbccddeeff", NULL };

static bool is_kind(const char *kind, const char *name)
{
        return !strcmp(kind, name);
}

const char *rp_serial_value(const char *kind, size_t i)
{
        const char *const *values = is_kind(kind, "ints") ? ints : is_kind(kind, "longs") ? longs :
                                    is_kind(kind, "uuids") ? uuids : strings;

        for (size_t n = 0; n < i; n++)
                if (!values[n])
                        return NULL;
        return values[i];
}

/* ---- encodings -------------------------------------------------------------------------------------------------------- */

typedef bool encode_fn(const char *value, struct rp_serial_bytes *out);

static bool put(struct rp_serial_bytes *out, const void *data, size_t len)
{
        if (out->len + len > sizeof(out->data))
                return false;
        memcpy(out->data + out->len, data, len);
        out->len += len;
        return true;
}

static bool text(const char *value, struct rp_serial_bytes *out)
{
        return put(out, value, strlen(value));
}

static bool quoted(const char *value, struct rp_serial_bytes *out)
{
        bool ok = put(out, "\"", 1);

        for (; ok && *value; value++)
                ok = (*value != '"' && *value != '\\') ? put(out, value, 1) : put(out, "\\", 1) && put(out, value, 1);
        return ok && put(out, "\"", 1);
}

static bool with_nul(const char *value, struct rp_serial_bytes *out)
{
        return put(out, value, strlen(value) + 1);
}

static bool with_length(const char *value, struct rp_serial_bytes *out)
{
        unsigned char len[4] = { 0, 0, 0, (unsigned char)strlen(value) };

        return put(out, len, 4) && text(value, out);
}

static bool utf16(const char *value, bool big, struct rp_serial_bytes *out)
{
        struct rp_form_bytes bytes;

        return rp_form_utf16((const unsigned char *)value, strlen(value), big, &bytes) && put(out, bytes.data, bytes.len);
}

static bool utf16be(const char *value, struct rp_serial_bytes *out)
{
        return utf16(value, true, out);
}

static bool utf16le(const char *value, struct rp_serial_bytes *out)
{
        return utf16(value, false, out);
}

static bool number(const char *value, size_t len, bool big, struct rp_serial_bytes *out)
{
        uint64_t bits = (uint64_t)strtoll(value, NULL, 10);
        bool ok = true;

        for (size_t i = 0; ok && i < len; i++) {
                unsigned char byte = (unsigned char)(bits >> 8 * (big ? len - 1 - i : i));

                ok = put(out, &byte, 1);
        }
        return ok;
}

static bool int_be(const char *value, struct rp_serial_bytes *out)
{
        return number(value, 4, true, out);
}

static bool int_le(const char *value, struct rp_serial_bytes *out)
{
        return number(value, 4, false, out);
}

static bool long_be(const char *value, struct rp_serial_bytes *out)
{
        return number(value, 8, true, out);
}

static bool long_le(const char *value, struct rp_serial_bytes *out)
{
        return number(value, 8, false, out);
}

/* Zigzag and seven bits a byte: Avro's, and protobuf's sint. */
static bool varint(const char *value, struct rp_serial_bytes *out)
{
        int64_t number = strtoll(value, NULL, 10);
        uint64_t left = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
        bool ok = true;

        do {
                unsigned char byte = (unsigned char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));

                ok = put(out, &byte, 1);
                left >>= 7;
        } while (ok && left);
        return ok;
}

static bool uuid_order(const char *value, const int order[16], struct rp_serial_bytes *out)
{
        unsigned char bytes[16];
        size_t cnt = 0;

        for (const char *at = value; *at && cnt < 16; at++) {
                unsigned byte;

                if (*at == '-')
                        continue;
                sscanf(at, "%2x", &byte);
                bytes[cnt++] = (unsigned char)byte;
                at++;
        }
        for (size_t i = 0; i < 16; i++)
                if (!put(out, &bytes[order[i]], 1))
                        return false;
        return true;
}

static bool uuid_bytes(const char *value, struct rp_serial_bytes *out)
{
        static const int order[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

        return uuid_order(value, order, out);
}

static bool uuid_dotnet(const char *value, struct rp_serial_bytes *out)
{
        static const int order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

        return uuid_order(value, order, out);
}

static bool uuid_plain(const char *value, struct rp_serial_bytes *out)
{
        bool ok = true;

        for (; ok && *value; value++)
                ok = *value == '-' || put(out, value, 1);
        return ok;
}

static bool uuid_upper(const char *value, struct rp_serial_bytes *out)
{
        bool ok = true;

        for (; ok && *value; value++) {
                char c = *value >= 'a' && *value <= 'f' ? (char)(*value - 32) : *value;

                ok = put(out, &c, 1);
        }
        return ok;
}

/* The first of each kind is Kafka's own. */
static const struct {
        const char *kind, *name;
        encode_fn *encode;
} encodings[] = {
        { "strings", "Kafka's own", text },
        { "strings", "JSON text, quotes and all", quoted },
        { "strings", "UTF-16, big-endian", utf16be },
        { "strings", "UTF-16, little-endian", utf16le },
        { "strings", "text with a NUL behind it", with_nul },
        { "strings", "text behind its length in 4 bytes", with_length },
        { "ints", "Kafka's own", int_be },
        { "ints", "4 bytes little-endian", int_le },
        { "ints", "8 bytes big-endian, a long", long_be },
        { "ints", "8 bytes little-endian", long_le },
        { "ints", "decimal text", text },
        { "ints", "variable length, as in Avro", varint },
        { "longs", "Kafka's own", long_be },
        { "longs", "8 bytes little-endian", long_le },
        { "longs", "4 bytes big-endian, an int", int_be },
        { "longs", "decimal text", text },
        { "longs", "variable length, as in Avro", varint },
        { "uuids", "Kafka's own", text },
        { "uuids", "16 bytes", uuid_bytes },
        { "uuids", "16 bytes in .NET's order", uuid_dotnet },
        { "uuids", "text without dashes", uuid_plain },
        { "uuids", "text in upper case", uuid_upper },
};

void rp_serial_encode(const char *kind, const char *value, struct rp_serial_bytes *out)
{
        out->len = 0;
        for (size_t e = 0; e < sizeof(encodings) / sizeof(encodings[0]); e++)
                if (is_kind(kind, encodings[e].kind)) {
                        encodings[e].encode(value, out);
                        return;
                }
}

const char *rp_serial_name(const char *kind, const struct rp_serial_bytes *answers, size_t cnt, size_t *agree)
{
        const char *best = NULL;

        *agree = 0;
        for (size_t e = 0; e < sizeof(encodings) / sizeof(encodings[0]); e++) {
                size_t same = 0;

                if (!is_kind(kind, encodings[e].kind))
                        continue;
                for (size_t i = 0; i < cnt; i++) {
                        struct rp_serial_bytes bytes = { 0 };

                        same += encodings[e].encode(rp_serial_value(kind, i), &bytes) && bytes.len == answers[i].len &&
                                !memcmp(bytes.data, answers[i].data, bytes.len);
                }
                if (same > *agree) {
                        *agree = same;
                        best = encodings[e].name;
                }
        }
        return *agree * 2 > cnt ? best : NULL;
}
