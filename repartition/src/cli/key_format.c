#include "cli/key_format.h"

#include "base64.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rp_key_format {
        const char *name;
        const char *help;
        const char *expected;
        /* Bytes that the text can become at most. 0: the text itself is the key. */
        size_t (*size)(size_t len);
        /* Fills key->buf and key->len. False: not of this form. */
        bool (*parse)(const char *text, size_t len, struct rp_key *key);
};

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

static size_t hex_size(size_t len)
{
        return len / 2;
}

static bool hex_parse(const char *text, size_t len, struct rp_key *key)
{
        if (len % 2)
                return false;
        for (size_t i = 0; i < len; i += 2) {
                int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

                if (high < 0 || low < 0)
                        return false;
                key->buf[i / 2] = (unsigned char)(high << 4 | low);
        }
        key->len = len / 2;
        return true;
}

static bool base64_parse(const char *text, size_t len, struct rp_key *key)
{
        return rp_base64_decode(text, len, key->buf, &key->len);
}

/* A decimal number in [-limit - 1, limit], big-endian in `bytes` bytes, as Kafka's serializers write it. */
static bool number_parse(const char *text, size_t len, int64_t limit, size_t bytes, struct rp_key *key)
{
        bool negative = len && text[0] == '-';
        uint64_t value = 0, most = (uint64_t)limit + negative;

        if (negative || (len && text[0] == '+'))
                text++, len--;
        if (!len)
                return false;
        for (size_t i = 0; i < len; i++) {
                uint64_t digit = (uint64_t)(text[i] - '0');

                if (text[i] < '0' || text[i] > '9' || value > (most - digit) / 10)
                        return false;
                value = value * 10 + digit;
        }
        if (negative)
                value = 0 - value;
        for (size_t i = 0; i < bytes; i++)
                key->buf[i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
        key->len = bytes;
        return true;
}

static size_t int32_size(size_t len)
{
        (void)len;
        return 4;
}

static bool int32_parse(const char *text, size_t len, struct rp_key *key)
{
        return number_parse(text, len, INT32_MAX, 4, key);
}

static size_t int64_size(size_t len)
{
        (void)len;
        return 8;
}

static bool int64_parse(const char *text, size_t len, struct rp_key *key)
{
        return number_parse(text, len, INT64_MAX, 8, key);
}

static size_t uuid_size(size_t len)
{
        (void)len;
        return 16;
}

static bool uuid_parse(const char *text, size_t len, struct rp_key *key)
{
        char digits[32];
        size_t cnt = 0;

        if (len != 36)
                return false;
        for (size_t i = 0; i < len; i++) {
                bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

                if (hyphen != (text[i] == '-'))
                        return false;
                if (!hyphen)
                        digits[cnt++] = text[i];
        }
        return hex_parse(digits, cnt, key);
}

static const struct rp_key_format table[] = {
        { "text", "the bytes of the text as they stand", "", NULL, NULL },
        { "hex", "two hex digits a byte", "an even number of hex digits", hex_size, hex_parse },
        { "base64", "RFC 4648, padded with =", "base64 (A-Z a-z 0-9 + / and = at the end)", rp_base64_decoded_size,
          base64_parse },
        { "int32", "4 bytes big-endian, as Kafka's IntegerSerializer",
          "a whole number from -2147483648 to 2147483647", int32_size, int32_parse },
        { "int64", "8 bytes big-endian, as Kafka's LongSerializer",
          "a whole number from -9223372036854775808 to 9223372036854775807", int64_size, int64_parse },
        { "uuid", "16 bytes big-endian; Kafka's own UUIDSerializer sends text",
          "a UUID such as 354afe16-939a-4ea8-8e17-8bb0840b6886", uuid_size, uuid_parse },
};

enum { FORMAT_CNT = sizeof(table) / sizeof(table[0]) };

const char *const rp_key_format_names[] = { "text", "hex", "base64", "int32", "int64", "uuid", NULL };

const struct rp_key_format *rp_key_format_find(const char *name)
{
        for (size_t i = 0; i < FORMAT_CNT; i++)
                if (!strcmp(table[i].name, name))
                        return &table[i];
        return NULL;
}

const char *rp_key_format_help(const struct rp_key_format *format)
{
        return format->help;
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

rp_err_t rp_key_parse(const struct rp_key_format *format, const char *text, size_t len, struct rp_key *key,
                      struct rp_error *err)
{
        size_t need;

        if (!format->parse) {
                key->data = text;
                key->len = len;
                return RP_OK;
        }
        while (len && is_blank(text[0]))
                text++, len--;
        while (len && is_blank(text[len - 1]))
                len--;
        need = format->size(len) + 1; /* + 1: the empty key has an address too */
        if (need > key->size) {
                unsigned char *grown = realloc(key->buf, need);

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory for a key of %zu bytes", need);
                key->buf = grown;
                key->size = need;
        }
        if (!format->parse(text, len, key)) {
                char shown[64];
                size_t cnt = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

                /* The text may hold anything; the message is one line. */
                for (size_t i = 0; i < cnt; i++)
                        shown[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
                return rp_fail(err, RP_ERR_USAGE, "expected %s, found \"%.*s%s\"", format->expected, (int)cnt, shown,
                               cnt < len ? "..." : "");
        }
        key->data = key->buf;
        return RP_OK;
}

void rp_key_release(struct rp_key *key)
{
        free(key->buf);
        *key = (struct rp_key){ 0 };
}
