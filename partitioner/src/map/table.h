/**
 * Pinned keys and their partitions, built once and then only read.
 *
 * A key is held as 96 bits of its hash (XXH3, 128 bits), not as bytes: an entry has 16 bytes however long the keys are,
 * four of them fill a cache line, and a search costs one cache miss. That a key which is not in a table of ten million is
 * taken for one that is happens once in 10^21 keys or so; every part of Keyroute would then still route it alike.
 */
#ifndef KR_TABLE_H
#define KR_TABLE_H

#include "map.h"
#include "split.h"

#define KR_TABLE_ROW_MAX 10000000
#define KR_TABLE_KEY_LEN_MAX 32767
#define KR_TABLE_SPREAD_MAX 1024 /* partitions of one key */

struct kr_table_entry {
        uint64_t high;
        uint32_t low;
        uint32_t target; /* 0: free; below 2^31: the partition plus 1; else 2^31 plus the place of a list */
};

/** Four entries in a cache line, filled from the left; when it is full, the search goes on in the next. */
struct kr_table_bucket {
        uint64_t high[4];
        uint32_t low[4];
        uint32_t target[4];
};

struct kr_table {
        /* What may be in it; set by the owner before the first row. */
        int32_t partition_cnt;
        const struct kr_split *split; /* keys are first parts, and may have several partitions; or NULL */
        bool hex;                     /* keys come as hex digits */

        size_t row_cnt;
        struct kr_table_entry *rows; /* as they were added, until the table is sealed */
        size_t rows_size;
        int32_t *lists; /* of keys with several partitions: count, then the partitions */
        size_t lists_len, lists_size;
        struct kr_table_bucket *buckets;
        uint64_t bucket_cnt; /* 0 until the table is sealed */
        uint64_t sums[2];    /* over all rows, whatever their order */
};

/**
 * Adds a row; `key` is as the user wrote it.
 * @returns NULL, or what is wrong with the row, such as "expected pairs of hex digits"; `text` is room for that.
 */
const char *kr_table_add(struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt,
                         char text[200]);

/**
 * Makes the table ready for searches, after the last row.
 * @returns true; or false with *twice set to the row (from 0) whose key an earlier one has, or to row_cnt: out of memory.
 */
bool kr_table_seal(struct kr_table *table, size_t *twice);

/** Reads rows KEY TAB PARTITION[,PARTITION...] from a file. The error names the line. */
bool kr_table_read(struct kr_table *table, const char *path, struct kr_error *err);

/** What a search (table_search.h) answers instead of a partition. */
enum { KR_TABLE_NONE = -1, KR_TABLE_LIST = -2 };

/** For planners: walks the keys' hashes (*at is 0 first; false behind the last), and looks one up, as kr_table_find(). */
bool kr_table_next(const struct kr_table *table, size_t *at, struct kr_table_entry *entry);
int32_t kr_table_find_hash(const struct kr_table *table, const struct kr_table_entry *entry, const int32_t **list);

void kr_table_canon(const struct kr_table *table, struct kr_canon *canon);
size_t kr_table_memory(const struct kr_table *table);
void kr_table_release(struct kr_table *table);

/** The table and the map behind it, of a map whose kind is kr_map_table. */
const struct kr_table *kr_map_table_rows(const struct kr_map *map);
const struct kr_map *kr_map_table_other(const struct kr_map *map);

#endif
