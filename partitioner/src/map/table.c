#include "table.h"

#include "../policy/hex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* header only: the plugin must not need one more library in its host */
#include <xxhash.h>

/* In front of the key's bytes; rows start at multiples of 4. */
struct row {
        int32_t target; /* the partition; or below 0: ~ the place of a list */
        uint32_t len;
};

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
        XXH3_state_t state;
        XXH128_hash_t hash;

        XXH3_128bits_reset(&state);
        for (int32_t i = 0; i < cnt; i++) {
                unsigned char number[4];

                for (int b = 0; b < 4; b++)
                        number[b] = (unsigned char)((uint32_t)partitions[i] >> (8 * b));
                XXH3_128bits_update(&state, number, sizeof(number));
        }
        /* No partition has this number: the list cannot run into the key. */
        XXH3_128bits_update(&state, "\xff\xff\xff\xff", 4);
        if (key.len)
                XXH3_128bits_update(&state, key.data, key.len);
        hash = XXH3_128bits_digest(&state);
        table->sums[0] += hash.low64;
        table->sums[1] += hash.high64;
}

const char *kr_table_add(struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt,
                         char text[200])
{
        unsigned char bytes[KR_TABLE_KEY_LEN_MAX];
        struct row row = { cnt > 0 ? partitions[0] : 0, 0 };
        const char *wrong;
        size_t padded;

        if (table->hex) {
                if (key.len > 2 * sizeof(bytes) || !kr_hex_decode((const char *)key.data, key.len, bytes))
                        return "expected the key in pairs of hex digits, at most 32767 of them, since \"key-format\" is "
                               "hex";
                key = (struct kr_bytes){ bytes, key.len / 2 };
        }
        wrong = check(table, key, partitions, cnt, text);
        if (wrong)
                return wrong;
        if (cnt > 1) {
                if (!reserve((void **)&table->lists, &table->lists_size, table->lists_len, (size_t)cnt + 1,
                             sizeof(*table->lists)))
                        return "out of memory";
                row.target = ~(int32_t)table->lists_len;
                table->lists[table->lists_len++] = cnt;
                memcpy(table->lists + table->lists_len, partitions, (size_t)cnt * sizeof(*partitions));
                table->lists_len += (size_t)cnt;
                if (table->lists_len > INT32_MAX / 2)
                        return "the keys with several partitions have too many of them together";
        }
        row.len = (uint32_t)key.len;
        padded = (sizeof(row) + key.len + 3) & ~(size_t)3;
        if (!reserve((void **)&table->rows, &table->rows_size, table->rows_len, padded, 1))
                return "out of memory";
        if ((table->rows_len + padded) / 4 > UINT32_MAX)
                return "the keys have more than 16 GiB together";
        memcpy(table->rows + table->rows_len, &row, sizeof(row));
        if (key.len)
                memcpy(table->rows + table->rows_len + sizeof(row), key.data, key.len);
        table->rows_len += padded;
        table->row_cnt++;
        add_to_sums(table, key, partitions, cnt);
        return NULL;
}

static struct row row_at(const struct kr_table *table, size_t at)
{
        struct row row;

        memcpy(&row, table->rows + at, sizeof(row));
        return row;
}

static void fill(const struct kr_table *table, size_t at, struct row row, struct kr_entry *entry)
{
        entry->key = (struct kr_bytes){ table->rows + at + sizeof(row), row.len };
        if (row.target < 0) {
                entry->cnt = table->lists[~row.target];
                entry->partitions = &table->lists[~row.target + 1];
        } else {
                entry->cnt = 1;
                entry->partitions = (const int32_t *)(const void *)(table->rows + at); /* row.target, at a multiple of 4 */
        }
}

bool kr_table_next(const struct kr_table *table, size_t *at, struct kr_entry *entry)
{
        struct row row;

        if (*at == table->rows_len)
                return false;
        row = row_at(table, *at);
        fill(table, *at, row, entry);
        *at += (sizeof(row) + row.len + 3) & ~(size_t)3;
        return true;
}

static uint64_t hash_of(struct kr_bytes key)
{
        return XXH3_64bits(key.data, key.len);
}

/* Where the search for a hash starts: its upper half, spread over the index without a division. */
static uint64_t slot_of(const struct kr_table *table, uint64_t hash)
{
        return (hash >> 32) * table->index_cnt >> 32;
}

bool kr_table_find(const struct kr_table *table, struct kr_bytes key, struct kr_entry *entry)
{
        uint64_t hash = hash_of(key);
        uint32_t fingerprint = (uint32_t)hash;

        for (uint64_t slot = slot_of(table, hash);; slot = slot + 1 < table->index_cnt ? slot + 1 : 0) {
                uint64_t item = table->index[slot];
                struct row row;
                size_t at;

                if (!item)
                        return false;
                if (item >> 32 != fingerprint)
                        continue;
                at = 4 * (size_t)((uint32_t)item - 1);
                row = row_at(table, at);
                if (row.len != key.len || (key.len && memcmp(table->rows + at + sizeof(row), key.data, key.len)))
                        continue;
                fill(table, at, row, entry);
                return true;
        }
}

/* Gives back what growing left over. */
static void trim(struct kr_table *table)
{
        unsigned char *rows = table->rows_len ? realloc(table->rows, table->rows_len) : NULL;

        if (rows) {
                table->rows = rows;
                table->rows_size = table->rows_len;
        }
}

bool kr_table_seal(struct kr_table *table, size_t *twice)
{
        struct kr_entry entry, other;
        size_t at = 0, next = 0;

        *twice = table->row_cnt;
        trim(table);
        /* Two thirds full: short searches, and never without a free slot. */
        table->index_cnt = table->row_cnt + table->row_cnt / 2 + 1;
        table->index = calloc(table->index_cnt, sizeof(*table->index));
        if (!table->index)
                return false;
        for (size_t i = 0; kr_table_next(table, &next, &entry); at = next, i++) {
                uint64_t hash = hash_of(entry.key);
                uint64_t slot = slot_of(table, hash);

                if (kr_table_find(table, entry.key, &other)) {
                        *twice = i;
                        return false;
                }
                while (table->index[slot])
                        slot = slot + 1 < table->index_cnt ? slot + 1 : 0;
                table->index[slot] = hash << 32 | (uint64_t)(at / 4 + 1);
        }
        return true;
}

void kr_table_canon(const struct kr_table *table, struct kr_canon *canon)
{
        kr_canon_add(canon, "keys=%zu %016" PRIx64 "%016" PRIx64, table->row_cnt, table->sums[1], table->sums[0]);
}

size_t kr_table_memory(const struct kr_table *table)
{
        return table->rows_size + table->lists_size * sizeof(*table->lists) + table->index_cnt * sizeof(*table->index);
}

void kr_table_release(struct kr_table *table)
{
        free(table->rows);
        free(table->lists);
        free(table->index);
        *table = (struct kr_table){ 0 };
}
