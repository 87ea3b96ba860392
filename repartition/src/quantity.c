#include "quantity.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

struct unit {
        const char *name;
        int64_t factor;
};

/* Digits, then one of the units as `compare` finds it, then the end. */
static bool parse(const char *text, const struct unit *units, int (*compare)(const char *, const char *), int64_t *value)
{
        size_t digits = strspn(text, "0123456789");
        int64_t number = 0;

        if (!digits)
                return false;
        for (size_t i = 0; i < digits; i++)
                if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, text[i] - '0', &number))
                        return false;
        for (; units->name; units++)
                if (!compare(text + digits, units->name)) {
                        if (__builtin_mul_overflow(number, units->factor, &number))
                                return false;
                        *value = number;
                        return true;
                }
        return false;
}

bool rp_size_parse(const char *text, int64_t *bytes)
{
        static const struct unit units[] = {
                { "", 1 },           { "B", 1 },
                { "K", 1000 },       { "KB", 1000 },       { "Ki", 1 << 10 },   { "KiB", 1 << 10 },
                { "M", 1000000 },    { "MB", 1000000 },    { "Mi", 1 << 20 },   { "MiB", 1 << 20 },
                { "G", 1000000000 }, { "GB", 1000000000 }, { "Gi", 1 << 30 },   { "GiB", 1 << 30 },
                { "T", INT64_C(1000000000000) }, { "TB", INT64_C(1000000000000) },
                { "Ti", INT64_C(1) << 40 },      { "TiB", INT64_C(1) << 40 },   { NULL, 0 },
        };

        return parse(text, units, strcasecmp, bytes);
}

bool rp_duration_parse(const char *text, int64_t *ms)
{
        static const struct unit units[] = {
                { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
        };

        if (!strcmp(text, "0")) {
                *ms = 0;
                return true;
        }
        return parse(text, units, strcmp, ms);
}
