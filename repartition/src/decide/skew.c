#include "decide/skew.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTERS = 2 * RP_HEAVY_KEYS, SLOTS = 4 * COUNTERS };

struct rp_heavy {
        struct rp_heavy_key counters[COUNTERS];
        size_t cnt;
        uint16_t slots[SLOTS]; /* open addressing over counters, index + 1; 0 is free */
        uint64_t error;
};

rp_heavy_t *rp_heavy_new(void)
{
        return calloc(1, sizeof(rp_heavy_t));
}

void rp_heavy_free(rp_heavy_t *heavy)
{
        free(heavy);
}

static size_t find_slot(const rp_heavy_t *heavy, uint64_t hash)
{
        size_t at = (size_t)hash % SLOTS;

        while (heavy->slots[at] && heavy->counters[heavy->slots[at] - 1].hash != hash)
                at = (at + 1) % SLOTS;
        return at;
}

static int by_rising_count(const void *a, const void *b)
{
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

        return (left > right) - (left < right);
}

/*
 * Takes the same off every counter, so much that at least half of them become free. Each record taken off a counter
 * goes together with one of at least RP_HEAVY_KEYS others, hence the bound on the error: records / RP_HEAVY_KEYS.
 */
static void make_room(rp_heavy_t *heavy)
{
        uint64_t counts[COUNTERS], cut;
        size_t kept = 0;

        for (size_t i = 0; i < heavy->cnt; i++)
                counts[i] = heavy->counters[i].records;
        qsort(counts, heavy->cnt, sizeof(*counts), by_rising_count);
        cut = counts[heavy->cnt / 2];
        heavy->error += cut;
        memset(heavy->slots, 0, sizeof(heavy->slots));
        for (size_t i = 0; i < heavy->cnt; i++) {
                if (heavy->counters[i].records <= cut)
                        continue;
                heavy->counters[kept] = heavy->counters[i];
                heavy->counters[kept].records -= cut;
                heavy->slots[find_slot(heavy, heavy->counters[kept].hash)] = (uint16_t)(kept + 1);
                kept++;
        }
        heavy->cnt = kept;
}

/* The counter of that key, made with a count of 0 if need be; *is_new tells. */
static struct rp_heavy_key *take_counter(rp_heavy_t *heavy, uint64_t hash, bool *is_new)
{
        size_t at = find_slot(heavy, hash);
        struct rp_heavy_key *counter;

        *is_new = !heavy->slots[at];
        if (!*is_new)
                return &heavy->counters[heavy->slots[at] - 1];
        if (heavy->cnt == COUNTERS) {
                make_room(heavy);
                at = find_slot(heavy, hash);
        }
        counter = &heavy->counters[heavy->cnt++];
        heavy->slots[at] = (uint16_t)heavy->cnt;
        counter->hash = hash;
        counter->records = 0;
        return counter;
}

void rp_heavy_add(rp_heavy_t *heavy, uint64_t hash, const void *key, size_t key_len)
{
        bool is_new;
        struct rp_heavy_key *counter = take_counter(heavy, hash, &is_new);

        counter->records++;
        if (!is_new)
                return;
        counter->key_len = key_len;
        if (key_len)
                memcpy(counter->key, key, key_len < RP_HEAVY_KEY_MAX ? key_len : RP_HEAVY_KEY_MAX);
}

void rp_heavy_put(rp_heavy_t *heavy, const struct rp_heavy_key *from)
{
        bool is_new;
        struct rp_heavy_key *counter = take_counter(heavy, from->hash, &is_new);

        counter->records += from->records;
        if (!is_new)
                return;
        counter->key_len = from->key_len;
        memcpy(counter->key, from->key, sizeof(counter->key));
}

void rp_heavy_widen(rp_heavy_t *heavy, uint64_t error)
{
        heavy->error += error;
}

const struct rp_heavy_key *rp_heavy_at(const rp_heavy_t *heavy, size_t i)
{
        return i < heavy->cnt ? &heavy->counters[i] : NULL;
}

void rp_heavy_merge(rp_heavy_t *heavy, const rp_heavy_t *from)
{
        for (size_t i = 0; i < from->cnt; i++)
                rp_heavy_put(heavy, &from->counters[i]);
        rp_heavy_widen(heavy, from->error);
}

uint64_t rp_heavy_error(const rp_heavy_t *heavy)
{
        return heavy->error;
}

static bool is_heavier(const struct rp_heavy_key *a, const struct rp_heavy_key *b)
{
        return a->records != b->records ? a->records > b->records : a->hash < b->hash;
}

size_t rp_heavy_top(const rp_heavy_t *heavy, struct rp_heavy_key *top, size_t max)
{
        size_t cnt = 0;

        for (size_t i = 0; i < heavy->cnt; i++) {
                size_t at = cnt;

                if (heavy->counters[i].records <= heavy->error)
                        continue;
                for (; at > 0 && is_heavier(&heavy->counters[i], &top[at - 1]); at--)
                        if (at < max)
                                top[at] = top[at - 1];
                if (at < max) {
                        top[at] = heavy->counters[i];
                        cnt += cnt < max;
                }
        }
        return cnt;
}

bool rp_skew_measure(const uint64_t *records, size_t partition_cnt, uint64_t distinct_keys, uint64_t heaviest,
                     struct rp_skew *skew)
{
        uint64_t *sorted = malloc(partition_cnt * sizeof(*sorted));
        double sum = 0, max, median, cnt = (double)partition_cnt;

        if (!sorted)
                return false;
        memcpy(sorted, records, partition_cnt * sizeof(*sorted));
        qsort(sorted, partition_cnt, sizeof(*sorted), by_rising_count);
        for (size_t i = 0; i < partition_cnt; i++)
                sum += (double)sorted[i];
        max = (double)sorted[partition_cnt - 1];
        median = ((double)sorted[(partition_cnt - 1) / 2] + (double)sorted[partition_cnt / 2]) / 2;
        free(sorted);
        skew->max_over_mean = sum > 0 ? max * cnt / sum : 0;
        skew->max_over_median = median > 0 ? max / median : 0;
        skew->chance = distinct_keys ? 1 + sqrt(2 * log(cnt) * cnt / (double)distinct_keys) : 0;
        skew->floor = sum > 0 ? fmax(1, (double)heaviest * cnt / sum) : 1;
        return true;
}
