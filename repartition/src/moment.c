#include "moment.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Two digits, or -1. */
static int two(const char *text)
{
        return isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]) ? 10 * (text[0] - '0') + text[1] - '0' : -1;
}

/* "Z", "+01:00" or "-05:30". */
static bool parse_zone(const char *text, int *minutes)
{
        int hour, minute;

        *minutes = 0;
        if (!strcmp(text, "Z") || !strcmp(text, "z"))
                return true;
        if ((*text != '+' && *text != '-') || strlen(text) != 6 || text[3] != ':')
                return false;
        hour = two(text + 1);
        minute = two(text + 4);
        *minutes = (*text == '-' ? -1 : 1) * (60 * hour + minute);
        return hour >= 0 && hour < 24 && minute >= 0 && minute < 60;
}

static bool parse_rfc3339(const char *text, int64_t *ms)
{
        struct tm tm = { 0 }, check;
        int year, fraction_ms = 0, minutes, scale = 100;
        time_t seconds;

        if (strlen(text) < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
            text[13] != ':' || text[16] != ':' || two(text) < 0 || two(text + 2) < 0)
                return false;
        year = 100 * two(text) + two(text + 2);
        tm = (struct tm){ .tm_year = year - 1900, .tm_mon = two(text + 5) - 1, .tm_mday = two(text + 8),
                          .tm_hour = two(text + 11), .tm_min = two(text + 14), .tm_sec = two(text + 17) };
        if (tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0 || tm.tm_sec > 59)
                return false;
        text += 19;
        if (*text == '.') {
                if (!isdigit((unsigned char)*++text))
                        return false;
                for (; isdigit((unsigned char)*text); text++, scale /= 10)
                        fraction_ms += scale * (*text - '0');
        }
        if (!parse_zone(text, &minutes))
                return false;
        check = tm;
        seconds = timegm(&check); /* puts the 31st of June right: then it was not a date */
        if (check.tm_mday != tm.tm_mday || check.tm_mon != tm.tm_mon || check.tm_hour != tm.tm_hour ||
            check.tm_min != tm.tm_min)
                return false;
        *ms = ((int64_t)seconds - 60 * minutes) * 1000 + fraction_ms;
        return true;
}

bool rp_moment_parse(const char *text, int64_t *ms)
{
        int64_t sum = 0;

        if (!*text || strspn(text, "0123456789") != strlen(text))
                return parse_rfc3339(text, ms);
        for (; *text; text++) {
                if (sum > (INT64_MAX - 9) / 10)
                        return false;
                sum = 10 * sum + (*text - '0');
        }
        *ms = sum;
        return true;
}
