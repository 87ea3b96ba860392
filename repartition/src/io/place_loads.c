/* The third part of io/place_files.h: what partitions weigh. */
#include "io/place_files.h"

#include "io/text_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITION_MAX = 999999 };
#define WEIGHT_MAX INT64_C(1000000000000000) /* a petabyte; the sum over all partitions stays within 64 bits */

static bool add_load(struct rp_loads *loads, const char *topic, int32_t partition, uint64_t weight)
{
        struct rp_load load = { .partition = partition, .weight = weight };

        if (!(loads->cnt & (loads->cnt - 1))) {
                struct rp_load *grown = realloc(loads->items, (loads->cnt ? 2 * loads->cnt : 1) * sizeof(*grown));

                if (!grown)
                        return false;
                loads->items = grown;
        }
        load.topic = topic ? strdup(topic) : NULL;
        if (topic && !load.topic)
                return false;
        loads->items[loads->cnt++] = load;
        return true;
}

static rp_err_t measure_in(struct rp_loads *loads, const char *unit, const char *path, struct rp_error *err)
{
        if (loads->unit && strcmp(loads->unit, unit))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: it measures %s and a file before it %s; the loads of one plan "
                               "need one unit", path, unit, loads->unit);
        loads->unit = unit;
        return RP_OK;
}

/* ---- an audit --------------------------------------------------------------------------------------------------- */

static rp_err_t read_audit(struct rp_loads *loads, const json_t *audit, const char *path, struct rp_error *err)
{
        const json_t *topic = json_object_get(audit, "topic"), *rows = json_object_get(audit, "per_partition");
        bool has_bytes = json_object_get(json_array_get(rows, 0), "bytes");
        const char *unit = has_bytes ? "bytes" : "records";
        rp_err_t rc;

        if (!json_is_array(rows) || !json_array_size(rows))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: per_partition: expected a list, as in what repartition audit "
                               "--output json prints", path);
        rc = measure_in(loads, unit, path, err);
        for (size_t i = 0; rc == RP_OK && i < json_array_size(rows); i++) {
                const json_t *row = json_array_get(rows, i), *partition = json_object_get(row, "partition"),
                             *weight = json_object_get(row, unit);

                if (!json_is_integer(partition) || json_integer_value(partition) < 0 ||
                    json_integer_value(partition) > PARTITION_MAX)
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: per_partition[%zu].partition: expected a whole number from "
                                     "0 to %d", path, i, PARTITION_MAX);
                else if (!json_is_integer(weight) || json_integer_value(weight) < 0 ||
                         json_integer_value(weight) > WEIGHT_MAX)
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: per_partition[%zu].%s: expected a whole number from 0 to "
                                     "%" PRId64, path, i, unit, WEIGHT_MAX);
                else if (json_is_true(json_object_get(row, "skipped")))
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: per_partition[%zu].skipped: partition %" PRId64
                                     " was not read; audit the whole topic", path, i,
                                     (int64_t)json_integer_value(partition));
                else if (!add_load(loads, json_string_value(topic), (int32_t)json_integer_value(partition),
                                   (uint64_t)json_integer_value(weight)))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        return rc;
}

/* ---- kafka-log-dirs --------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
        const struct rp_load *x = a, *y = b;
        int order = strcmp(x->topic ? x->topic : "", y->topic ? y->topic : "");

        return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static rp_err_t read_replica(struct rp_loads *loads, const json_t *replica, const char *where, struct rp_error *err)
{
        const char *name = json_string_value(json_object_get(replica, "partition"));
        const json_t *size = json_object_get(replica, "size");
        const char *dash = name ? strrchr(name, '-') : NULL;
        char *topic, *end = NULL;
        int64_t partition = dash ? strtoll(dash + 1, &end, 10) : -1;
        bool ok;

        if (!dash || dash == name || dash[1] < '0' || dash[1] > '9' || *end || partition > PARTITION_MAX)
                return rp_fail(err, RP_ERR_USAGE, "%s.partition: expected a topic and a number, such as \"orders-0\"", where);
        if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > WEIGHT_MAX)
                return rp_fail(err, RP_ERR_USAGE, "%s.size: expected a whole number from 0 to %" PRId64, where, WEIGHT_MAX);
        if (json_is_true(json_object_get(replica, "isFuture")))
                return RP_OK; /* a copy under way between two disks of a broker */
        topic = strndup(name, (size_t)(dash - name));
        ok = topic && add_load(loads, topic, (int32_t)partition, (uint64_t)json_integer_value(size));
        free(topic);
        return ok ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* Of a partition's replicas, which differ while they catch up and are cleaned, the largest counts. */
static void keep_largest(struct rp_loads *loads, size_t from)
{
        size_t kept = from;

        if (loads->cnt > from)
                qsort(loads->items + from, loads->cnt - from, sizeof(*loads->items), by_place);
        for (size_t i = from; i < loads->cnt; i++) {
                struct rp_load *last = kept > from ? &loads->items[kept - 1] : NULL;

                if (last && !by_place(last, &loads->items[i])) {
                        if (loads->items[i].weight > last->weight)
                                last->weight = loads->items[i].weight;
                        free(loads->items[i].topic);
                } else {
                        loads->items[kept++] = loads->items[i];
                }
        }
        loads->cnt = kept;
}

static rp_err_t read_log_dirs(struct rp_loads *loads, const json_t *document, const char *path, struct rp_error *err)
{
        const json_t *brokers = json_object_get(document, "brokers");
        struct rp_loads found = { 0 };
        char where[300];
        rp_err_t rc = measure_in(loads, "bytes", path, err);

        for (size_t b = 0; rc == RP_OK && b < json_array_size(brokers); b++) {
                const json_t *dirs = json_object_get(json_array_get(brokers, b), "logDirs");

                if (!json_is_array(dirs))
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: brokers[%zu].logDirs: expected a list, as kafka-log-dirs "
                                     "--describe prints it", path, b);
                for (size_t d = 0; rc == RP_OK && d < json_array_size(dirs); d++) {
                        const json_t *replicas = json_object_get(json_array_get(dirs, d), "partitions");

                        for (size_t i = 0; rc == RP_OK && i < json_array_size(replicas); i++) {
                                snprintf(where, sizeof(where), "%.200s: brokers[%zu].logDirs[%zu].partitions[%zu]", path, b,
                                         d, i);
                                rc = read_replica(&found, json_array_get(replicas, i), where, err);
                        }
                }
        }
        keep_largest(&found, 0);
        for (size_t i = 0; rc == RP_OK && i < found.cnt; i++)
                if (!add_load(loads, found.items[i].topic, found.items[i].partition, found.items[i].weight))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        rp_loads_release(&found);
        return rc;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static bool read_whole(const char *text, int64_t most, int64_t *out)
{
        if (!*text || strlen(text) > 16 || strspn(text, "0123456789") != strlen(text))
                return false;
        *out = strtoll(text, NULL, 10);
        return *out <= most;
}

static rp_err_t read_line(struct rp_loads *loads, char *line, const char *path, size_t number, struct rp_error *err)
{
        char *fields[3];
        int64_t partition, weight;
        size_t cnt = 0, at;
        char *field;

        while ((field = strsep(&line, "\t")) && cnt < 3)
                fields[cnt++] = field;
        if (cnt < 2 || field)
                return rp_fail(err, RP_ERR_USAGE, "%.200s: line %zu: expected PARTITION and WEIGHT, or TOPIC, PARTITION and "
                               "WEIGHT, with tabs between", path, number);
        at = cnt - 2;
        if (at && !*fields[0])
                return rp_fail(err, RP_ERR_USAGE, "%.200s: line %zu: the topic is empty", path, number);
        if (!read_whole(fields[at], PARTITION_MAX, &partition))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: line %zu: expected a partition from 0 to %d, got \"%.40s\"", path,
                               number, PARTITION_MAX, fields[at]);
        if (!read_whole(fields[at + 1], WEIGHT_MAX, &weight))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: line %zu: expected a weight, a whole number from 0 to %" PRId64
                               ", got \"%.40s\"", path, number, WEIGHT_MAX, fields[at + 1]);
        if (!add_load(loads, at ? fields[0] : NULL, (int32_t)partition, (uint64_t)weight))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return RP_OK;
}

static rp_err_t read_lines(struct rp_loads *loads, char *text, size_t len, const char *path, struct rp_error *err)
{
        rp_err_t rc = measure_in(loads, "weight", path, err);
        char *rest = text, *line;

        if (rc == RP_OK && strlen(text) != len)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: expected text, found a NUL byte", path);
        for (size_t number = 1; rc == RP_OK && (line = strsep(&rest, "\n")); number++) {
                size_t line_len = strlen(line);

                if (line_len && line[line_len - 1] == '\r')
                        line[line_len - 1] = '\0';
                if (*line && *line != '#')
                        rc = read_line(loads, line, path, number, err);
        }
        return rc;
}

/* ---- any of these ----------------------------------------------------------------------------------------------- */

static rp_err_t check_loads(struct rp_loads *loads, const char *path, struct rp_error *err)
{
        uint64_t total = 0;

        if (!loads->cnt)
                return rp_fail(err, RP_ERR_USAGE, "%.200s: it names no partition", path);
        qsort(loads->items, loads->cnt, sizeof(*loads->items), by_place);
        for (size_t i = 0; i < loads->cnt; i++) {
                const struct rp_load *load = &loads->items[i];

                total += load->weight;
                if (total > INT64_MAX)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: the weights add up to more than %" PRId64, path,
                                       INT64_MAX);
                if (i && !by_place(load, load - 1))
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: partition %" PRId32 "%s%.100s has two weights", path,
                                       load->partition, load->topic ? " of " : "", load->topic ? load->topic : "");
        }
        return RP_OK;
}

rp_err_t rp_loads_load(struct rp_loads *loads, const char *path, struct rp_error *err)
{
        json_t *document;
        char *text;
        size_t len;
        rp_err_t rc = rp_text_load(&text, &len, path, "load", err);

        if (rc != RP_OK)
                return rc;
        if (*(text + strspn(text, " \t\r\n")) == '{' || strstr(text, "\n{")) {
                rc = rp_json_load(&document, path, "load", text, err);
                if (rc == RP_OK)
                        rc = json_is_array(json_object_get(document, "brokers"))
                                     ? read_log_dirs(loads, document, path, err)
                                     : read_audit(loads, document, path, err);
                json_decref(document);
        } else {
                rc = read_lines(loads, text, len, path, err);
                free(text);
        }
        if (rc == RP_OK)
                rc = check_loads(loads, path, err);
        rp_one_line(err, rc);
        return rc;
}

void rp_loads_release(struct rp_loads *loads)
{
        for (size_t i = 0; i < loads->cnt; i++)
                free(loads->items[i].topic);
        free(loads->items);
        *loads = (struct rp_loads){ 0 };
}
