#include "cli/partition_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone: strtol would also take blanks and signs. */
static bool read_number(const char **text, int64_t *number)
{
        size_t digits = strspn(*text, "0123456789");

        *number = digits && digits < 11 ? strtoll(*text, NULL, 10) : -1;
        *text += digits;
        return *number >= 0;
}

rp_err_t rp_partition_list_parse(const char *option, const char *text, bool *chosen, int32_t cnt, struct rp_error *err)
{
        for (const char *at = text;; at++) {
                int64_t first, last;

                if (!read_number(&at, &first))
                        break;
                last = first;
                if (*at == '-' && (at++, !read_number(&at, &last)))
                        break;
                if (last < first || (*at && *at != ','))
                        break;
                if (last >= cnt)
                        return rp_fail(err, RP_ERR_USAGE, "%s: there are the partitions 0 to %" PRId32 ", got \"%.60s\"", option,
                                       cnt - 1, text);
                for (int64_t p = first; p <= last; p++)
                        chosen[p] = true;
                if (!*at)
                        return RP_OK;
        }
        return rp_fail(err, RP_ERR_USAGE, "%s: expected partitions such as 0-99,120, got \"%.60s\"", option, text);
}
