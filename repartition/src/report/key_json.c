#include "report/key_json.h"

#include "base64.h"

#include <jansson.h>
#include <stdlib.h>

bool rp_is_printable(const void *data, size_t len)
{
        const unsigned char *text = data;

        for (size_t i = 0; i < len;) {
                unsigned char c = text[i];
                size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : 3;
                unsigned code = c;

                if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4 || more >= len - i)
                        return false;
                if (more)
                        code = c & (0x3fu >> more);
                for (size_t j = 1; j <= more; j++) {
                        if ((text[i + j] & 0xc0) != 0x80)
                                return false;
                        code = code << 6 | (text[i + j] & 0x3fu);
                }
                /* C1 controls, overlong forms, surrogates, past Unicode's end. */
                if ((more && code < 0xa0) || (more == 2 && code < 0x800) || (more == 3 && code < 0x10000) ||
                    (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
                        return false;
                i += more + 1;
        }
        return true;
}

void rp_print_json_string(FILE *out, const char *text, size_t len)
{
        json_t *string = json_stringn(text, len);

        if (!string || json_dumpf(string, out, JSON_ENCODE_ANY))
                fputs("null", out);
        json_decref(string);
}

void rp_print_json_key(FILE *out, const void *key, size_t len)
{
        char small[256];
        char *base64 = small;

        if (rp_base64_encoded_size(len) >= sizeof(small) && !(base64 = malloc(rp_base64_encoded_size(len) + 1)))
                abort();
        rp_base64_encode(key, len, base64);
        fprintf(out, "\"key\": \"%s\"", base64);
        if (rp_is_printable(key, len)) {
                fputs(", \"key_text\": ", out);
                rp_print_json_string(out, key, len);
        }
        if (base64 != small)
                free(base64);
}
