#include "decide/wish.h"

#include "decide/throttle.h"
#include "quantity.h"

#include <stdlib.h>
#include <string.h>

static rp_err_t parse_rate(const char *name, const char *value, int64_t *rate, struct rp_error *err)
{
        int64_t parsed = 0;

        if (!strcmp(value, "0")) /* no limit, or nothing at all? Who means the latter must not get the former */
                return rp_fail(err, RP_ERR_USAGE, "%s: 0 is no rate: say none for no limit, or pause the job", name);
        if (strcmp(value, "none") && (!rp_size_parse(value, &parsed) || parsed < 1 || parsed > RP_RATE_MAX))
                return rp_fail(err, RP_ERR_USAGE, "%s: expected none, or " RP_SIZE_FORM ", up to 1Ti, got \"%.60s\"", name,
                               value);
        *rate = parsed;
        return RP_OK;
}

static rp_err_t parse_lag(const char *value, struct rp_limits *limits, struct rp_error *err)
{
        if (!limits->has_groups)
                return rp_fail(err, RP_ERR_USAGE, "max-lag: the job watches no group, it has no --throttle-control-group");
        if (!rp_size_parse(value, &limits->lag_max))
                return rp_fail(err, RP_ERR_USAGE, "max-lag: expected " RP_SIZE_FORM ", got \"%.60s\"", value);
        return RP_OK;
}

static rp_err_t parse_transaction_ms(const char *value, int64_t *ms, struct rp_error *err)
{
        size_t len = strlen(value);
        long parsed = len && len < 9 && strspn(value, "0123456789") == len ? atol(value) : -1;

        if (parsed < RP_TRANSACTION_MS_MIN || parsed > RP_TRANSACTION_MS_MAX)
                return rp_fail(err, RP_ERR_USAGE, "transaction-ms: expected a whole number from %d to %d, got \"%.60s\"",
                               RP_TRANSACTION_MS_MIN, RP_TRANSACTION_MS_MAX, value);
        *ms = parsed;
        return RP_OK;
}

static rp_err_t parse_setting(char *word, struct rp_limits *limits, struct rp_error *err)
{
        char *value = strchr(word, '=');

        if (!value)
                return rp_fail(err, RP_ERR_USAGE, "set: expected NAME=VALUE, got \"%.60s\"", word);
        *value++ = '\0';
        if (!strcmp(word, "throttle-bytes"))
                return parse_rate(word, value, &limits->bytes_per_second, err);
        if (!strcmp(word, "throttle-records"))
                return parse_rate(word, value, &limits->records_per_second, err);
        if (!strcmp(word, "max-lag"))
                return parse_lag(value, limits, err);
        if (!strcmp(word, "transaction-ms"))
                return parse_transaction_ms(value, &limits->transaction_ms, err);
        return rp_fail(err, RP_ERR_USAGE,
                       "set: no setting \"%.60s\"; there are throttle-bytes, throttle-records, max-lag and transaction-ms", word);
}

static rp_err_t parse_settings(char *words, struct rp_limits *limits, struct rp_error *err)
{
        struct rp_limits wanted = *limits;
        char *rest = NULL, *word = strtok_r(words, " ", &rest);
        rp_err_t rc = RP_OK;

        if (!word)
                return rp_fail(err, RP_ERR_USAGE, "set: expected NAME=VALUE, got nothing");
        for (; word && rc == RP_OK; word = strtok_r(NULL, " ", &rest))
                rc = parse_setting(word, &wanted, err);
        if (rc == RP_OK)
                *limits = wanted;
        return rc;
}

rp_err_t rp_wish_parse(char *line, rp_wish_t *wish, struct rp_limits *limits, struct rp_error *err)
{
        static const char *const names[] = { "status", "pause", "resume", "stop", "set" };
        char *word = line + strspn(line, " "), *rest = word + strcspn(word, " ");

        if (*rest)
                *rest++ = '\0';
        rest += strspn(rest, " ");
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                if (strcmp(word, names[i]))
                        continue;
                *wish = (rp_wish_t)i;
                if (*wish == RP_WISH_SET)
                        return parse_settings(rest, limits, err);
                return *rest ? rp_fail(err, RP_ERR_USAGE, "%s stands alone, got \"%.60s\" behind it", word, rest) : RP_OK;
        }
        return rp_fail(err, RP_ERR_USAGE, "no command \"%.60s\"; there are status, pause, resume, stop and set NAME=VALUE",
                       word);
}
