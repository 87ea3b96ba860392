#include "decide/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether two rules route alike: plainly, or once both are pinned to the count (the fingerprint covers the pin). */
static bool is_same_rule(const kr_rule_t *judge, const kr_hash_t *hash, const kr_rule_t *plain, int32_t partition_cnt)
{
        struct kr_error err;
        kr_policy_t *pinned;
        char json[200];
        bool same;

        if (!kr_rule_partitions(judge))
                return !strcmp(kr_rule_fingerprint(judge), kr_rule_fingerprint(plain));
        snprintf(json, sizeof(json), "{\"keyroute\":1,\"topics\":{\"*\":{\"partitions\":%" PRId32 ",\"hash\":\"%s\"}}}",
                 partition_cnt, kr_hash_name(hash));
        pinned = kr_policy_parse(json, strlen(json), "candidate", &err);
        same = pinned && !strcmp(kr_rule_fingerprint(judge), kr_rule_fingerprint(kr_policy_rule_at(pinned, 0)));
        kr_policy_free(pinned);
        return same;
}

rp_err_t rp_ways_init(struct rp_ways *ways, const kr_rule_t *judge, int32_t partition_cnt, struct rp_error *err)
{
        struct kr_error kerr;
        const kr_hash_t *hash;
        size_t hash_cnt = 0;

        while (kr_hash_at(hash_cnt))
                hash_cnt++;
        *ways = (struct rp_ways){ .list = calloc(hash_cnt + 1 + RP_FORMS_MAX, sizeof(*ways->list)), .judge = hash_cnt };
        if (!ways->list)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (; (hash = kr_hash_at(ways->cnt)); ways->cnt++) {
                struct rp_way *way = &ways->list[ways->cnt];

                way->policy = kr_policy_from_hash(kr_hash_name(hash), &kerr);
                if (!way->policy) {
                        rp_ways_release(ways);
                        return rp_fail(err, RP_ERR_FATAL, "%s", kerr.text);
                }
                way->rule = kr_policy_rule_at(way->policy, 0);
                way->name = kr_hash_name(hash);
                way->clients = kr_hash_clients(hash);
                way->fix = kr_hash_fix(hash);
                way->is_client = kr_hash_is_client(hash);
                way->takes_any_count = way->is_client;
                if (ways->judge == hash_cnt && is_same_rule(judge, hash, way->rule, partition_cnt))
                        ways->judge = ways->cnt;
        }
        if (ways->judge == hash_cnt)
                ways->list[ways->cnt++] = (struct rp_way){
                        .name = kr_rule_describe(judge),
                        .clients = "clients that route by the policy",
                        .fix = "nothing to change: this is the policy",
                        .rule = judge,
                        .is_client = true,
                };
        return RP_OK;
}

void rp_ways_add_form(struct rp_ways *ways, const struct rp_way *way)
{
        struct rp_way *added = &ways->list[ways->cnt++]; /* rp_ways_init() made room */

        *added = *way;
        snprintf(added->label, sizeof(added->label), "%s, %s", kr_hash_name(kr_rule_hash(way->rule)), way->form->name);
        snprintf(added->form_fix, sizeof(added->form_fix),
                 "these producers hash another form of the key than the one that is stored (%s): give all of them one key "
                 "serializer%s%s", way->form->name, way->form->key ? ", or route by a policy with \"key\": " : "",
                 way->form->key ? way->form->key : "");
        added->name = added->label;
        added->fix = added->form_fix;
}

bool rp_way_route(const struct rp_way *way, const void *key, size_t key_len, int32_t partition_cnt,
                  struct kr_routing *routing)
{
        struct rp_form_bytes bytes;

        if (way->form && way->form->encode) {
                if (!way->form->encode(key, key_len, &bytes))
                        return false;
                kr_rule_route(way->rule, bytes.data, bytes.len, partition_cnt, routing);
                return true;
        }
        kr_rule_route(way->rule, key, key_len, partition_cnt, routing);
        return !way->form || routing->outcome == KR_KEY_PROJECTED;
}

int32_t rp_way_partition(const struct rp_way *way, const void *key, size_t key_len, int32_t partition_cnt)
{
        struct kr_routing routing;

        if (!way->form)
                return kr_rule_partition(way->rule, key, key_len, partition_cnt);
        return rp_way_route(way, key, key_len, partition_cnt, &routing) ? routing.partition : -1;
}

void rp_ways_release(struct rp_ways *ways)
{
        for (size_t i = 0; i < ways->cnt; i++)
                kr_policy_free(ways->list[i].policy);
        free(ways->list);
        *ways = (struct rp_ways){ 0 };
}
