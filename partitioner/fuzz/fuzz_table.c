/*
 * Key files come from exports of other systems. Whatever the bytes: an error that names a line, or a table in which every
 * row is found again and has partitions that exist.
 */
#include "map/table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct kr_table *table)
{
        struct kr_table_entry entry;
        size_t at = 0, cnt = 0;

        for (; kr_table_next(table, &at, &entry); cnt++) {
                const int32_t *list = NULL;
                int32_t found = kr_table_find_hash(table, &entry, &list);

                if (found >= table->partition_cnt || found == KR_TABLE_NONE)
                        abort();
                for (int32_t i = 1; list && i <= list[0]; i++)
                        if (list[i] < 0 || list[i] >= table->partition_cnt)
                                abort();
        }
        if (cnt != table->row_cnt)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct kr_split split = { .first_fields = 1, .delimiter_len = 1, .delimiter = "|" };
        static int file = -1;
        struct kr_table table = { .partition_cnt = 12 };
        struct kr_error err = { "" };
        char path[40];
        size_t twice;

        if (!size)
                return 0;
        if (file < 0)
                file = memfd_create("keys", 0);
        if (ftruncate(file, 0) || pwrite(file, data + 1, size - 1, 0) != (ssize_t)size - 1)
                abort();
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        table.hex = data[0] & 1;
        table.split = data[0] & 2 ? &split : NULL;
        if (kr_table_read(&table, path, &err)) {
                if (kr_table_seal(&table, &twice))
                        check_rows(&table);
                else if (twice >= table.row_cnt)
                        abort();
        } else if (!strstr(err.text, ": line ")) {
                abort();
        }
        kr_table_release(&table);
        return 0;
}
