#include "decide/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct rp_sample {
        struct rp_sample_key *keys;
        size_t cnt;
        uint32_t *slots; /* open addressing over keys, index + 1; 0 is free */
        size_t slot_mask;
        size_t bytes;
        size_t max_keys, max_bytes;
        uint64_t threshold; /* the smallest hash that had to go: every key below it is here */
        bool dropped;       /* whether there is a threshold at all */
        bool settled;       /* sorted and within the limits */
};

uint64_t rp_sample_hash(const void *key, size_t key_len)
{
        return XXH3_64bits_withSeed(key, key_len, 0x6b6579726f757465); /* "keyroute" */
}

rp_sample_t *rp_sample_new(size_t max_keys, size_t max_bytes)
{
        rp_sample_t *sample = calloc(1, sizeof(*sample));
        size_t slot_cnt = 4;

        if (!sample)
                return NULL;
        while (slot_cnt < max_keys * 4)
                slot_cnt *= 2;
        sample->max_keys = max_keys;
        sample->max_bytes = max_bytes;
        sample->slot_mask = slot_cnt - 1;
        sample->settled = true;
        sample->keys = malloc(max_keys * 2 * sizeof(*sample->keys));
        sample->slots = calloc(slot_cnt, sizeof(*sample->slots));
        if (!sample->keys || !sample->slots) {
                rp_sample_free(sample);
                return NULL;
        }
        return sample;
}

static void release_key(struct rp_sample_key *key)
{
        free(key->key);
        free(key->cells);
}

void rp_sample_free(rp_sample_t *sample)
{
        if (!sample)
                return;
        for (size_t i = 0; i < sample->cnt; i++)
                release_key(&sample->keys[i]);
        free(sample->keys);
        free(sample->slots);
        free(sample);
}

static size_t key_bytes(const struct rp_sample_key *key)
{
        return sizeof(*key) + (key->key ? key->key_len : 0) + key->cell_cnt * sizeof(*key->cells);
}

/* The slot of that hash, or the free one where it belongs. The hash is uniform already; its low bits will do, for it
 * is the high ones that the threshold makes alike. */
static size_t find_slot(const rp_sample_t *sample, uint64_t hash)
{
        size_t at = (size_t)hash & sample->slot_mask;

        while (sample->slots[at] && sample->keys[sample->slots[at] - 1].hash != hash)
                at = (at + 1) & sample->slot_mask;
        return at;
}

static int by_hash(const void *a, const void *b)
{
        uint64_t left = ((const struct rp_sample_key *)a)->hash, right = ((const struct rp_sample_key *)b)->hash;

        return (left > right) - (left < right);
}

/*
 * Sorts, and cuts to the longest run of smallest hashes within the limits. The first hash that is cut becomes the
 * threshold. This commutes with everything else: a key within the final run is within the run of any part of the
 * records, because the keys before it can only have been fewer and smaller then.
 */
static void settle(rp_sample_t *sample)
{
        size_t keep = 0;

        if (sample->settled)
                return;
        qsort(sample->keys, sample->cnt, sizeof(*sample->keys), by_hash);
        sample->bytes = 0;
        while (keep < sample->cnt && keep < sample->max_keys &&
               sample->bytes + key_bytes(&sample->keys[keep]) <= sample->max_bytes)
                sample->bytes += key_bytes(&sample->keys[keep++]);
        if (keep < sample->cnt) {
                sample->threshold = sample->keys[keep].hash;
                sample->dropped = true;
        }
        for (size_t i = keep; i < sample->cnt; i++)
                release_key(&sample->keys[i]);
        sample->cnt = keep;
        memset(sample->slots, 0, (sample->slot_mask + 1) * sizeof(*sample->slots));
        for (size_t i = 0; i < keep; i++)
                sample->slots[find_slot(sample, sample->keys[i].hash)] = (uint32_t)i + 1;
        sample->settled = true;
}

/* The key's entry, made if need be; NULL when memory is out. */
static struct rp_sample_key *take_key(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len)
{
        struct rp_sample_key *entry;
        size_t at = find_slot(sample, hash);

        if (sample->slots[at])
                return &sample->keys[sample->slots[at] - 1];
        entry = &sample->keys[sample->cnt];
        *entry = (struct rp_sample_key){ .hash = hash, .key_len = key_len };
        if (key && key_len <= RP_SAMPLE_KEY_MAX) {
                entry->key = malloc(key_len + 1);
                if (!entry->key)
                        return NULL;
                memcpy(entry->key, key, key_len);
        }
        sample->slots[at] = (uint32_t)++sample->cnt;
        sample->bytes += key_bytes(entry);
        sample->settled = false;
        return entry;
}

static struct rp_cell *take_cell(rp_sample_t *sample, struct rp_sample_key *key, int32_t partition)
{
        size_t low = 0, high = key->cell_cnt;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (key->cells[middle].partition < partition)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low < key->cell_cnt && key->cells[low].partition == partition)
                return &key->cells[low];
        if (key->cell_cnt == key->cell_size) {
                size_t size = key->cell_size ? key->cell_size * 2 : 1;
                struct rp_cell *cells = realloc(key->cells, size * sizeof(*cells));

                if (!cells)
                        return NULL;
                key->cells = cells;
                key->cell_size = size;
        }
        memmove(&key->cells[low + 1], &key->cells[low], (key->cell_cnt - low) * sizeof(*key->cells));
        key->cells[low] = (struct rp_cell){ .partition = partition, .first_ms = -1, .last_ms = -1 };
        key->cell_cnt++;
        sample->bytes += sizeof(*key->cells);
        sample->settled = false;
        return &key->cells[low];
}

static bool add(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len, const struct rp_cell *more)
{
        struct rp_sample_key *entry;
        struct rp_cell *cell;

        if (sample->cnt == sample->max_keys * 2 || sample->bytes > sample->max_bytes * 2)
                settle(sample);
        if (sample->dropped && hash >= sample->threshold)
                return true;
        entry = take_key(sample, hash, key, key_len);
        cell = entry ? take_cell(sample, entry, more->partition) : NULL;
        if (!cell)
                return false;
        entry->records += more->records;
        cell->records += more->records;
        if (more->first_ms >= 0 && (cell->first_ms < 0 || more->first_ms < cell->first_ms))
                cell->first_ms = more->first_ms;
        if (more->last_ms > cell->last_ms)
                cell->last_ms = more->last_ms;
        return true;
}

bool rp_sample_add(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len, int32_t partition,
                   int64_t time_ms)
{
        struct rp_cell one = { partition, 1, time_ms, time_ms };

        return add(sample, hash, key, key_len, &one);
}

bool rp_sample_put(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len, const struct rp_cell *cell)
{
        return add(sample, hash, key, key_len, cell);
}

void rp_sample_cut(rp_sample_t *sample, uint64_t threshold)
{
        settle(sample);
        if (sample->dropped && sample->threshold <= threshold)
                return;
        sample->threshold = threshold;
        sample->dropped = true;
        while (sample->cnt && sample->keys[sample->cnt - 1].hash >= threshold)
                release_key(&sample->keys[--sample->cnt]);
        sample->settled = false; /* the slots still name what went */
        settle(sample);
}

bool rp_sample_threshold(rp_sample_t *sample, uint64_t *threshold)
{
        settle(sample);
        *threshold = sample->threshold;
        return sample->dropped;
}

bool rp_sample_merge(rp_sample_t *sample, rp_sample_t *from)
{
        settle(from);
        if (from->dropped)
                rp_sample_cut(sample, from->threshold);
        for (size_t i = 0; i < from->cnt; i++) {
                const struct rp_sample_key *key = &from->keys[i];

                for (size_t c = 0; c < key->cell_cnt; c++)
                        if (!add(sample, key->hash, key->key, key->key_len, &key->cells[c]))
                                return false;
        }
        return true;
}

const struct rp_sample_key *rp_sample_keys(rp_sample_t *sample, size_t *cnt)
{
        settle(sample);
        *cnt = sample->cnt;
        return sample->keys;
}

bool rp_sample_is_complete(rp_sample_t *sample)
{
        settle(sample);
        return !sample->dropped;
}

double rp_sample_weight(rp_sample_t *sample)
{
        settle(sample);
        /* A key is sampled when its hash lies below the threshold, so with that chance. */
        return sample->dropped ? 0x1p64 / fmax((double)sample->threshold, 1) : 1;
}

uint64_t rp_sample_distinct(rp_sample_t *sample, double *error)
{
        settle(sample);
        *error = sample->dropped ? 1.96 / sqrt(fmax((double)sample->cnt, 1)) : 0;
        return (uint64_t)llround((double)sample->cnt * rp_sample_weight(sample));
}
