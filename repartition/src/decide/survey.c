#include "decide/survey.h"

#include "decide/target.h"

#include <stdlib.h>
#include <xxhash.h>

enum { SLOT_CNT = 1 << 18, KEY_MAX = SLOT_CNT / 2 }; /* 4 MiB, however large the topic */

/* Short records cost by their number, long ones by their bytes. */
enum {
        SAMPLE_RECORDS = 100000, /* of a topic of more than twice as many, */
        SAMPLE_BYTES = 64 << 20, /* or of more than twice as many bytes */
        PROBE_RECORDS = 600,     /* looked at first, of all partitions together */
};

struct rp_survey_slot {
        uint64_t hash; /* 0: empty */
        int32_t partition;
        bool is_split;
};

bool rp_survey_init(struct rp_survey *survey)
{
        int32_t pin = kr_rule_partitions(survey->rule);

        survey->misplaced_is_known = !pin || rp_topics_all_have(survey->topics, survey->source_cnt, pin);
        survey->oldest_ms = survey->newest_ms = -1;
        survey->slot_cnt = SLOT_CNT;
        survey->slots = calloc(survey->slot_cnt, sizeof(*survey->slots));
        survey->partition_newest_ms = malloc((size_t)survey->source_cnt * sizeof(*survey->partition_newest_ms));
        for (int32_t p = 0; survey->partition_newest_ms && p < survey->source_cnt; p++)
                survey->partition_newest_ms[p] = -1;
        return survey->slots && survey->partition_newest_ms;
}

void rp_survey_release(struct rp_survey *survey)
{
        free(survey->slots);
        free(survey->partition_newest_ms);
        survey->slots = NULL;
        survey->partition_newest_ms = NULL;
}

static void note_key(struct rp_survey *survey, const struct rp_record *rec)
{
        uint64_t hash = XXH3_64bits(rec->key, rec->key_len) | 1; /* 0 marks an empty slot */

        for (size_t at = hash >> 32;; at++) {
                struct rp_survey_slot *slot = &survey->slots[at & (survey->slot_cnt - 1)];

                if (slot->hash == hash) {
                        if (slot->partition != rec->partition && !slot->is_split) {
                                slot->is_split = true;
                                survey->split_keys++;
                        }
                        return;
                }
                if (slot->hash)
                        continue;
                if (survey->keys == KEY_MAX) {
                        survey->keys_are_capped = true;
                        return;
                }
                *slot = (struct rp_survey_slot){ .hash = hash, .partition = rec->partition };
                survey->keys++;
                return;
        }
}

/* A merge by time takes the partitions' next records: it cannot look past one that is newer than those behind it. */
static void note_order(struct rp_survey *survey, const struct rp_record *rec)
{
        int64_t *newest = &survey->partition_newest_ms[rec->partition];

        if (rec->timestamp_ms >= *newest) {
                *newest = rec->timestamp_ms;
                return;
        }
        survey->backward++;
        if (*newest - rec->timestamp_ms > survey->step_back_ms)
                survey->step_back_ms = *newest - rec->timestamp_ms;
}

void rp_survey_add(struct rp_survey *survey, const struct rp_record *rec)
{
        uint64_t bytes = rec->key_len + rec->value_len;

        survey->records++;
        survey->bytes += bytes;
        if (bytes > survey->largest_bytes)
                survey->largest_bytes = bytes;
        if (rec->timestamp_ms < 0) {
                survey->timeless++;
        } else {
                survey->expired += rec->timestamp_ms < survey->cutoff_ms;
                if (survey->oldest_ms < 0 || rec->timestamp_ms < survey->oldest_ms)
                        survey->oldest_ms = rec->timestamp_ms;
                if (rec->timestamp_ms > survey->newest_ms)
                        survey->newest_ms = rec->timestamp_ms;
                note_order(survey, rec);
        }
        if (!rec->key) {
                survey->keyless++;
                return;
        }
        int32_t partition = rp_topics_partition(survey->topics, rec->partition);
        int32_t to = rp_target(survey->rule, rec, partition, survey->target_cnt);

        survey->unresolved += to == KR_ERR_KEY_UNRESOLVED;
        survey->rejected += to < 0 && to != KR_ERR_KEY_UNRESOLVED;
        survey->moved += to >= 0 && to != partition;
        if (survey->misplaced_is_known) {
                int32_t home = kr_rule_partition(survey->rule, rec->key, rec->key_len,
                                                 rp_topics_count(survey->topics, survey->source_cnt, rec->partition));

                survey->misplaced += home >= 0 && home != partition;
        }
        if (survey->exact)
                survey->has_failed |= !rp_split_add(survey->exact, rec->key, rec->key_len, rec->partition);
        else
                note_key(survey, rec);
}

int64_t rp_survey_probe(int32_t partition_cnt)
{
        return 1 + PROBE_RECORDS / partition_cnt;
}

int64_t rp_survey_chunk(const struct rp_survey *survey, uint64_t left, int places)
{
        uint64_t mean = survey->records ? survey->bytes / survey->records : 0;
        uint64_t enough = mean && SAMPLE_BYTES / mean < SAMPLE_RECORDS ? SAMPLE_BYTES / mean : SAMPLE_RECORDS;

        return left <= 2 * enough ? INT64_MAX : (int64_t)(enough / (uint64_t)places / (uint64_t)survey->source_cnt) + 1;
}
