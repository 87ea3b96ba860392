#include "keyroute.h"

#define ONE 1000000u

bool kr_decimal_parse(const char *text, uint64_t most, uint64_t *millionths)
{
        uint64_t value = 0;
        unsigned decimals = 0;
        bool point = false;

        if (*text < '0' || *text > '9')
                return false;
        for (; *text; text++) {
                if (*text == '.' && !point && text[1]) {
                        point = true;
                        continue;
                }
                if (*text < '0' || *text > '9' || (point && ++decimals > 6) || value > most * ONE)
                        return false;
                value = value * 10 + (uint64_t)(*text - '0');
        }
        for (; decimals < 6; decimals++) {
                if (value > most * ONE)
                        return false;
                value *= 10;
        }
        if (value > most * ONE)
                return false;
        *millionths = value;
        return true;
}
