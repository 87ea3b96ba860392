#include "decide/mistakes.h"

#include "base64.h"

#include <stdio.h>
#include <string.h>

static bool put(struct rp_form_bytes *out, unsigned byte)
{
        if (out->len == sizeof(out->data))
                return false;
        out->data[out->len++] = (unsigned char)byte;
        return true;
}

static bool hex(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        static const char digits[] = "0123456789abcdef";

        out->len = 0;
        for (size_t i = 0; i < len; i++)
                if (!put(out, (unsigned char)digits[key[i] >> 4]) || !put(out, (unsigned char)digits[key[i] & 15]))
                        return false;
        return true;
}

static bool with_line_end(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        if (len >= sizeof(out->data))
                return false;
        memcpy(out->data, key, len);
        out->data[len] = '\n';
        out->len = len + 1;
        return true;
}

static bool up_to_nul(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        const unsigned char *nul = memchr(key, 0, len);

        if (len > sizeof(out->data))
                return false;
        out->len = nul ? (size_t)(nul - key) : len;
        memcpy(out->data, key, out->len);
        return true;
}

static bool lower(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        for (size_t i = 0; i < len; i++)
                if (!put(out, key[i] >= 'A' && key[i] <= 'Z' ? key[i] + 32u : key[i]))
                        return false;
        return true;
}

static bool trimmed(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        while (len && strchr(" \t\r\n", key[len - 1]) && key[len - 1])
                len--;
        while (len && strchr(" \t\r\n", *key) && *key) {
                key++;
                len--;
        }
        if (len > sizeof(out->data))
                return false;
        memcpy(out->data, key, len);
        out->len = len;
        return true;
}

/* ---- bytes taken for text ---------------------------------------------------------------------------------------- */

enum { REPLACEMENT = 0xfffd };

/* The next character of UTF-8; U+FFFD for the longest part of one that breaks off, as the Encoding Standard has it. */
static uint32_t next_character(const unsigned char *key, size_t len, size_t *at)
{
        unsigned first = key[(*at)++], lowest = 0x80, highest = 0xbf;
        int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        uint32_t code = first & (0x3fu >> more);

        if (first < 0x80)
                return first;
        if (first < 0xc2 || first > 0xf4)
                return REPLACEMENT;
        if (first == 0xe0 || first == 0xf0)
                lowest = first == 0xe0 ? 0xa0 : 0x90; /* below it the form is overlong */
        if (first == 0xed || first == 0xf4)
                highest = first == 0xed ? 0x9f : 0x8f; /* above it are surrogates, and what is no Unicode */
        for (; more; more--, lowest = 0x80, highest = 0xbf) {
                if (*at == len || key[*at] < lowest || key[*at] > highest)
                        return REPLACEMENT;
                code = code << 6 | (key[(*at)++] & 0x3f);
        }
        return code;
}

typedef bool put_character(struct rp_form_bytes *out, uint32_t code);

static bool put_text(const unsigned char *key, size_t len, put_character *put_one, struct rp_form_bytes *out)
{
        for (size_t at = 0; at < len;)
                if (!put_one(out, next_character(key, len, &at)))
                        return false;
        return true;
}

static bool put_utf8(struct rp_form_bytes *out, uint32_t code)
{
        if (code < 0x80)
                return put(out, code);
        if (code < 0x800)
                return put(out, 0xc0 | code >> 6) && put(out, 0x80 | (code & 0x3f));
        if (code < 0x10000)
                return put(out, 0xe0 | code >> 12) && put(out, 0x80 | (code >> 6 & 0x3f)) && put(out, 0x80 | (code & 0x3f));
        return put(out, 0xf0 | code >> 18) && put(out, 0x80 | (code >> 12 & 0x3f)) && put(out, 0x80 | (code >> 6 & 0x3f)) &&
               put(out, 0x80 | (code & 0x3f));
}

/* One or two units of UTF-16. */
static int units_of(uint32_t code, unsigned units[2])
{
        units[0] = code;
        if (code < 0x10000)
                return 1;
        units[0] = 0xd800 + ((code - 0x10000) >> 10);
        units[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
        return 2;
}

static bool put_utf16le(struct rp_form_bytes *out, uint32_t code)
{
        unsigned units[2];
        int cnt = units_of(code, units);

        for (int i = 0; i < cnt; i++)
                if (!put(out, units[i] & 0xff) || !put(out, units[i] >> 8))
                        return false;
        return true;
}

static bool put_utf16be(struct rp_form_bytes *out, uint32_t code)
{
        unsigned units[2];
        int cnt = units_of(code, units);

        for (int i = 0; i < cnt; i++)
                if (!put(out, units[i] >> 8) || !put(out, units[i] & 0xff))
                        return false;
        return true;
}

static bool put_string(struct rp_form_bytes *out, const char *text)
{
        while (*text)
                if (!put(out, (unsigned char)*text++))
                        return false;
        return true;
}

static bool put_escape(struct rp_form_bytes *out, unsigned unit)
{
        char text[8];

        snprintf(text, sizeof(text), "\\u%04x", unit & 0xffff);
        return put_string(out, text);
}

static bool put_json(struct rp_form_bytes *out, uint32_t code)
{
        static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
        const char *at = code && code < 0x80 ? strchr(escaped, (int)code) : NULL;

        if (at)
                return put(out, '\\') && put(out, (unsigned char)letters[at - escaped]);
        return code < 0x20 ? put_escape(out, code) : put_utf8(out, code);
}

/* As Python's json.dumps() does unless told otherwise, DEL included. */
static bool put_ascii_json(struct rp_form_bytes *out, uint32_t code)
{
        unsigned units[2];
        int cnt = units_of(code, units);

        if (code < 0x7f)
                return put_json(out, code);
        for (int i = 0; i < cnt; i++)
                if (!put_escape(out, units[i]))
                        return false;
        return true;
}

static bool text(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put_text(key, len, put_utf8, out);
}

static bool json(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put(out, '"') && put_text(key, len, put_json, out) && put(out, '"');
}

static bool ascii_json(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put(out, '"') && put_text(key, len, put_ascii_json, out) && put(out, '"');
}

static bool utf16le(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put_text(key, len, put_utf16le, out);
}

static bool utf16be(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put_text(key, len, put_utf16be, out);
}

static bool marked_utf16le(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put_string(out, "\xff\xfe") && put_text(key, len, put_utf16le, out);
}

static bool marked_utf16be(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        return put_string(out, "\xfe\xff") && put_text(key, len, put_utf16be, out);
}

/* Each byte taken for a character of Latin-1 and written as UTF-8. */
static bool latin1(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        out->len = 0;
        for (size_t i = 0; i < len; i++)
                if (!put_utf8(out, key[i]))
                        return false;
        return true;
}

static bool base64(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        if (rp_base64_encoded_size(len) >= sizeof(out->data))
                return false;
        rp_base64_encode(key, len, (char *)out->data);
        out->len = rp_base64_encoded_size(len);
        return true;
}

static const struct rp_form mistakes[] = {
        { "the key taken for text, with U+FFFD for what is no UTF-8", NULL, text },
        { "the key as JSON text, in quotes", NULL, json },
        { "the key as JSON text, in quotes and with escapes for all but ASCII", NULL, ascii_json },
        { "the key's text in UTF-16LE", NULL, utf16le },
        { "the key's text in UTF-16BE", NULL, utf16be },
        { "the key's text in UTF-16LE behind a byte order mark", NULL, marked_utf16le },
        { "the key's text in UTF-16BE behind a byte order mark", NULL, marked_utf16be },
        { "the hexadecimal text, which was not decoded", NULL, hex },
        { "the key in base64", NULL, base64 },
        { "the key with its line end", NULL, with_line_end },
        { "the key up to its first NUL byte", NULL, up_to_nul },
        { "the key in lower case", NULL, lower },
        { "the key without white space around it", NULL, trimmed },
        { "bytes taken for Latin-1 and encoded as UTF-8", NULL, latin1 },
};

const struct rp_form *rp_mistake_at(size_t i)
{
        return i < sizeof(mistakes) / sizeof(mistakes[0]) ? &mistakes[i] : NULL;
}
