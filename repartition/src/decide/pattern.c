#include "decide/pattern.h"

#include "topic_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

rp_err_t rp_pattern_init(struct rp_pattern *pattern, const char *regex, const char *form, const char *jobs_topic,
                         struct rp_error *err)
{
        const char *place = strstr(form, "{}");
        char why[200];
        int rc;

        if (!place || strstr(place + 2, "{}"))
                return rp_fail(err, RP_ERR_USAGE, "\"%.250s\" must have {} in it, once: there the name of each source goes",
                               form);
        *pattern = (struct rp_pattern){ .form = form, .head_len = (size_t)(place - form), .tail = place + 2,
                                        .jobs_topic = jobs_topic };
        rc = regcomp(&pattern->regex, regex, REG_EXTENDED);
        if (!rc)
                return RP_OK;
        regerror(rc, &pattern->regex, why, sizeof(why));
        return rp_fail(err, RP_ERR_USAGE, "\"%.250s\" is no extended regular expression: %s", regex, why);
}

void rp_pattern_release(struct rp_pattern *pattern)
{
        regfree(&pattern->regex);
}

/* Told by the name alone: a copy whose source was deleted since must not be copied in its turn. */
static bool looks_like_target(const struct rp_pattern *pattern, const char *name)
{
        size_t len = strlen(name), tail_len = strlen(pattern->tail);

        if (!pattern->head_len && !tail_len)
                return false; /* in two clusters, under the same names */
        return len > pattern->head_len + tail_len && !strncmp(name, pattern->form, pattern->head_len) &&
               !strcmp(name + len - tail_len, pattern->tail);
}

rp_pattern_verdict_t rp_pattern_judge(const struct rp_pattern *pattern, const char *name)
{
        regmatch_t match;

        /* The longest of the leftmost matches is the whole name, if the whole name matches. */
        if (regexec(&pattern->regex, name, 1, &match, 0) || match.rm_so || (size_t)match.rm_eo != strlen(name))
                return RP_PATTERN_OTHER;
        if (!strncmp(name, "__", 2) || rp_topic_is_of_jobs(name, pattern->jobs_topic))
                return RP_PATTERN_INTERNAL;
        return looks_like_target(pattern, name) ? RP_PATTERN_TARGET : RP_PATTERN_TAKEN;
}

void rp_pattern_target(const struct rp_pattern *pattern, const char *name, char out[RP_PATTERN_NAME_SIZE])
{
        snprintf(out, RP_PATTERN_NAME_SIZE, "%.*s%s%s", (int)pattern->head_len, pattern->form, name, pattern->tail);
}
