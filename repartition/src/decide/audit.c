#include "decide/audit.h"

#include "decide/forms.h"

#include <math.h>
#include <stdlib.h>

static const struct rp_place NOWHERE = { -1, -1, -1 };

rp_err_t rp_audit_init(struct rp_audit *audit, const kr_rule_t *rule, int32_t partition_cnt, size_t sample_keys,
                       struct rp_error *err)
{
        /* The bytes grow with the keys asked for: a key of 400 bytes or a dozen partitions each. */
        size_t sample_bytes = RP_SAMPLE_BYTES / RP_SAMPLE_KEYS * sample_keys;

        *audit = (struct rp_audit){ .rule = rule, .partition_cnt = partition_cnt, .sample_keys = sample_keys,
                                    .first_misplaced = NOWHERE };
        audit->partitions = calloc((size_t)partition_cnt, sizeof(*audit->partitions));
        audit->sample = rp_sample_new(sample_keys, sample_bytes > RP_SAMPLE_BYTES ? sample_bytes : RP_SAMPLE_BYTES);
        audit->heavy = rp_heavy_new();
        if (!audit->partitions || !audit->sample || !audit->heavy) {
                rp_audit_release(audit);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        for (int32_t p = 0; p < partition_cnt; p++)
                audit->partitions[p].first_misplaced = audit->partitions[p].last_misplaced = NOWHERE;
        return RP_OK;
}

void rp_audit_release(struct rp_audit *audit)
{
        free(audit->partitions);
        rp_sample_free(audit->sample);
        rp_heavy_free(audit->heavy);
        *audit = (struct rp_audit){ 0 };
}

static bool is_earlier(const struct rp_place *a, const struct rp_place *b)
{
        if (b->partition < 0)
                return true;
        if (a->time_ms != b->time_ms)
                return a->time_ms < b->time_ms;
        return a->partition != b->partition ? a->partition < b->partition : a->offset < b->offset;
}

static void add_misplaced(struct rp_audit *audit, const struct rp_record *rec)
{
        struct rp_audit_partition *partition = &audit->partitions[rec->partition];
        struct rp_place place = { rec->partition, rec->offset, rec->timestamp_ms };

        audit->misplaced++;
        audit->misplaced_empty_keys += rec->key_len == 0;
        partition->misplaced++;
        if (partition->first_misplaced.partition < 0 || place.offset < partition->first_misplaced.offset)
                partition->first_misplaced = place;
        if (place.offset >= partition->last_misplaced.offset)
                partition->last_misplaced = place;
        if (is_earlier(&place, &audit->first_misplaced))
                audit->first_misplaced = place;
}

rp_err_t rp_audit_add(struct rp_audit *audit, const struct rp_record *rec, struct rp_error *err)
{
        struct rp_audit_partition *partition = &audit->partitions[rec->partition];
        struct kr_routing routing;

        audit->records++;
        audit->bytes += rec->key_len + rec->value_len;
        partition->records++;
        partition->bytes += rec->key_len + rec->value_len;
        if (!rec->key) {
                audit->null_keys++;
                return RP_OK;
        }
        kr_rule_route(audit->rule, rec->key, rec->key_len, audit->partition_cnt, &routing);
        if ((size_t)routing.outcome < RP_KEY_OUTCOMES)
                audit->key_outcomes[routing.outcome]++;
        if (routing.partition == KR_ERR_KEY_UNRESOLVED)
                audit->unresolved_keys++;
        else if (routing.partition < 0)
                audit->rejected_keys++;
        else if (routing.partition != rec->partition)
                add_misplaced(audit, rec);
        if (rec->key_len) {
                uint64_t hash = rp_sample_hash(rec->key, rec->key_len);

                audit->keyed++;
                rp_heavy_add(audit->heavy, hash, rec->key, rec->key_len);
                if (!rp_sample_add(audit->sample, hash, rec->key, rec->key_len, rec->partition, rec->timestamp_ms))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        } else {
                audit->empty_keys++;
        }
        return RP_OK;
}

static void merge_partition(struct rp_audit_partition *partition, const struct rp_audit_partition *from)
{
        partition->records += from->records;
        partition->bytes += from->bytes;
        partition->misplaced += from->misplaced;
        if (from->first_misplaced.partition >= 0 &&
            (partition->first_misplaced.partition < 0 || from->first_misplaced.offset < partition->first_misplaced.offset))
                partition->first_misplaced = from->first_misplaced;
        if (from->last_misplaced.offset > partition->last_misplaced.offset)
                partition->last_misplaced = from->last_misplaced;
}

rp_err_t rp_audit_merge(struct rp_audit *audit, const struct rp_audit *from, struct rp_error *err)
{
        for (int32_t p = 0; p < audit->partition_cnt; p++)
                merge_partition(&audit->partitions[p], &from->partitions[p]);
        audit->records += from->records;
        audit->bytes += from->bytes;
        audit->null_keys += from->null_keys;
        audit->empty_keys += from->empty_keys;
        audit->keyed += from->keyed;
        audit->rejected_keys += from->rejected_keys;
        audit->unresolved_keys += from->unresolved_keys;
        for (size_t i = 0; i < RP_KEY_OUTCOMES; i++)
                audit->key_outcomes[i] += from->key_outcomes[i];
        audit->misplaced += from->misplaced;
        audit->misplaced_empty_keys += from->misplaced_empty_keys;
        if (from->first_misplaced.partition >= 0 && is_earlier(&from->first_misplaced, &audit->first_misplaced))
                audit->first_misplaced = from->first_misplaced;
        rp_heavy_merge(audit->heavy, from->heavy);
        if (!rp_sample_merge(audit->sample, from->sample))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return RP_OK;
}

static rp_err_t measure(struct rp_audit *audit, struct rp_measures *measures, struct rp_error *err)
{
        double weight = rp_sample_weight(audit->sample);
        size_t cnt, split = 0, partition_cnt = (size_t)audit->partition_cnt;
        const struct rp_sample_key *keys = rp_sample_keys(audit->sample, &cnt);

        measures->partition_keys = calloc(partition_cnt, sizeof(*measures->partition_keys));
        measures->partition_records = calloc(partition_cnt, sizeof(*measures->partition_records));
        if (!measures->partition_keys || !measures->partition_records)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < cnt; i++) {
                split += keys[i].cell_cnt > 1;
                for (size_t c = 0; c < keys[i].cell_cnt; c++)
                        measures->partition_keys[keys[i].cells[c].partition]++;
        }
        for (size_t p = 0; p < partition_cnt; p++) {
                measures->partition_keys[p] = (uint64_t)llround((double)measures->partition_keys[p] * weight);
                measures->partition_records[p] = audit->partitions[p].records;
        }
        measures->split_keys = (uint64_t)llround((double)split * weight);
        measures->distinct_keys = rp_sample_distinct(audit->sample, &measures->distinct_error);
        measures->heaviest_cnt = rp_heavy_top(audit->heavy, measures->heaviest, RP_HEAVIEST);
        if (!rp_skew_measure(measures->partition_records, partition_cnt, measures->distinct_keys,
                             measures->heaviest[0].records, &measures->skew))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return RP_OK;
}

/* Who placed the keys; when plain functions leave some unexplained, once more with forms of the key that stand out. */
static rp_err_t explain(struct rp_audit *audit, struct rp_findings *findings, struct rp_error *err)
{
        size_t cnt;
        const struct rp_sample_key *keys = rp_sample_keys(audit->sample, &cnt);
        rp_err_t rc = rp_explain(keys, cnt, audit->partition_cnt, &findings->ways, &findings->found, err);

        if (rc != RP_OK || !rp_forms_add(&findings->ways, &findings->found, keys, cnt, audit->partition_cnt))
                return rc;
        rp_explanation_release(&findings->found);
        return rp_explain(keys, cnt, audit->partition_cnt, &findings->ways, &findings->found, err);
}

rp_err_t rp_audit_conclude(struct rp_audit *audit, struct rp_findings *findings, struct rp_error *err)
{
        size_t cnt;
        const struct rp_sample_key *keys = rp_sample_keys(audit->sample, &cnt);

        *findings = (struct rp_findings){ 0 };
        if (measure(audit, &findings->measures, err) == RP_OK &&
            rp_ways_init(&findings->ways, audit->rule, audit->partition_cnt, err) == RP_OK &&
            explain(audit, findings, err) == RP_OK &&
            rp_frames_find(keys, cnt, rp_sample_weight(audit->sample), kr_rule_hash(audit->rule), audit->partition_cnt,
                           &findings->frames, err) == RP_OK)
                return RP_OK;
        rp_findings_release(findings);
        return err->code;
}

void rp_findings_release(struct rp_findings *findings)
{
        free(findings->measures.partition_keys);
        free(findings->measures.partition_records);
        rp_explanation_release(&findings->found);
        rp_ways_release(&findings->ways);
        *findings = (struct rp_findings){ 0 };
}
