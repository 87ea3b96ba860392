/* The maps that estimate compares, made as policies so that the core's own function routes by them. */
#include "decide/estimate.h"
#include "decide/growth.h"

#include <jansson.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rp_strategy_names[] = { "modulo", "modulo-by-group", "slots", "slots-by-group", "hash-range",
                                          "ring",   "range",           "table", "two-level",      "given",
                                          NULL };

#define TOPIC "estimate"
#define BY_GROUP "-by-group"

static bool is_by_group(const char *name)
{
        size_t len = strlen(name);

        return len > strlen(BY_GROUP) && !strcmp(name + len - strlen(BY_GROUP), BY_GROUP);
}

static bool has_partitions(const struct rp_demand *demand, int32_t partition_cnt)
{
        for (size_t i = 0; i < demand->cnt; i++)
                if (demand->rows[i].partition < 0 || demand->rows[i].partition >= partition_cnt)
                        return false;
        return true;
}

bool rp_strategy_applies(const char *name, const struct rp_demand *demand, const struct rp_strategy_config *config,
                         int32_t partition_cnt)
{
        if (is_by_group(name))
                return demand->groups.cnt > 0;
        if (!strcmp(name, "two-level"))
                return config->delimiter && config->fanout < partition_cnt;
        if (!strcmp(name, "given"))
                return has_partitions(demand, partition_cnt);
        if (!strcmp(name, "range"))
                return demand->keys.cnt >= (size_t)partition_cnt;
        return true;
}

static int by_bytes(const void *a, const void *b)
{
        const struct rp_unit *x = *(const struct rp_unit *const *)a, *y = *(const struct rp_unit *const *)b;
        size_t len = x->len < y->len ? x->len : y->len;
        int order = len ? memcmp(x->data, y->data, len) : 0;

        return order ? order : (x->len > y->len) - (x->len < y->len);
}

static json_t *bound_of(const struct rp_unit *unit)
{
        char *hex = malloc(2 * unit->len + 1);
        json_t *bound;

        if (!hex)
                return NULL;
        for (size_t i = 0; i < unit->len; i++)
                snprintf(hex + 2 * i, 3, "%02x", unit->data[i]);
        hex[2 * unit->len] = '\0';
        bound = json_pack("{s:s}", "hex", hex);
        free(hex);
        return bound;
}

/* The first keys of ranges 1, 2, ... that hold equal shares of this sample's weight, as nearly as whole keys can. */
static json_t *fitted_bounds(const struct rp_demand *demand, int32_t partition_cnt)
{
        const struct rp_unit **sorted = malloc(demand->keys.cnt * sizeof(*sorted));
        json_t *bounds = json_array();
        uint64_t sum = 0;
        size_t left = demand->keys.cnt;
        int32_t next = 1;

        for (size_t i = 0; sorted && i < demand->keys.cnt; i++)
                sorted[i] = &demand->keys.list[i];
        if (sorted)
                qsort(sorted, demand->keys.cnt, sizeof(*sorted), by_bytes);
        for (size_t i = 0; sorted && i < demand->keys.cnt && next < partition_cnt; i++, left--) {
                bool is_due = (double)sum >= (double)demand->total * next / partition_cnt;

                /* Bounds rise strictly, so each range has at least one key, heavy ones or not. */
                if (i && (is_due || left <= (size_t)(partition_cnt - next))) {
                        json_array_append_new(bounds, bound_of(sorted[i]));
                        next++;
                }
                sum += sorted[i]->weight;
        }
        free(sorted);
        return bounds;
}

static json_t *map_of(const char *name, const struct rp_demand *demand, const struct rp_strategy_config *config,
                      int32_t partition_cnt)
{
        char kind[32];

        snprintf(kind, sizeof(kind), "%.*s", (int)(strlen(name) - (is_by_group(name) ? strlen(BY_GROUP) : 0)), name);
        if (!strcmp(kind, "range"))
                return json_pack("{s:s, s:o}", "kind", kind, "bounds", fitted_bounds(demand, partition_cnt));
        if (!strcmp(kind, "two-level"))
                return json_pack("{s:s, s:I, s:s}", "kind", kind, "fanout", (json_int_t)config->fanout, "delimiter",
                                 config->delimiter);
        return json_pack("{s:s}", "kind", kind);
}

static char *policy_of(const char *name, const struct rp_demand *demand, const struct rp_strategy_config *config,
                       int32_t partition_cnt)
{
        json_t *policy =
                json_pack("{s:i, s:{s:{s:i, s:s, s:o}}}", "keyroute", 1, "topics", TOPIC, "partitions",
                          (int)partition_cnt, "hash", config->hash, "map", map_of(name, demand, config, partition_cnt));
        char *text = policy ? json_dumps(policy, 0) : NULL;

        json_decref(policy);
        return text;
}

static rp_err_t use(struct rp_strategy *strategy, const char *text, kr_policy_t **policy, const kr_rule_t **rule,
                    struct rp_error *err)
{
        struct kr_error kerr = { "out of memory" };

        *policy = text ? kr_policy_parse(text, strlen(text), strategy->name, &kerr) : NULL;
        if (!*policy)
                return rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        *rule = kr_policy_rule(*policy, TOPIC);
        return RP_OK;
}

/* Slots grow from the table that they are; every other map is made anew. */
static rp_err_t grow(struct rp_strategy *strategy, const char *text, const char *name, const struct rp_demand *demand,
                     const struct rp_strategy_config *config, struct rp_error *err)
{
        struct rp_growth_wish wish = { .policy_json = text,
                                       .policy_path = strategy->name,
                                       .topic = TOPIC,
                                       .from = strategy->partition_cnt,
                                       .to = strategy->grown_cnt };
        struct rp_growth_rules rules;
        char *grown;
        rp_err_t rc;

        if (strncmp(name, "slots", 5)) {
                if (!strcmp(name, "range") && demand->keys.cnt < (size_t)strategy->grown_cnt)
                        return RP_OK;
                grown = policy_of(name, demand, config, strategy->grown_cnt);
                rc = use(strategy, grown, &strategy->grown_policy, &strategy->grown, err);
                free(grown);
                return rc;
        }
        rc = rp_growth_rules_init(&rules, &wish, err);
        if (rc != RP_OK)
                return rc;
        if (!rules.next_rule)
                rc = rp_fail(err, RP_ERR_USAGE, "%s", rules.why_not);
        else
                rc = use(strategy, rules.next_json, &strategy->grown_policy, &strategy->grown, err);
        rp_growth_rules_release(&rules);
        return rc;
}

rp_err_t rp_strategy_init(struct rp_strategy *strategy, const char *name, const struct rp_demand *demand,
                          const struct rp_strategy_config *config, int32_t partition_cnt, int32_t grown_cnt,
                          struct rp_error *err)
{
        char *text;
        rp_err_t rc;

        *strategy = (struct rp_strategy){ .partition_cnt = partition_cnt, .grown_cnt = grown_cnt };
        snprintf(strategy->name, sizeof(strategy->name), "%s", name);
        if (!rp_strategy_applies(name, demand, config, partition_cnt))
                return rp_fail(err, RP_ERR_USAGE,
                               is_by_group(name)
                                       ? "map %s: the keys have no groups; name a column \"group\", or give --delimiter"
                               : !strcmp(name, "two-level")
                                       ? "map %s: it needs --delimiter, and a --fanout below the %" PRId32 " partitions"
                               : !strcmp(name, "given") ? "map %s: not every row has a partition below %" PRId32
                                                        : "map %s: fewer keys than partitions (%" PRId32 ")",
                               name, partition_cnt);
        if (!strcmp(name, "given") || !strcmp(name, "table")) {
                strategy->place = *name == 'g' ? RP_PLACE_AS_GIVEN : RP_PLACE_BY_TABLE;
                strategy->by_group = *name == 't';
                strategy->lookups = *name == 't';
                return RP_OK;
        }
        strategy->by_group = is_by_group(name);
        text = policy_of(name, demand, config, partition_cnt);
        rc = use(strategy, text, &strategy->policy, &strategy->rule, err);
        if (rc == RP_OK && grown_cnt)
                rc = grow(strategy, text, name, demand, config, err);
        free(text);
        if (rc != RP_OK)
                rp_strategy_release(strategy);
        return rc;
}

rp_err_t rp_strategy_init_policy(struct rp_strategy *strategy, const char *name, const char *policy_json,
                                 const char *policy_path, const char *topic, int32_t partition_cnt, int32_t grown_cnt,
                                 struct rp_error *err)
{
        struct rp_growth_wish wish = { .policy_json = policy_json,
                                       .policy_path = policy_path,
                                       .topic = topic,
                                       .from = partition_cnt,
                                       .to = grown_cnt ? grown_cnt : partition_cnt };
        struct rp_growth_rules rules;
        rp_err_t rc = rp_growth_rules_init(&rules, &wish, err);

        *strategy = (struct rp_strategy){ .partition_cnt = partition_cnt, .grown_cnt = grown_cnt };
        snprintf(strategy->name, sizeof(strategy->name), "%s", name);
        if (rc != RP_OK)
                return rc;
        strategy->policy = rules.now;
        strategy->rule = rules.now_rule;
        strategy->lookups = !strcmp(kr_rule_map(rules.now_rule), "table");
        if (grown_cnt) {
                strategy->grown_policy = rules.next;
                strategy->grown = rules.next_rule;
                rules.next = NULL;
        }
        rules.now = NULL;
        rp_growth_rules_release(&rules);
        return RP_OK;
}

void rp_strategy_release(struct rp_strategy *strategy)
{
        kr_policy_free(strategy->policy);
        kr_policy_free(strategy->grown_policy);
        *strategy = (struct rp_strategy){ 0 };
}
