#include "decide/growth.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* The topic's rule as an object, whichever name or pattern of the document it goes by. Borrowed. */
static json_t *rule_object(json_t *document, const kr_policy_t *policy, const char *topic)
{
        const kr_rule_t *rule = kr_policy_rule(policy, topic);

        return rule ? json_object_get(json_object_get(document, "topics"), kr_rule_topic(rule)) : NULL;
}

/* The document with this rule for the topics by their own names; every other rule stays. Takes rule. NULL: no memory.
 */
static char *with_rule(const json_t *document, const char *topic, const char *other, json_t *rule)
{
        json_t *copy = json_deep_copy(document), *topics = json_object_get(copy, "topics");
        char *text = NULL;

        if (rule && !json_object_set(topics, topic, rule) && (!other || !json_object_set(topics, other, rule)))
                text = json_dumps(copy, 0);
        json_decref(rule);
        json_decref(copy);
        return text;
}

static bool is_slots_or_modulo(const json_t *rule)
{
        const char *kind = json_string_value(json_object_get(json_object_get(rule, "map"), "kind"));

        return !kind || !strcmp(kind, "modulo") || !strcmp(kind, "slots");
}

static json_t *now_of(const json_t *rule, int32_t from)
{
        json_t *copy = json_deep_copy(rule);

        json_object_set_new(copy, "partitions", json_integer(from));
        return copy;
}

static json_t *modulo_of(const json_t *rule)
{
        json_t *copy = json_deep_copy(rule);

        json_object_del(copy, "partitions");
        json_object_del(copy, "map");
        json_object_del(copy, "locations");
        return copy;
}

static json_t *next_of(const json_t *rule, const struct rp_growth_wish *wish)
{
        json_t *copy = json_deep_copy(rule);
        json_t *map = json_object_get(copy, "map");
        json_t *weights = wish->weights_json ? json_loads(wish->weights_json, 0, NULL)
                                             : json_incref(json_object_get(map, "weights"));

        json_object_set_new(copy, "partitions", json_integer(wish->to));
        if (is_slots_or_modulo(rule)) {
                map = json_pack("{s:s}", "kind", "slots");
                if (weights) {
                        if (!wish->weights_json && !json_object_get(weights, "*") && wish->to > wish->from)
                                json_object_set_new(weights, "*", json_integer(1));
                        json_object_set(map, "weights", weights);
                }
                json_object_set_new(copy, "map", map);
        } else if (weights) {
                json_object_set(map, "weights", weights);
        }
        json_decref(weights);
        return copy;
}

static kr_policy_t *parse(const char *text, const char *path, struct kr_error *err)
{
        kr_policy_t *policy = text ? kr_policy_parse_at(text, strlen(text), path, err) : NULL;

        if (policy)
                kr_policy_be_strict(policy);
        return policy;
}

static const char *into_of(const struct rp_growth_wish *wish)
{
        return wish->into ? wish->into : wish->topic;
}

/* Sets next_json and next, or why_not. */
static void make_next(struct rp_growth_rules *rules, const struct rp_growth_wish *wish, const json_t *document,
                      const json_t *rule)
{
        char *text = with_rule(document, into_of(wish), NULL, next_of(rule, wish));
        struct kr_error err = { "out of memory" };
        bool from_now = is_slots_or_modulo(rule);

        if (text)
                rules->next_json = kr_policy_compile_text(text, strlen(text), wish->policy_path,
                                                          from_now ? rules->now : NULL, false, &err);
        free(text);
        if (rules->next_json)
                rules->next = parse(rules->next_json, wish->policy_path, &err);
        if (rules->next)
                rules->next_rule = kr_policy_rule(rules->next, into_of(wish));
        else
                memcpy(rules->why_not, err.text, sizeof(rules->why_not));
}

double rp_moved_share(const kr_rule_t *from, int32_t from_cnt, const kr_rule_t *to, int32_t to_cnt)
{
        struct kr_comparison comparison;
        struct kr_error err;
        double moved;

        if (!from || !to || !kr_rule_compare(from, from_cnt, to, to_cnt, &comparison, &err))
                return -1;
        moved = comparison.basis == KR_UNKNOWN ? -1 : comparison.moved;
        kr_comparison_release(&comparison);
        return moved;
}

rp_err_t rp_growth_rules_init(struct rp_growth_rules *rules, const struct rp_growth_wish *wish, struct rp_error *err)
{
        json_t *document = json_loads(wish->policy_json, 0, NULL), *rule;
        struct kr_error kerr = { "out of memory" };
        kr_policy_t *given = parse(wish->policy_json, wish->policy_path, &kerr);
        char *text = NULL;
        rp_err_t rc = RP_OK;

        *rules = (struct rp_growth_rules){ 0 };
        rule = given && document ? rule_object(document, given, wish->topic) : NULL;
        if (!given || !document) {
                rc = rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        } else if (!rule) {
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: no rule for topic \"%.100s\"", wish->policy_path, wish->topic);
        } else {
                text = with_rule(document, wish->topic, wish->into, now_of(rule, wish->from));
                rules->now = parse(text, wish->policy_path, &kerr);
                free(text);
                text = with_rule(document, wish->topic, NULL, modulo_of(rule));
                rules->modulo = rules->now ? parse(text, wish->policy_path, &kerr) : NULL;
                free(text);
                if (!rules->modulo)
                        rc = rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        }
        if (rc == RP_OK) {
                rules->now_rule = kr_policy_rule(rules->now, wish->topic);
                rules->modulo_rule = kr_policy_rule(rules->modulo, wish->topic);
                make_next(rules, wish, document, rule);
                rules->modulo_share = rp_moved_share(rules->now_rule, wish->from, rules->modulo_rule, wish->to);
                rules->next_share = rp_moved_share(rules->now_rule, wish->from, rules->next_rule, wish->to);
        } else {
                rp_growth_rules_release(rules);
        }
        kr_policy_free(given);
        json_decref(document);
        return rc;
}

void rp_growth_rules_release(struct rp_growth_rules *rules)
{
        kr_policy_free(rules->now);
        kr_policy_free(rules->modulo);
        kr_policy_free(rules->next);
        free(rules->next_json);
        *rules = (struct rp_growth_rules){ 0 };
}

rp_err_t rp_growth_init(struct rp_growth *growth, const struct rp_growth_rules *rules, int32_t from, int32_t to,
                        struct rp_error *err)
{
        size_t cnt = (size_t)(from > to ? from : to);

        *growth = (struct rp_growth){ .rules = rules, .from = from, .to = to };
        growth->loads = calloc(cnt, sizeof(*growth->loads));
        growth->modulo.loads = calloc(cnt, sizeof(*growth->loads));
        growth->next.loads = calloc(cnt, sizeof(*growth->loads));
        return growth->loads && growth->modulo.loads && growth->next.loads ? RP_OK : out_of_memory(err);
}

void rp_growth_release(struct rp_growth *growth)
{
        free(growth->loads);
        free(growth->modulo.loads);
        free(growth->next.loads);
        *growth = (struct rp_growth){ 0 };
}

static void tally(struct rp_growth_tally *tally, const kr_rule_t *rule, int32_t partition_cnt,
                  const struct rp_record *rec)
{
        int32_t to = rec->key && rule ? kr_rule_partition(rule, rec->key, rec->key_len, partition_cnt) : rec->partition;

        if (to < 0) {
                tally->refused++;
                to = rec->partition;
        }
        if (to != rec->partition) {
                tally->moved++;
                tally->moved_bytes += rec->key_len + rec->value_len;
        }
        tally->loads[to]++;
}

void rp_growth_add(struct rp_growth *growth, const struct rp_record *rec)
{
        const struct rp_growth_rules *rules = growth->rules;

        growth->records++;
        growth->bytes += rec->key_len + rec->value_len;
        growth->loads[rec->partition]++;
        if (rec->key) {
                int32_t home = kr_rule_partition(rules->now_rule, rec->key, rec->key_len, growth->from);

                growth->keyed++;
                growth->keyed_bytes += rec->key_len + rec->value_len;
                growth->misplaced += home >= 0 && home != rec->partition;
        }
        tally(&growth->modulo, rules->modulo_rule, growth->to, rec);
        tally(&growth->next, rules->next_rule, growth->to, rec);
}

double rp_max_over_mean(const uint64_t *loads, int32_t cnt)
{
        uint64_t max = 0, sum = 0;

        for (int32_t p = 0; p < cnt; p++) {
                max = loads[p] > max ? loads[p] : max;
                sum += loads[p];
        }
        return sum ? (double)max * cnt / (double)sum : 0;
}
