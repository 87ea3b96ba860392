#include "decide/log_place.h"

#include "moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A whole number up to the character. false when there is none, or more before it. */
static bool take_number(const char **at, char until, int64_t most, int64_t *value)
{
        char *end;

        if (**at < '0' || **at > '9')
                return false;
        errno = 0;
        *value = strtoll(*at, &end, 10);
        if (errno || *value > most || *end != until)
                return false;
        *at = end + (until != '\0');
        return true;
}

static bool parse_list(struct rp_log_place *place, const char *text)
{
        size_t most = 1;

        for (const char *at = text; *at; at++)
                most += *at == ',';
        place->pairs = calloc(most, sizeof(*place->pairs));
        for (const char *at = text; place->pairs;) {
                int64_t partition, offset;
                bool is_last = !strchr(at, ',');

                if (!take_number(&at, ':', INT32_MAX, &partition) || !take_number(&at, is_last ? '\0' : ',', INT64_MAX, &offset) ||
                    rp_log_place_listed(place, (int32_t)partition) >= 0)
                        return false;
                place->pairs[place->pair_cnt++] = (struct rp_log_offset){ (int32_t)partition, offset };
                if (is_last)
                        return true;
        }
        return false;
}

rp_err_t rp_log_place_parse(struct rp_log_place *place, const char *option, const char *text, struct rp_error *err)
{
        const char *at = text;

        *place = (struct rp_log_place){ .kind = RP_LOG_NONE };
        if (!text)
                return RP_OK;
        if (take_number(&at, '\0', INT64_MAX, &place->value)) {
                place->kind = RP_LOG_OFFSET;
                return RP_OK;
        }
        if (rp_moment_parse(text, &place->value)) {
                place->kind = RP_LOG_MOMENT;
                return RP_OK;
        }
        place->kind = RP_LOG_LIST;
        if (parse_list(place, text))
                return RP_OK;
        rp_log_place_release(place);
        return rp_fail(err, RP_ERR_USAGE, "--%s %.100s: expected an offset, a time such as 2026-11-29T21:40:00Z, or offsets by "
                       "partition such as 0:100,2:50", option, text);
}

void rp_log_place_release(struct rp_log_place *place)
{
        free(place->pairs);
        *place = (struct rp_log_place){ .kind = RP_LOG_NONE };
}

int64_t rp_log_place_listed(const struct rp_log_place *place, int32_t partition)
{
        for (size_t i = 0; i < place->pair_cnt; i++)
                if (place->pairs[i].partition == partition)
                        return place->pairs[i].offset;
        return -1;
}
