#include "cli/source_names.h"

#include "topic_name.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

rp_err_t rp_sources_name(const char *const *sources, int32_t source_cnt, const char *target, bool has_sides, const char *why,
                         const char **names, char label[RP_TOPICS_LABEL_SIZE], struct rp_error *err)
{
        if (rp_topic_names_check(sources, (size_t)source_cnt, err) != RP_OK || rp_topic_name_check(target, err) != RP_OK)
                return err->code;
        memcpy(names, sources, (size_t)source_cnt * sizeof(*names));
        qsort(names, (size_t)source_cnt, sizeof(*names), by_name);
        for (int32_t s = 0; s < source_cnt; s++) {
                if (s && !strcmp(names[s - 1], names[s]))
                        return rp_fail(err, RP_ERR_USAGE, "source \"%.250s\" is named twice", names[s]);
                if (!strcmp(names[s], target) && !has_sides)
                        return rp_fail(err, RP_ERR_USAGE, "source and target are both \"%.250s\": %s", target, why);
        }
        rp_topics_label(label, names, source_cnt);
        return RP_OK;
}

int32_t rp_sources_split(char *text, const char *names[RP_TOPICS_MAX])
{
        char *rest = text, *name;
        int32_t cnt = 0;

        while ((name = strsep(&rest, "+"))) {
                if (cnt == RP_TOPICS_MAX)
                        return RP_TOPICS_MAX + 1;
                names[cnt++] = name;
        }
        return cnt;
}

rp_err_t rp_sources_rule(const kr_policy_t *policy, const char *policy_file, const char *const *names, int32_t source_cnt,
                         const char *target, const kr_rule_t **rule, struct rp_error *err)
{
        *rule = kr_policy_rule(policy, target);
        if (*rule)
                return RP_OK;
        for (int32_t s = 0; s < source_cnt; s++) {
                const kr_rule_t *other = kr_policy_rule(policy, names[s]);

                if (!other)
                        return rp_fail(err, RP_ERR_USAGE, "%s: the policy names neither \"%s\" nor \"%s\"", policy_file, target,
                                       names[s]);
                if (s && strcmp(kr_rule_fingerprint(other), kr_rule_fingerprint(*rule)))
                        return rp_fail(err, RP_ERR_USAGE, "%s: the policy has one rule for \"%s\", another for \"%s\", and none "
                                       "for \"%s\": add that one", policy_file, names[0], names[s], target);
                *rule = other;
        }
        return RP_OK;
}
