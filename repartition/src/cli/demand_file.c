#include "cli/demand_file.h"

#include "cli/key_format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_MAX = 4, PARTITION_MAX = 1000000 };

typedef enum { KEY, GROUP, WEIGHT, PARTITION } column_t;

static const char *const names[COLUMN_MAX] = { "key", "group", "weight", "partition" };

struct reader {
        struct rp_demand *demand;
        const struct rp_demand_format *format;
        const struct rp_key_format *key_format;
        column_t columns[COLUMN_MAX];
        size_t column_cnt;
        struct rp_key key, group;
};

struct cell {
        const char *text;
        size_t len;
};

/* Splits at tabs. @returns how many cells there are, also when that is more than `max`. */
static size_t split(const char *line, size_t len, struct cell *cells, size_t max)
{
        size_t cnt = 0;

        for (const char *end = line + len;; cnt++) {
                const char *tab = memchr(line, '\t', (size_t)(end - line));

                if (cnt < max)
                        cells[cnt] = (struct cell){ line, (size_t)((tab ? tab : end) - line) };
                if (!tab)
                        return cnt + 1;
                line = tab + 1;
        }
}

static bool find_column(const struct cell *cell, column_t *column)
{
        for (int i = 0; i < COLUMN_MAX; i++)
                if (cell->len == strlen(names[i]) && !memcmp(cell->text, names[i], cell->len)) {
                        *column = (column_t)i;
                        return true;
                }
        return false;
}

static bool has_column(const struct reader *reader, column_t column)
{
        for (size_t i = 0; i < reader->column_cnt; i++)
                if (reader->columns[i] == column)
                        return true;
        return false;
}

/* True when the line is a heading; its columns are then known. A lone "weight" would be a key. */
static bool read_heading(struct reader *reader, const struct cell *cells, size_t cnt)
{
        column_t columns[COLUMN_MAX];
        bool is_named = false;

        if (cnt > COLUMN_MAX)
                return false;
        for (size_t i = 0; i < cnt; i++) {
                if (!find_column(&cells[i], &columns[i]))
                        return false;
                for (size_t j = 0; j < i; j++)
                        if (columns[j] == columns[i])
                                return false;
                is_named = is_named || columns[i] == KEY || columns[i] == GROUP;
        }
        if (!is_named)
                return false;
        memcpy(reader->columns, columns, sizeof(columns));
        reader->column_cnt = cnt;
        return true;
}

static rp_err_t choose_columns(struct reader *reader, size_t cnt, struct rp_error *err)
{
        static const column_t plain[] = { KEY, WEIGHT, PARTITION };

        if (cnt > 3)
                return rp_fail(err, RP_ERR_USAGE,
                               "expected a key, its weight and its partition at most, found %zu columns; "
                               "a first line of column names (key, group, weight, partition) says otherwise",
                               cnt);
        memcpy(reader->columns, plain, sizeof(plain));
        reader->column_cnt = cnt;
        return RP_OK;
}

static rp_err_t parse_weight(const struct cell *cell, double *weight, struct rp_error *err)
{
        char text[64], *end;

        if (cell->len < sizeof(text)) {
                memcpy(text, cell->text, cell->len);
                text[cell->len] = '\0';
                *weight = strtod(text, &end);
                /* Digits alone: no "nan", no "0x1p3", no leading blanks or signs. */
                if (cell->len && !text[strspn(text, "0123456789.eE+-")] && text[0] != '-' && text[0] != '+' && !*end &&
                    isfinite(*weight))
                        return RP_OK;
        }
        return rp_fail(err, RP_ERR_USAGE, "expected a weight of 0 or more, such as 12 or 0.5, found \"%.*s\"",
                       (int)(cell->len < 40 ? cell->len : 40), cell->text);
}

static rp_err_t parse_partition(const struct cell *cell, int32_t *partition, struct rp_error *err)
{
        int64_t value = 0;

        for (size_t i = 0; i < cell->len && value <= PARTITION_MAX; i++)
                value = cell->text[i] >= '0' && cell->text[i] <= '9' ? value * 10 + cell->text[i] - '0' : INT32_MAX;
        if (!cell->len || value >= PARTITION_MAX)
                return rp_fail(err, RP_ERR_USAGE, "expected a partition from 0 to 999999, found \"%.*s\"",
                               (int)(cell->len < 40 ? cell->len : 40), cell->text);
        *partition = (int32_t)value;
        return RP_OK;
}

bool rp_demand_add_key(struct rp_demand *demand, const void *key, size_t len, const char *delimiter, double weight,
                       int32_t partition)
{
        const char *found = delimiter && len ? memmem(key, len, delimiter, strlen(delimiter)) : NULL;

        if (!delimiter)
                return rp_demand_add(demand, key, len, NULL, 0, weight, partition);
        return rp_demand_add(demand, key, len, key, found ? (size_t)(found - (const char *)key) : len, weight,
                             partition);
}

static rp_err_t read_row(struct reader *reader, const struct cell *cells, size_t cnt, struct rp_error *err)
{
        const struct rp_key *key = NULL, *group = NULL;
        double weight = 1;
        int32_t partition = -1;
        rp_err_t rc = RP_OK;
        bool ok;

        if (cnt != reader->column_cnt)
                return rp_fail(err, RP_ERR_USAGE, "expected %zu column%s with tabs between, found %zu",
                               reader->column_cnt, reader->column_cnt == 1 ? "" : "s", cnt);
        for (size_t i = 0; rc == RP_OK && i < cnt; i++)
                switch (reader->columns[i]) {
                case KEY:
                        rc = rp_key_parse(reader->key_format, cells[i].text, cells[i].len, &reader->key, err);
                        key = &reader->key;
                        break;
                case GROUP:
                        rc = rp_key_parse(reader->key_format, cells[i].text, cells[i].len, &reader->group, err);
                        group = &reader->group;
                        break;
                case WEIGHT:
                        rc = parse_weight(&cells[i], &weight, err);
                        break;
                case PARTITION:
                        rc = parse_partition(&cells[i], &partition, err);
                        if (rc == RP_OK && reader->format->partition_cnt && partition >= reader->format->partition_cnt)
                                rc = rp_fail(err, RP_ERR_USAGE,
                                             "partition %" PRId32 " does not exist; with %" PRId32
                                             " partitions the last is %" PRId32,
                                             partition, reader->format->partition_cnt,
                                             reader->format->partition_cnt - 1);
                }
        if (rc != RP_OK)
                return rc;
        if (key && group)
                ok = rp_demand_add(reader->demand, key->data, key->len, group->data, group->len, weight, partition);
        else if (key)
                ok = rp_demand_add_key(reader->demand, key->data, key->len, reader->format->delimiter, weight,
                                       partition);
        else
                ok = rp_demand_add(reader->demand, group->data, group->len, NULL, 0, weight, partition);
        if (!ok)
                return rp_fail(err, RP_ERR_FATAL, "out of memory, or more than %d lines", RP_DEMAND_ROW_MAX);
        if (reader->format->is_one_place &&
            reader->demand->keys.list[reader->demand->rows[reader->demand->cnt - 1].key].is_torn)
                return rp_fail(err, RP_ERR_USAGE,
                               "this group has another partition in a line above; one that is split has a "
                               "line, and a name, for each part");
        return RP_OK;
}

static rp_err_t read_lines(struct reader *reader, FILE *in, const char *name, struct rp_error *err)
{
        struct rp_error why;
        uint64_t line_cnt = 0;
        char *line = NULL;
        size_t size = 0;
        ssize_t got;
        rp_err_t rc = RP_OK;

        while (rc == RP_OK && (got = getline(&line, &size, in)) >= 0) {
                struct cell cells[COLUMN_MAX];
                size_t len = (size_t)got, cnt;

                if (len && line[len - 1] == '\n')
                        len--;
                if (len && line[len - 1] == '\r')
                        len--;
                cnt = split(line, len, cells, COLUMN_MAX);
                if (++line_cnt == 1) {
                        if (read_heading(reader, cells, cnt))
                                continue;
                        rc = choose_columns(reader, cnt, &why);
                }
                if (rc == RP_OK)
                        rc = read_row(reader, cells, cnt, &why);
                if (rc != RP_OK)
                        rp_fail(err, rc, "%.200s: line %" PRIu64 ": %.280s", name, line_cnt, why.text);
        }
        if (rc == RP_OK && ferror(in))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line %" PRIu64 ": cannot read: %s", name, line_cnt + 1,
                             strerror(errno));
        else if (rc == RP_OK && !reader->demand->cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: expected at least one line with a key and its weight", name);
        else if (rc == RP_OK && reader->format->delimiter && has_column(reader, GROUP))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line 1: a column \"group\" and --delimiter exclude each other",
                             name);
        else if (rc == RP_OK && !rp_demand_seal(reader->demand))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: all weights are 0", name);
        free(line);
        return rc;
}

rp_err_t rp_demand_read(struct rp_demand *demand, const char *path, const struct rp_demand_format *format,
                        struct rp_error *err)
{
        struct reader reader = { .demand = demand,
                                 .format = format,
                                 .key_format = rp_key_format_find(format->key_format) };
        bool is_stdin = !strcmp(path, "-");
        FILE *in = is_stdin ? stdin : fopen(path, "r");
        rp_err_t rc;

        *demand = (struct rp_demand){ 0 };
        if (!in)
                return rp_fail(err, RP_ERR_USAGE, "%.200s: cannot read it: %s", path, strerror(errno));
        rc = read_lines(&reader, in, is_stdin ? "standard input" : path, err);
        rp_key_release(&reader.key);
        rp_key_release(&reader.group);
        if (!is_stdin)
                fclose(in);
        if (rc != RP_OK)
                rp_demand_release(demand);
        return rc;
}
