#include "decide/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        ID_MAX = 64,  /* more schemas than a topic's keys have: these are other numbers */
        TORN_MIN = 5
};

static const double TORN_SHARE_MIN = 0.01; /* of the payloads; chance makes far fewer alike */

struct framed {
        uint64_t payload; /* its hash, by two functions of 32 bits */
        const struct rp_sample_key *key;
};

static kr_policy_t *payload_policy(const char *hash)
{
        char text[160];
        struct kr_error err;

        snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"*\":{\"hash\":\"%s\",\"key\":{\"use\":\"payload\"}}}}", hash);
        return kr_policy_parse(text, strlen(text), "candidate", &err);
}

static int by_payload(const void *a, const void *b)
{
        const struct framed *left = a, *right = b;

        if (left->payload != right->payload)
                return left->payload < right->payload ? -1 : 1;
        return left->key->hash < right->key->hash ? -1 : left->key->hash > right->key->hash;
}

/* The ids that occur, up to one more than ID_MAX. A GUID is counted as no number. */
static void note_id(uint32_t *ids, size_t *cnt, const unsigned char *key)
{
        uint32_t id = (uint32_t)key[1] << 24 | (uint32_t)key[2] << 16 | (uint32_t)key[3] << 8 | key[4];

        if (key[0] != 0 || *cnt > ID_MAX)
                return;
        for (size_t i = 0; i < *cnt; i++)
                if (ids[i] == id)
                        return;
        ids[(*cnt)++] = id;
}

static bool is_torn(const struct framed *group, size_t cnt)
{
        for (size_t i = 0; i < cnt; i++)
                if (group[i].key->cells[0].partition != group[0].key->cells[0].partition)
                        return true;
        return false;
}

static size_t gather(const struct rp_sample_key *keys, size_t key_cnt, const kr_rule_t *a, const kr_rule_t *b,
                     struct framed *framed, struct rp_frames *out)
{
        uint32_t ids[ID_MAX + 1];
        size_t cnt = 0;

        for (size_t i = 0; i < key_cnt; i++) {
                struct kr_routing first, second;

                if (!keys[i].key || !keys[i].cell_cnt)
                        continue;
                out->keys++;
                kr_rule_route(a, keys[i].key, keys[i].key_len, 1, &first);
                if (first.outcome != KR_KEY_PROJECTED)
                        continue;
                kr_rule_route(b, keys[i].key, keys[i].key_len, 1, &second);
                framed[cnt++] = (struct framed){ first.hash << 32 | (second.hash & 0xffffffff), &keys[i] };
                note_id(ids, &out->ids, keys[i].key);
        }
        out->framed = cnt;
        return cnt;
}

static double forecast(const struct rp_sample_key *keys, size_t key_cnt, const kr_rule_t *rule, int32_t partition_cnt)
{
        double moved = 0, all = 0;

        for (size_t i = 0; i < key_cnt; i++) {
                int32_t home = keys[i].key ? kr_rule_partition(rule, keys[i].key, keys[i].key_len, partition_cnt) : -1;

                for (size_t c = 0; home >= 0 && c < keys[i].cell_cnt; c++) {
                        all += (double)keys[i].cells[c].records;
                        moved += keys[i].cells[c].partition == home ? 0 : (double)keys[i].cells[c].records;
                }
        }
        return all > 0 ? moved / all : 0;
}

rp_err_t rp_frames_find(const struct rp_sample_key *keys, size_t key_cnt, double weight, const kr_hash_t *hash,
                        int32_t partition_cnt, struct rp_frames *out, struct rp_error *err)
{
        kr_policy_t *a = payload_policy("murmur2"), *b = payload_policy("crc32"), *by = payload_policy(kr_hash_name(hash));
        struct framed *framed = malloc((key_cnt + 1) * sizeof(*framed));
        size_t cnt, payloads = 0, torn = 0;
        rp_err_t rc = RP_OK;

        *out = (struct rp_frames){ .is_exact = weight <= 1 };
        if (!a || !b || !by || !framed) {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                goto out;
        }
        cnt = gather(keys, key_cnt, kr_policy_rule_at(a, 0), kr_policy_rule_at(b, 0), framed, out);
        if (cnt)
                qsort(framed, cnt, sizeof(*framed), by_payload);
        for (size_t i = 0, end; i < cnt; i = end, payloads++) {
                for (end = i + 1; end < cnt && framed[end].payload == framed[i].payload; end++)
                        ;
                torn += end - i > 1 && is_torn(&framed[i], end - i);
        }
        out->torn = (double)torn * weight * weight;
        /* Of those whose first key was sampled, a part of 1/weight is seen torn. */
        out->is_cause = 2 * out->framed > out->keys && out->ids <= ID_MAX && torn >= TORN_MIN &&
                        (double)torn * weight >= TORN_SHARE_MIN * (double)payloads;
        if (out->is_cause)
                out->moved_share = forecast(keys, key_cnt, kr_policy_rule_at(by, 0), partition_cnt);
out:
        kr_policy_free(a);
        kr_policy_free(b);
        kr_policy_free(by);
        free(framed);
        return rc;
}
