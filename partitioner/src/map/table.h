/**
 * Pinned keys and their partitions, built once and then only read: a hash index of 32-bit fingerprints over records that
 * lie one behind the other. A key that is not in the table costs about one cache miss, one that is costs two.
 */
#ifndef KR_TABLE_H
#define KR_TABLE_H

#include "map.h"
#include "split.h"

#define KR_TABLE_ROW_MAX 10000000
#define KR_TABLE_KEY_LEN_MAX 32767
#define KR_TABLE_SPREAD_MAX 1024 /* partitions of one entry */

struct kr_table {
        /* What may be in it; set by the owner before the first row. */
        int32_t partition_cnt;
        const struct kr_split *split; /* keys are first parts, and entries may have several partitions; or NULL */
        bool hex;                     /* keys come as hex digits */

        size_t row_cnt;
        unsigned char *rows;
        size_t rows_len, rows_size;
        int32_t *lists; /* of entries with several partitions: count, then the partitions */
        size_t lists_len, lists_size;
        uint64_t *index; /* fingerprint << 32 | place of the row in steps of 4 bytes, plus 1; 0: free */
        uint64_t index_cnt;
        uint64_t sums[2]; /* over all rows, whatever their order */
};

/** One entry. `partitions` borrows from the table, or from the caller when it adds. */
struct kr_entry {
        struct kr_bytes key;
        const int32_t *partitions;
        int32_t cnt;
};

/**
 * Adds a row; `key` is as the user wrote it.
 * @returns NULL, or what is wrong with the row, such as "expected pairs of hex digits"; `text` is room for that.
 */
const char *kr_table_add(struct kr_table *table, struct kr_bytes key, const int32_t *partitions, int32_t cnt,
                         char text[200]);

/**
 * Makes the index, after the last row.
 * @returns true; or false with *twice set to the row (from 0) whose key an earlier one has, or to row_cnt: out of memory.
 */
bool kr_table_seal(struct kr_table *table, size_t *twice);

/** Reads rows KEY TAB PARTITION[,PARTITION...] from a file. The error names the line. */
bool kr_table_read(struct kr_table *table, const char *path, struct kr_error *err);

/** The entry of a key. Pure, allocates nothing. False when there is none. */
bool kr_table_find(const struct kr_table *table, struct kr_bytes key, struct kr_entry *entry);

/** Walks the rows in the order in which they were added: *at is 0 first. False behind the last. */
bool kr_table_next(const struct kr_table *table, size_t *at, struct kr_entry *entry);

void kr_table_canon(const struct kr_table *table, struct kr_canon *canon);
size_t kr_table_memory(const struct kr_table *table);
void kr_table_release(struct kr_table *table);

/** The table and the map behind it, of a map whose kind is kr_map_table. */
const struct kr_table *kr_map_table_rows(const struct kr_map *map);
const struct kr_map *kr_map_table_other(const struct kr_map *map);

#endif
