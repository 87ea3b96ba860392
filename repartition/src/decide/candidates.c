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
        *ways = (struct rp_ways){ .list = calloc(hash_cnt + 1, sizeof(*ways->list)), .judge = hash_cnt };
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

void rp_ways_release(struct rp_ways *ways)
{
        for (size_t i = 0; i < ways->cnt; i++)
                kr_policy_free(ways->list[i].policy);
        free(ways->list);
        *ways = (struct rp_ways){ 0 };
}
