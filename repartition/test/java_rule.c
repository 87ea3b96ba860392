#include "java_rule.h"

const kr_rule_t *rule;

static kr_policy_t *policy;

int java_rule_set_up(void **state)
{
        struct kr_error err;

        (void)state;
        policy = kr_policy_from_hash("murmur2", &err);
        rule = policy ? kr_policy_rule_at(policy, 0) : NULL;
        return rule ? 0 : -1;
}

int java_rule_tear_down(void **state)
{
        (void)state;
        kr_policy_free(policy);
        return 0;
}
