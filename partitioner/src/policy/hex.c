#include "hex.h"

static int value(char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        if (digit >= 'a' && digit <= 'f')
                return digit - 'a' + 10;
        return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool kr_hex_decode(const char *digits, size_t len, unsigned char *out)
{
        if (len % 2)
                return false;
        for (size_t i = 0; i < len; i += 2) {
                int high = value(digits[i]), low = value(digits[i + 1]);

                if (high < 0 || low < 0)
                        return false;
                out[i / 2] = (unsigned char)(high << 4 | low);
        }
        return true;
}
