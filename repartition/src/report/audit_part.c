#include "report/audit_part.h"

#include "base64.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static json_t *hash_json(uint64_t hash)
{
        return json_sprintf("%016" PRIx64, hash);
}

static json_t *bytes_json(const void *data, size_t len)
{
        char *text = malloc(rp_base64_encoded_size(len) + 1);
        json_t *json;

        if (!text)
                abort();
        rp_base64_encode(data, len, text);
        json = json_string(text);
        free(text);
        return json;
}

static json_t *rows_json(const struct rp_audit_report *report)
{
        json_t *rows = json_array();

        for (int32_t p = 0; p < report->audit->partition_cnt; p++) {
                const struct rp_audit_partition *partition = &report->audit->partitions[p];
                const struct rp_coverage *cover = &report->coverage[p];

                if (cover->skipped)
                        continue;
                json_array_append_new(
                        rows, json_pack("[i, I, I, I, I, I, I, I, I, I, I, I]", (int)p, (json_int_t)cover->first,
                                        (json_int_t)cover->end, (json_int_t)cover->next, (json_int_t)cover->lost,
                                        (json_int_t)partition->records, (json_int_t)partition->bytes,
                                        (json_int_t)partition->misplaced, (json_int_t)partition->first_misplaced.offset,
                                        (json_int_t)partition->first_misplaced.time_ms,
                                        (json_int_t)partition->last_misplaced.offset,
                                        (json_int_t)partition->last_misplaced.time_ms));
        }
        return rows;
}

static json_t *keys_json(rp_sample_t *sample)
{
        size_t cnt;
        const struct rp_sample_key *keys = rp_sample_keys(sample, &cnt);
        json_t *list = json_array();

        for (size_t i = 0; i < cnt; i++) {
                json_t *cells = json_array();

                for (size_t c = 0; c < keys[i].cell_cnt; c++) {
                        const struct rp_cell *cell = &keys[i].cells[c];

                        json_array_append_new(cells, json_pack("[i, I, I, I]", (int)cell->partition,
                                                               (json_int_t)cell->records, (json_int_t)cell->first_ms,
                                                               (json_int_t)cell->last_ms));
                }
                json_array_append_new(list, json_pack("[o, I, o, o]", hash_json(keys[i].hash), (json_int_t)keys[i].key_len,
                                                      keys[i].key ? bytes_json(keys[i].key, keys[i].key_len) : json_null(),
                                                      cells));
        }
        return list;
}

static json_t *heavy_json(const rp_heavy_t *heavy)
{
        const struct rp_heavy_key *counter;
        json_t *list = json_array();

        for (size_t i = 0; (counter = rp_heavy_at(heavy, i)); i++)
                json_array_append_new(
                        list, json_pack("[o, I, I, o]", hash_json(counter->hash), (json_int_t)counter->records,
                                        (json_int_t)counter->key_len,
                                        bytes_json(counter->key, counter->key_len < RP_HEAVY_KEY_MAX ? counter->key_len
                                                                                                     : RP_HEAVY_KEY_MAX)));
        return list;
}

json_t *rp_audit_part_json(const struct rp_audit_report *report, size_t sample_keys)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_place *first = &audit->first_misplaced;
        json_t *json = json_object(), *outcomes = json_array();
        uint64_t threshold;
        bool is_cut = rp_sample_threshold(audit->sample, &threshold);

        for (size_t i = 0; i < RP_KEY_OUTCOMES; i++)
                json_array_append_new(outcomes, json_integer((json_int_t)audit->key_outcomes[i]));
        json_object_set_new(json, "client_args", json_string(report->client_args));
        json_object_set_new(json, "policy_file", report->policy_file ? json_string(report->policy_file) : json_null());
        json_object_set_new(json, "hash", report->hash ? json_string(report->hash) : json_null());
        json_object_set_new(json, "as_of_ms", json_integer(report->as_of_ms));
        json_object_set_new(json, "sample_keys", json_integer((json_int_t)sample_keys));
        json_object_set_new(json, "counts",
                            json_pack("[I, I, I, I, I, I, I, I, I]", (json_int_t)audit->records, (json_int_t)audit->bytes,
                                      (json_int_t)audit->null_keys, (json_int_t)audit->empty_keys, (json_int_t)audit->keyed,
                                      (json_int_t)audit->rejected_keys, (json_int_t)audit->unresolved_keys,
                                      (json_int_t)audit->misplaced, (json_int_t)audit->misplaced_empty_keys));
        json_object_set_new(json, "key_outcomes", outcomes);
        json_object_set_new(json, "first_misplaced", json_pack("[i, I, I]", (int)first->partition, (json_int_t)first->offset,
                                                               (json_int_t)first->time_ms));
        json_object_set_new(json, "rows", rows_json(report));
        json_object_set_new(json, "threshold", is_cut ? hash_json(threshold) : json_null());
        json_object_set_new(json, "keys", keys_json(audit->sample));
        json_object_set_new(json, "heavy_error", json_integer((json_int_t)rp_heavy_error(audit->heavy)));
        json_object_set_new(json, "heavy", heavy_json(audit->heavy));
        return json;
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

static rp_err_t fail_form(const char *path, const char *what, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_USAGE, "%.200s: %.200s: this is not a part as audit --partitions --output json writes it",
                       path, what);
}

/* Exactly cnt whole numbers. */
static bool read_numbers(const json_t *array, int64_t *numbers, size_t cnt)
{
        if (json_array_size(array) != cnt)
                return false;
        for (size_t i = 0; i < cnt; i++) {
                const json_t *number = json_array_get(array, i);

                if (!json_is_integer(number))
                        return false;
                numbers[i] = json_integer_value(number);
        }
        return true;
}

static bool read_hash(const json_t *json, uint64_t *hash)
{
        const char *text = json_string_value(json);

        return text && strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16 && sscanf(text, "%" SCNx64, hash) == 1;
}

/* *data is the caller's to free(), with one byte more than *len. */
static bool read_bytes(const json_t *json, unsigned char **data, size_t *len)
{
        const char *text = json_string_value(json);

        *data = NULL;
        if (!text)
                return false;
        *data = malloc(rp_base64_decoded_size(json_string_length(json)) + 1);
        if (*data && rp_base64_decode(text, json_string_length(json), *data, len))
                return true;
        free(*data);
        *data = NULL;
        return false;
}

rp_err_t rp_audit_part_read(struct rp_audit_part *part, const json_t *document, const char *path, struct rp_error *err)
{
        const json_t *json;
        json_error_t why;
        json_int_t as_of_ms, sample_keys;
        int cnt;

        *part = (struct rp_audit_part){ 0 };
        if (json_unpack_ex((json_t *)document, &why, 0, "{s:s, s:i, s:{s:s, s:s}, s:{s:s, s:I, s:I}}", "topic",
                           &part->topic, "partitions", &cnt, "policy", "fingerprint", &part->fingerprint, "rule", &part->rule,
                           "part", "client_args", &part->client_args, "as_of_ms", &as_of_ms, "sample_keys", &sample_keys))
                return fail_form(path, why.text, err);
        json = json_object_get(document, "part");
        part->policy_file = json_string_value(json_object_get(json, "policy_file"));
        part->hash = json_string_value(json_object_get(json, "hash"));
        if (cnt < 1 || sample_keys < 1 || sample_keys > 10000000)
                return fail_form(path, "partitions or sample_keys", err);
        part->partition_cnt = cnt;
        part->as_of_ms = as_of_ms;
        part->sample_keys = (size_t)sample_keys;
        return RP_OK;
}

static rp_err_t load_counts(const json_t *part, const char *path, struct rp_audit *audit, struct rp_error *err)
{
        int64_t counts[9], outcomes[RP_KEY_OUTCOMES], first[3];

        if (!read_numbers(json_object_get(part, "counts"), counts, 9))
                return fail_form(path, "counts", err);
        if (!read_numbers(json_object_get(part, "key_outcomes"), outcomes, RP_KEY_OUTCOMES))
                return fail_form(path, "key_outcomes", err);
        if (!read_numbers(json_object_get(part, "first_misplaced"), first, 3) || first[0] >= audit->partition_cnt)
                return fail_form(path, "first_misplaced", err);
        audit->records = (uint64_t)counts[0];
        audit->bytes = (uint64_t)counts[1];
        audit->null_keys = (uint64_t)counts[2];
        audit->empty_keys = (uint64_t)counts[3];
        audit->keyed = (uint64_t)counts[4];
        audit->rejected_keys = (uint64_t)counts[5];
        audit->unresolved_keys = (uint64_t)counts[6];
        audit->misplaced = (uint64_t)counts[7];
        audit->misplaced_empty_keys = (uint64_t)counts[8];
        for (size_t i = 0; i < RP_KEY_OUTCOMES; i++)
                audit->key_outcomes[i] = (uint64_t)outcomes[i];
        audit->first_misplaced = (struct rp_place){ first[0] < 0 ? -1 : (int32_t)first[0], first[1], first[2] };
        return RP_OK;
}

static rp_err_t load_rows(const json_t *part, const char *path, struct rp_audit *audit, struct rp_coverage *coverage,
                          struct rp_error *err)
{
        const json_t *rows = json_object_get(part, "rows"), *json;
        size_t i;

        if (!json_is_array(rows))
                return fail_form(path, "rows", err);
        for (int32_t p = 0; p < audit->partition_cnt; p++)
                coverage[p] = (struct rp_coverage){ .skipped = true };
        json_array_foreach(rows, i, json) {
                struct rp_audit_partition *partition;
                int64_t row[12];
                int32_t p;

                if (!read_numbers(json, row, 12) || row[0] < 0 || row[0] >= audit->partition_cnt || !coverage[row[0]].skipped)
                        return fail_form(path, "rows", err);
                p = (int32_t)row[0];
                partition = &audit->partitions[p];
                coverage[p] = (struct rp_coverage){ .first = row[1], .end = row[2], .next = row[3], .lost = row[4] };
                partition->records = (uint64_t)row[5];
                partition->bytes = (uint64_t)row[6];
                partition->misplaced = (uint64_t)row[7];
                if (!partition->misplaced)
                        continue;
                partition->first_misplaced = (struct rp_place){ p, row[8], row[9] };
                partition->last_misplaced = (struct rp_place){ p, row[10], row[11] };
        }
        return RP_OK;
}

/* [hash, length, bytes or null, [[partition, records, first, last], ...]]. false when it is not, or memory is out. */
static bool load_key(const json_t *json, struct rp_audit *audit)
{
        const json_t *bytes = json_array_get(json, 2), *cells = json_array_get(json, 3), *cell;
        int64_t key_len = json_integer_value(json_array_get(json, 1));
        unsigned char *key = NULL;
        size_t len = (size_t)key_len, i;
        uint64_t hash;
        bool ok = json_array_size(json) == 4 && read_hash(json_array_get(json, 0), &hash) && json_array_size(cells) > 0 &&
                  key_len > 0;

        ok = ok && (json_is_null(bytes) ? key_len > RP_SAMPLE_KEY_MAX : read_bytes(bytes, &key, &len));
        ok = ok && (!key || (len == (size_t)key_len && hash == rp_sample_hash(key, len)));
        json_array_foreach(cells, i, cell) {
                int64_t row[4];

                ok = ok && read_numbers(cell, row, 4) && row[0] >= 0 && row[0] < audit->partition_cnt && row[1] > 0;
                if (ok) {
                        struct rp_cell one = { (int32_t)row[0], (uint64_t)row[1], row[2], row[3] };

                        ok = rp_sample_put(audit->sample, hash, key, len, &one);
                }
        }
        free(key);
        return ok;
}

static rp_err_t load_sample(const json_t *part, const char *path, struct rp_audit *audit, struct rp_error *err)
{
        const json_t *threshold = json_object_get(part, "threshold"), *keys = json_object_get(part, "keys"), *json;
        uint64_t hash = 0;
        size_t i;

        if (!json_is_array(keys) || (!json_is_null(threshold) && !read_hash(threshold, &hash)))
                return fail_form(path, "keys or threshold", err);
        json_array_foreach(keys, i, json) {
                if (!load_key(json, audit))
                        return fail_form(path, "keys", err);
        }
        if (!json_is_null(threshold))
                rp_sample_cut(audit->sample, hash);
        return RP_OK;
}

static bool load_counter(const json_t *json, rp_heavy_t *heavy)
{
        struct rp_heavy_key counter = { 0 };
        int64_t records = json_integer_value(json_array_get(json, 1)), key_len = json_integer_value(json_array_get(json, 2));
        unsigned char *key = NULL;
        size_t len = 0;
        bool ok = json_array_size(json) == 4 && read_hash(json_array_get(json, 0), &counter.hash) && records > 0 &&
                  key_len > 0 && read_bytes(json_array_get(json, 3), &key, &len) &&
                  len == (key_len < RP_HEAVY_KEY_MAX ? (size_t)key_len : RP_HEAVY_KEY_MAX);

        if (ok) {
                counter.records = (uint64_t)records;
                counter.key_len = (size_t)key_len;
                memcpy(counter.key, key, len);
                rp_heavy_put(heavy, &counter);
        }
        free(key);
        return ok;
}

static rp_err_t load_heavy(const json_t *part, const char *path, struct rp_audit *audit, struct rp_error *err)
{
        const json_t *error = json_object_get(part, "heavy_error"), *counters = json_object_get(part, "heavy"), *json;
        size_t i;

        if (!json_is_integer(error) || json_integer_value(error) < 0 || !json_is_array(counters))
                return fail_form(path, "heavy", err);
        json_array_foreach(counters, i, json) {
                if (!load_counter(json, audit->heavy))
                        return fail_form(path, "heavy", err);
        }
        rp_heavy_widen(audit->heavy, (uint64_t)json_integer_value(error));
        return RP_OK;
}

rp_err_t rp_audit_part_load(const json_t *document, const char *path, struct rp_audit *audit, struct rp_coverage *coverage,
                            struct rp_error *err)
{
        const json_t *part = json_object_get(document, "part");
        rp_err_t rc = load_counts(part, path, audit, err);

        if (rc == RP_OK)
                rc = load_rows(part, path, audit, coverage, err);
        if (rc == RP_OK)
                rc = load_sample(part, path, audit, err);
        return rc == RP_OK ? load_heavy(part, path, audit, err) : rc;
}
