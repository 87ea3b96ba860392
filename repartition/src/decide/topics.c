#include "decide/topics.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct named {
        const char *name;
        int32_t partition_cnt;
};

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

bool rp_topics_init(struct rp_topics *topics, const char *const *names, const int32_t *partition_cnts, int32_t topic_cnt)
{
        struct named *sorted = calloc((size_t)topic_cnt, sizeof(*sorted));
        int32_t sum = 0;
        bool is_well;

        *topics = (struct rp_topics){ .names = calloc((size_t)topic_cnt, sizeof(*topics->names)),
                                      .firsts = calloc((size_t)topic_cnt + 1, sizeof(*topics->firsts)) };
        is_well = sorted && topics->names && topics->firsts;
        for (int32_t t = 0; is_well && t < topic_cnt; t++) {
                sorted[t] = (struct named){ names[t], partition_cnts[t] };
                sum += partition_cnts[t];
        }
        topics->owners = calloc((size_t)sum + 1, sizeof(*topics->owners));
        is_well = is_well && topics->owners;
        if (is_well)
                qsort(sorted, (size_t)topic_cnt, sizeof(*sorted), by_name);
        for (int32_t t = 0; is_well && t < topic_cnt; t++) {
                topics->firsts[t + 1] = topics->firsts[t] + sorted[t].partition_cnt;
                for (int32_t place = topics->firsts[t]; place < topics->firsts[t + 1]; place++)
                        topics->owners[place] = t;
                is_well = (topics->names[t] = strdup(sorted[t].name));
                topics->topic_cnt++;
        }
        topics->partition_cnt = sum;
        free(sorted);
        if (!is_well)
                rp_topics_release(topics);
        return is_well;
}

void rp_topics_release(struct rp_topics *topics)
{
        for (int32_t t = 0; topics->names && t < topics->topic_cnt; t++)
                free(topics->names[t]);
        free(topics->names);
        free(topics->firsts);
        free(topics->owners);
        *topics = (struct rp_topics){ 0 };
}

bool rp_topics_equal(const struct rp_topics *a, const struct rp_topics *b)
{
        if (!a || !b)
                return a == b;
        if (a->topic_cnt != b->topic_cnt)
                return false;
        for (int32_t t = 0; t < a->topic_cnt; t++)
                if (strcmp(a->names[t], b->names[t]) || a->firsts[t + 1] != b->firsts[t + 1])
                        return false;
        return true;
}

int32_t rp_topics_find(const struct rp_topics *topics, const char *only, const char *name, int32_t partition)
{
        if (!topics)
                return strcmp(only, name) ? -1 : partition;
        for (int32_t t = 0; t < topics->topic_cnt; t++)
                if (!strcmp(topics->names[t], name))
                        return partition >= 0 && partition < topics->firsts[t + 1] - topics->firsts[t]
                                       ? topics->firsts[t] + partition : -1;
        return -1;
}

bool rp_topics_all_have(const struct rp_topics *topics, int32_t only, int32_t partition_cnt)
{
        if (!topics)
                return only == partition_cnt;
        for (int32_t t = 0; t < topics->topic_cnt; t++)
                if (topics->firsts[t + 1] - topics->firsts[t] != partition_cnt)
                        return false;
        return true;
}

int32_t rp_topics_place(const struct rp_topics *topics, int64_t code, int32_t cnt)
{
        int64_t topic, partition;

        if (code < 0)
                return -1;
        if (!topics)
                return code < cnt ? (int32_t)code : -1;
        topic = code % topics->topic_cnt;
        partition = code / topics->topic_cnt;
        return partition < topics->firsts[topic + 1] - topics->firsts[topic] ? topics->firsts[topic] + (int32_t)partition : -1;
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void rp_topics_label(char out[RP_TOPICS_LABEL_SIZE], const char *const *names, int32_t topic_cnt)
{
        const char *sorted[RP_TOPICS_MAX];
        XXH64_hash_t digest = 0;
        size_t len = 0;

        memcpy(sorted, names, (size_t)topic_cnt * sizeof(*names));
        qsort(sorted, (size_t)topic_cnt, sizeof(*sorted), by_text);
        for (int32_t t = 0; t < topic_cnt; t++) {
                digest = XXH3_64bits_withSeed(sorted[t], strlen(sorted[t]), digest);
                if (len < RP_TOPICS_LABEL_SIZE)
                        len += (size_t)snprintf(out + len, RP_TOPICS_LABEL_SIZE - len, "%s%s", t ? "+" : "", sorted[t]);
        }
        if (len >= RP_TOPICS_LABEL_SIZE)
                snprintf(out, RP_TOPICS_LABEL_SIZE, "%.200s+%" PRId32 "-more+%016" PRIx64, sorted[0], topic_cnt - 1, digest);
}

json_t *rp_topics_json(const struct rp_topics *topics)
{
        json_t *list = json_array();

        for (int32_t t = 0; t < topics->topic_cnt; t++)
                json_array_append_new(list, json_pack("{s:s, s:i}", "topic", topics->names[t], "partitions",
                                                      (int)(topics->firsts[t + 1] - topics->firsts[t])));
        return list;
}
