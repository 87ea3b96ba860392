#include "table_search.h"

#include "../policy/hex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM (2 * HUGE_PAGE)

/* Grows *array to hold `more` elements beyond len. */
static bool reserve(void **array, size_t *size, size_t len, size_t more, size_t element)
{
        size_t want = *size ? *size : 64;
        void *grown;

        while (want - len < more)
                want += want / 2;
        if (want == *size)
                return true;
        grown = realloc(*array, want * element);
        if (!grown)
                return false;
        *array = grown;
        *size = want;
        return true;
}

static const char *check(const struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt,
                         char text[200])
{
        if (table->row_cnt == KR_TABLE_ROW_MAX)
                return "a table has at most 10000000 keys";
        if (key.len > KR_TABLE_KEY_LEN_MAX)
                return "a key of a table has at most 32767 bytes";
        if (cnt > 1 && !table->split)
                return "several partitions for one key need \"delimiter\" or \"first-bytes\": the rest of the key picks "
                       "one of them";
        if (cnt < 1 || cnt > KR_TABLE_SPREAD_MAX)
                return "a key has 1 to 1024 partitions";
        if (table->split && !kr_split_can_be_first(table->split, key))
                return "no key has this first part: it would be split before its end";
        for (int32_t i = 0; i < cnt; i++) {
                if (partitions[i] < 0 || partitions[i] >= table->partition_cnt) {
                        snprintf(text, 200, "partition %" PRId32 " does not exist; the highest is %" PRId32, partitions[i],
                                 table->partition_cnt - 1);
                        return text;
                }
                for (int32_t j = 0; j < i; j++)
                        if (partitions[i] == partitions[j]) {
                                snprintf(text, 200, "partition %" PRId32 " is named twice", partitions[i]);
                                return text;
                        }
        }
        return NULL;
}

/* A sum does not depend on the order of the rows, so a sorted file has the fingerprint of an unsorted one. */
static void add_to_sums(struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt)
{
        uint64_t seed = (uint64_t)cnt;
        XXH128_hash_t hash;

        for (int32_t i = 0; i < cnt; i++) {
                unsigned char number[4];

                for (int b = 0; b < 4; b++) /* the same bytes on every processor */
                        number[b] = (unsigned char)((uint32_t)partitions[i] >> (8 * b));
                seed = XXH64(number, sizeof(number), seed);
        }
        hash = XXH3_128bits_withSeed(key.data, key.len, seed);
        table->sums[0] += hash.low64;
        table->sums[1] += hash.high64;
}

static const char *add_list(struct kr_table *table, const int32_t *partitions, int32_t cnt, uint32_t *target)
{
        if (!reserve((void **)&table->lists, &table->lists_size, table->lists_len, (size_t)cnt + 1,
                     sizeof(*table->lists)))
                return "out of memory";
        if (table->lists_len + (size_t)cnt >= KR_TABLE_LIST_BIT)
                return "the keys with several partitions have too many of them together";
        *target = KR_TABLE_LIST_BIT | (uint32_t)table->lists_len;
        table->lists[table->lists_len++] = cnt;
        memcpy(table->lists + table->lists_len, partitions, (size_t)cnt * sizeof(*partitions));
        table->lists_len += (size_t)cnt;
        return NULL;
}

const char *kr_table_add(struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt,
                         char text[200])
{
        unsigned char bytes[KR_TABLE_KEY_LEN_MAX];
        struct kr_table_entry entry;
        const char *wrong;

        if (table->hex) {
                if (key.len > 2 * sizeof(bytes) || !kr_hex_decode((const char *)key.data, key.len, bytes))
                        return "expected the key in pairs of hex digits, at most 32767 of them, since \"key-format\" is "
                               "hex";
                key = (struct kr_bytes){ bytes, key.len / 2 };
        }
        wrong = check(table, key, partitions, cnt, text);
        if (wrong)
                return wrong;
        if (!reserve((void **)&table->rows, &table->rows_size, table->row_cnt, 1, sizeof(*table->rows)))
                return "out of memory";
        entry = kr_table_hash(key);
        entry.target = (uint32_t)partitions[0] + 1;
        if (cnt > 1)
                wrong = add_list(table, partitions, cnt, &entry.target);
        if (wrong)
                return wrong;
        table->rows[table->row_cnt++] = entry;
        add_to_sums(table, key, partitions, cnt);
        return NULL;
}

int32_t kr_table_find_hash(const struct kr_table *table, const struct kr_table_entry *entry, const int32_t **list)
{
        return kr_table_partition(table, kr_table_search(table, entry->high, entry->low), list);
}

bool kr_table_next(const struct kr_table *table, size_t *at, struct kr_table_entry *entry)
{
        while (*at < 4 * table->bucket_cnt) {
                const struct kr_table_bucket *bucket = &table->buckets[*at / 4];
                size_t i = (*at)++ % 4;

                *entry = (struct kr_table_entry){ bucket->high[i], bucket->low[i], bucket->target[i] };
                if (entry->target)
                        return true;
        }
        return false;
}

/*
 * Zeroed memory that starts at a cache line and, when there is much of it, lies in huge pages: a search otherwise misses
 * the processor's cache of page addresses as often as that of the data.
 */
static void *allocate(size_t size)
{
        size_t step = size < HUGE_FROM ? 64 : HUGE_PAGE;
        size_t rounded = (size + step - 1) / step * step;
        void *memory = aligned_alloc(step, rounded);

        if (memory && step == HUGE_PAGE)
                madvise(memory, rounded, MADV_HUGEPAGE); /* where there are none, small pages do */
        if (memory)
                memset(memory, 0, size);
        return memory;
}

static void insert(struct kr_table *table, const struct kr_table_entry *entry)
{
        uint64_t b = kr_table_bucket_of(table, entry->high);
        int i = 0;

        while (table->buckets[b].target[3])
                b = kr_table_next_bucket(table, b);
        while (table->buckets[b].target[i])
                i++;
        table->buckets[b].high[i] = entry->high;
        table->buckets[b].low[i] = entry->low;
        table->buckets[b].target[i] = entry->target;
}

bool kr_table_seal(struct kr_table *table, size_t *twice)
{
        bool ok = true;

        *twice = table->row_cnt;
        /* Five of eight places are taken: few buckets overflow, and there is always a free one. */
        table->bucket_cnt = table->row_cnt * 2 / 5 + 1;
        table->buckets = allocate(table->bucket_cnt * sizeof(*table->buckets));
        if (!table->buckets) {
                table->bucket_cnt = 0;
                return false;
        }
        for (size_t i = 0; ok && i < table->row_cnt; i++) {
                ok = !kr_table_search(table, table->rows[i].high, table->rows[i].low);
                if (ok)
                        insert(table, &table->rows[i]);
                else
                        *twice = i;
        }
        free(table->rows);
        table->rows = NULL;
        table->rows_size = 0;
        return ok;
}

void kr_table_canon(const struct kr_table *table, struct kr_canon *canon)
{
        kr_canon_add(canon, "keys=%zu %016" PRIx64 "%016" PRIx64, table->row_cnt, table->sums[1], table->sums[0]);
}

size_t kr_table_memory(const struct kr_table *table)
{
        return table->bucket_cnt * sizeof(*table->buckets) + table->lists_size * sizeof(*table->lists);
}

void kr_table_release(struct kr_table *table)
{
        free(table->rows);
        free(table->lists);
        free(table->buckets);
        *table = (struct kr_table){ 0 };
}
