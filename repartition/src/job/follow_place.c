#include "job/follow_place.h"

#include "clock.h"
#include "job/follow_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_MS = 100, OPEN_PAUSE_MS = 100 };

/* What was read of a right partition, the last contiguous part of it. */
struct window {
        int64_t from, to; /* both 0: nothing */
        bool has_more;    /* something before `from` was read as well, which lies apart */
        int64_t asked;    /* by this run: the first offset that is as late as its earliest record */
        bool is_wanted;   /* by this run */
        bool is_cut;      /* `from` is behind `asked` */
};

struct candidate {
        size_t index;     /* of the record in the run */
        int32_t to;
        rp_class_t class;
        bool needs_past, is_too_old;
};

struct rp_follow_place {
        struct rp_follow_place_config config;
        rp_tail_t *tail;
        struct window *windows;
        struct rp_reader *committed, *uncommitted;
        struct rp_range *closed, *open, *ranges;
        int64_t *offsets;
        int64_t *given_up; /* by right partition: the stable end at which a wait for open transactions was over */
        struct candidate *candidates;
        size_t candidate_cnt, candidate_cap;
        struct rp_follow_place_counts total, pending;
        struct rp_record dressed;
        struct rp_header *headers;
        size_t header_cap;
        char origin[RP_ORIGIN_SIZE];
};

void rp_follow_place_free(struct rp_follow_place *place)
{
        if (!place)
                return;
        rp_tail_free(place->tail);
        rp_reader_free(place->committed);
        rp_reader_free(place->uncommitted);
        free(place->windows);
        free(place->closed);
        free(place->open);
        free(place->ranges);
        free(place->offsets);
        free(place->given_up);
        free(place->candidates);
        free(place->headers);
        free(place);
}

struct rp_follow_place *rp_follow_place_new(const struct rp_follow_place_config *config)
{
        struct rp_follow_place *place = calloc(1, sizeof(*place));
        size_t cnt = (size_t)config->partition_cnt;

        if (!place)
                return NULL;
        place->config = *config;
        place->tail = rp_tail_new(config->topic);
        place->committed = rp_reader_new(config->committed, RP_READ_ANY);
        place->uncommitted = rp_reader_new(config->uncommitted, RP_READ_ANY);
        place->windows = calloc(cnt, sizeof(*place->windows));
        place->closed = calloc(cnt, sizeof(*place->closed));
        place->open = calloc(cnt, sizeof(*place->open));
        place->ranges = calloc(cnt, sizeof(*place->ranges));
        place->offsets = calloc(cnt, sizeof(*place->offsets));
        place->given_up = malloc(cnt * sizeof(*place->given_up));
        for (size_t p = 0; place->given_up && p < cnt; p++)
                place->given_up[p] = -1;
        if (place->tail && place->committed && place->uncommitted && place->windows && place->closed && place->open &&
            place->ranges && place->offsets && place->given_up)
                return place;
        rp_follow_place_free(place);
        return NULL;
}

const struct rp_follow_place_counts *rp_follow_place_counts(const struct rp_follow_place *place)
{
        return &place->total;
}

/* ---- reading right partitions ---------------------------------------------------------------------------------------- */

typedef bool add_fn(rp_tail_t *tail, const struct rp_record *rec);

static bool add_closed(rp_tail_t *tail, const struct rp_record *rec)
{
        return rp_tail_add(tail, rec, false);
}

static bool add_open(rp_tail_t *tail, const struct rp_record *rec)
{
        return rp_tail_add(tail, rec, true);
}

/* Reads place->ranges and tells what is in its right place there (wants_right), or is not. */
static rp_err_t read_ranges(struct rp_follow_place *place, struct rp_reader *reader, add_fn *add, bool wants_right,
                            struct rp_error *err)
{
        struct rp_run run = { 0 };
        rp_err_t rc = rp_reader_start(reader, place->ranges, err);

        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, POLL_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++) {
                        const struct rp_record *rec = &run.records[i];
                        bool is_right = rec->key && kr_rule_partition(place->config.rule, rec->key, rec->key_len,
                                                                      place->config.partition_cnt) == rec->partition;

                        if (is_right == wants_right && !add(place->tail, rec))
                                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                }
        }
        return rc;
}

/* Fills place->offsets: of the first record that is as late, else the end. */
static rp_err_t ask_offsets(struct rp_follow_place *place, int64_t time_ms, struct rp_error *err)
{
        const struct rp_follow_place_config *config = &place->config;
        rp_err_t rc = config->offsets_at(config->offsets_arg, time_ms, place->offsets, err);

        for (int32_t p = 0; rc == RP_OK && p < config->partition_cnt; p++)
                if (place->offsets[p] < 0)
                        place->offsets[p] = place->closed[p].end;
        return rc;
}

static int64_t positive(int64_t number)
{
        return number > 0 ? number : 0;
}

/* How much is to be read at both ends of the windows. */
static void measure(const struct rp_follow_place *place, int64_t *before, int64_t *behind)
{
        *before = *behind = 0;
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                const struct window *window = &place->windows[p];

                if (!window->is_wanted)
                        continue;
                *before += positive(window->from - window->asked);
                *behind += positive(place->closed[p].end - window->to);
        }
}

static void forget(struct rp_follow_place *place)
{
        rp_tail_clear(place->tail);
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                place->windows[p].from = place->windows[p].to = 0;
                place->windows[p].has_more = false;
        }
}

/* Nothing may be read twice, since equal records are counted. */
static bool would_read_again(const struct rp_follow_place *place)
{
        for (int32_t p = 0; p < place->config.partition_cnt; p++)
                if (place->windows[p].is_wanted && place->windows[p].has_more && place->windows[p].asked < place->windows[p].from)
                        return true;
        return false;
}

/* Makes place for what is to be read; what has no place is older than what is judged. */
static void fit_windows(struct rp_follow_place *place, int32_t wanted_cnt)
{
        int64_t most = (int64_t)place->config.records_max, has, before, behind;

        if (would_read_again(place))
                forget(place);
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                struct window *window = &place->windows[p];

                window->is_cut = false;
                if (!window->is_wanted || window->asked <= window->to)
                        continue;
                window->has_more |= window->from < window->to; /* what lies between is older than anything here */
                window->from = window->to = window->asked;
        }
        has = (int64_t)rp_tail_cnt(place->tail);
        measure(place, &before, &behind);
        if (has + before + behind <= most)
                return;
        if (has + behind <= most) {
                for (int32_t p = 0; p < place->config.partition_cnt; p++)
                        place->windows[p].is_cut = place->windows[p].is_wanted &&
                                                   place->windows[p].asked < place->windows[p].from;
                return;
        }
        forget(place);
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                struct window *window = &place->windows[p];
                int64_t first = place->closed[p].end - most / 2 / wanted_cnt; /* half, so that some more may come */

                if (!window->is_wanted)
                        continue;
                window->is_cut = window->asked < first;
                window->from = window->to = window->is_cut ? first : window->asked;
        }
}

static rp_err_t read_windows(struct rp_follow_place *place, struct rp_error *err)
{
        bool has_before = false, has_open = false;
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                struct window *window = &place->windows[p];

                place->ranges[p] = (struct rp_range){ 0 };
                if (!window->is_wanted || window->is_cut || window->asked >= window->from)
                        continue;
                place->ranges[p] = (struct rp_range){ window->asked, window->from };
                has_before = true;
        }
        if (has_before)
                rc = read_ranges(place, place->committed, add_closed, true, err);
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                struct window *window = &place->windows[p];

                if (rc == RP_OK && place->ranges[p].end)
                        window->from = window->asked;
                place->ranges[p] = (struct rp_range){ 0 };
                if (window->is_wanted && window->to < place->closed[p].end)
                        place->ranges[p] = (struct rp_range){ window->to, place->closed[p].end };
        }
        if (rc == RP_OK)
                rc = read_ranges(place, place->committed, add_closed, true, err);
        for (int32_t p = 0; p < place->config.partition_cnt; p++) {
                struct window *window = &place->windows[p];

                if (rc == RP_OK && place->ranges[p].end)
                        window->to = place->ranges[p].end;
                place->ranges[p] = (struct rp_range){ 0 };
                if (window->is_wanted && place->closed[p].end < place->open[p].end)
                        place->ranges[p] = (struct rp_range){ place->closed[p].end, place->open[p].end };
                has_open |= place->ranges[p].end > 0;
        }
        return rc == RP_OK && has_open ? read_ranges(place, place->uncommitted, add_open, true, err) : rc;
}

static int compare_times(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

/* Records of a partition whose window is cut can be judged only if nothing before it is as late as they are. */
static rp_err_t mark_too_old(struct rp_follow_place *place, const struct rp_record *records, int32_t p,
                             struct rp_error *err)
{
        int64_t *times = malloc(place->candidate_cnt * sizeof(*times));
        size_t cnt = 0, low = 0, high;
        rp_err_t rc = times ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (size_t i = 0; rc == RP_OK && i < place->candidate_cnt; i++)
                if (place->candidates[i].to == p)
                        times[cnt++] = records[place->candidates[i].index].timestamp_ms;
        if (rc == RP_OK)
                qsort(times, cnt, sizeof(*times), compare_times);
        high = cnt;
        while (rc == RP_OK && low < high) {
                size_t middle = (low + high) / 2;

                rc = ask_offsets(place, times[middle], err);
                if (place->offsets[p] >= place->windows[p].from)
                        high = middle;
                else
                        low = middle + 1;
        }
        for (size_t i = 0; rc == RP_OK && i < place->candidate_cnt; i++)
                place->candidates[i].is_too_old |= place->candidates[i].to == p &&
                                                   (low == cnt || records[place->candidates[i].index].timestamp_ms < times[low]);
        free(times);
        return rc;
}

static rp_err_t read_right(struct rp_follow_place *place, const struct rp_record *records, struct rp_error *err)
{
        const struct rp_follow_place_config *config = &place->config;
        int64_t earliest = INT64_MAX;
        int32_t wanted_cnt = 0;
        rp_err_t rc;

        for (int32_t p = 0; p < config->partition_cnt; p++)
                place->windows[p].is_wanted = false;
        for (size_t i = 0; i < place->candidate_cnt; i++) {
                int64_t time_ms = records[place->candidates[i].index].timestamp_ms;
                struct window *window = &place->windows[place->candidates[i].to];

                if (time_ms < 0)
                        continue;
                wanted_cnt += !window->is_wanted;
                window->is_wanted = true;
                if (time_ms < earliest)
                        earliest = time_ms;
        }
        if (!wanted_cnt)
                return RP_OK;
        rc = config->committed->ops->bounds(config->committed, place->closed, err);
        if (rc == RP_OK)
                rc = config->uncommitted->ops->bounds(config->uncommitted, place->open, err);
        if (rc == RP_OK)
                rc = ask_offsets(place, earliest, err);
        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < config->partition_cnt; p++) {
                place->windows[p].asked = place->offsets[p];
                if (place->windows[p].asked < place->closed[p].first) /* deleted meanwhile */
                        place->windows[p].asked = place->closed[p].first;
        }
        fit_windows(place, wanted_cnt);
        rc = read_windows(place, err);
        for (int32_t p = 0; rc == RP_OK && p < config->partition_cnt; p++)
                if (place->windows[p].is_wanted && place->windows[p].is_cut)
                        rc = mark_too_old(place, records, p, err);
        return rc;
}

/* The records of the run's own partition before it that could explain what the right ones hold. */
static rp_err_t read_past(struct rp_follow_place *place, const struct rp_record *records, struct rp_error *err)
{
        int64_t earliest = INT64_MAX, end = 0;
        int32_t partition = records->partition;
        rp_err_t rc;

        for (size_t i = 0; i < place->candidate_cnt; i++) {
                const struct rp_record *rec = &records[place->candidates[i].index];

                if (!place->candidates[i].needs_past)
                        continue;
                if (rec->timestamp_ms < earliest)
                        earliest = rec->timestamp_ms;
                end = rec->offset;
        }
        if (!end)
                return RP_OK;
        rc = ask_offsets(place, earliest, err);
        for (int32_t p = 0; p < place->config.partition_cnt; p++)
                place->ranges[p] = (struct rp_range){ 0 };
        if (rc != RP_OK || place->offsets[partition] >= end)
                return rc;
        if (end - place->offsets[partition] > (int64_t)place->config.records_max)
                return RP_OK; /* then it stays unexplained, which writes nothing */
        place->ranges[partition] = (struct rp_range){ place->offsets[partition], end };
        return read_ranges(place, place->committed, rp_tail_add_past, false, err);
}

/* ---- judging --------------------------------------------------------------------------------------------------------- */

static rp_err_t find_candidates(struct rp_follow_place *place, const struct rp_record *records, size_t cnt,
                                int32_t *verdicts, struct rp_error *err)
{
        struct rp_follow_place_counts *pending = &place->pending;

        if (cnt > place->candidate_cap) {
                struct candidate *grown = realloc(place->candidates, cnt * sizeof(*grown));

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                place->candidates = grown;
                place->candidate_cap = cnt;
        }
        place->candidate_cnt = 0;
        for (size_t i = 0; i < cnt; i++) {
                const struct rp_record *rec = &records[i];
                int32_t to = rec->key ? kr_rule_partition(place->config.rule, rec->key, rec->key_len,
                                                          place->config.partition_cnt) : rec->partition;

                verdicts[i] = RP_SKIP;
                pending->read++;
                if (to < 0 && !place->config.skips_refused) {
                        rp_follow_fail_refused(rec, place->config.topic, to, err);
                        verdicts[i] = RP_REFUSE;
                        return RP_OK;
                }
                if (to < 0)
                        pending->refused++;
                else if (to == rec->partition)
                        pending->right++;
                else if (rp_is_own_tombstone(rec))
                        pending->own_tombstones++;
                else
                        place->candidates[place->candidate_cnt++] = (struct candidate){ .index = i, .to = to };
        }
        return RP_OK;
}

static void judge_candidate(struct rp_follow_place *place, struct candidate *candidate, const struct rp_record *rec,
                            bool knows_past)
{
        if (candidate->is_too_old || rec->timestamp_ms < 0)
                candidate->class = RP_CLASS_UNKNOWN;
        else if (!knows_past)
                candidate->class = rp_tail_class(place->tail, rec, &candidate->needs_past);
        else if (candidate->needs_past)
                candidate->class = rp_tail_class(place->tail, rec, NULL);
}

static rp_err_t classify(struct rp_follow_place *place, const struct rp_record *records, struct rp_error *err)
{
        rp_err_t rc;

        rp_tail_turn(place->tail);
        for (size_t i = 0; i < place->candidate_cnt; i++)
                place->candidates[i].needs_past = place->candidates[i].is_too_old = false;
        rc = read_right(place, records, err);
        for (size_t i = 0; rc == RP_OK && i < place->candidate_cnt; i++)
                judge_candidate(place, &place->candidates[i], &records[place->candidates[i].index], false);
        if (rc == RP_OK)
                rc = read_past(place, records, err);
        for (size_t i = 0; rc == RP_OK && i < place->candidate_cnt; i++)
                judge_candidate(place, &place->candidates[i], &records[place->candidates[i].index], true);
        return rc;
}

/* Is there a record that would be left alone for what may yet be aborted? After a wait in vain: only where the end has moved. */
static bool is_undecided(struct rp_follow_place *place, const struct rp_record *records, bool gives_up)
{
        bool any = false;

        for (size_t i = 0; i < place->candidate_cnt; i++) {
                const struct candidate *candidate = &place->candidates[i];
                int64_t stable = place->closed[candidate->to].end;

                if (candidate->class != RP_CLASS_STALE || place->given_up[candidate->to] == stable ||
                    !rp_tail_is_undecided(place->tail, &records[candidate->index]))
                        continue;
                any = true;
                if (gives_up)
                        place->given_up[candidate->to] = stable;
        }
        return any;
}

static rp_err_t decide(struct rp_follow_place *place, const struct rp_record *records, struct rp_error *err)
{
        const struct rp_follow_place_config *config = &place->config;
        bool waits = config->open_wait_ms && !(config->include & 1u << RP_CLASS_STALE);
        int64_t deadline = rp_clock_ms() + config->open_wait_ms;
        rp_err_t rc = classify(place, records, err);

        while (rc == RP_OK && waits && is_undecided(place, records, rp_clock_ms() >= deadline)) {
                const struct timespec pause = { .tv_nsec = OPEN_PAUSE_MS * 1000000L };

                if (rp_clock_ms() >= deadline)
                        break;
                if (config->goes_on && !config->goes_on(config->offsets_arg))
                        return rp_fail(err, RP_ERR_ABORT_BATCH, "stopped while a transaction is open that may hold newer "
                                       "records");
                nanosleep(&pause, NULL);
                rc = classify(place, records, err);
        }
        return rc;
}

rp_err_t rp_follow_place_judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts,
                               struct rp_error *err)
{
        struct rp_follow_place *place = arg;
        rp_err_t rc = find_candidates(place, records, cnt, verdicts, err);

        if (rc != RP_OK || !place->candidate_cnt)
                return rc;
        rc = decide(place, records, err);
        for (size_t i = 0; rc == RP_OK && i < place->candidate_cnt; i++) {
                struct candidate *candidate = &place->candidates[i];
                const struct rp_record *rec = &records[candidate->index];

                place->pending.misplaced[candidate->class]++;
                place->pending.too_old += candidate->is_too_old;
                if (!(place->config.include & 1u << candidate->class))
                        continue;
                verdicts[candidate->index] = candidate->to;
                if (place->config.copies)
                        place->config.copies(place->config.offsets_arg, rec, candidate->class);
                place->pending.copied++;
                place->pending.copied_bytes += rec->key_len + rec->value_len;
        }
        if (rc != RP_OK)
                forget(place); /* what was read of them may be incomplete */
        return rc;
}

void rp_follow_place_settled(void *arg, bool is_committed)
{
        struct rp_follow_place *place = arg;
        struct rp_follow_place_counts *total = &place->total, *pending = &place->pending;

        if (is_committed) {
                total->read += pending->read;
                total->right += pending->right;
                total->refused += pending->refused;
                total->own_tombstones += pending->own_tombstones;
                for (int class = 0; class < RP_CLASS_CNT; class++)
                        total->misplaced[class] += pending->misplaced[class];
                total->too_old += pending->too_old;
                total->copied += pending->copied;
                total->copied_bytes += pending->copied_bytes;
        }
        *pending = (struct rp_follow_place_counts){ 0 };
}

const struct rp_record *rp_follow_place_dress(void *arg, const struct rp_record *rec)
{
        struct rp_follow_place *place = arg;
        size_t cnt = rec->header_cnt;

        if (!place->config.marks)
                return rec;
        if (cnt + 1 > place->header_cap) {
                struct rp_header *grown = realloc(place->headers, 2 * (cnt + 1) * sizeof(*grown));

                if (!grown)
                        return NULL;
                place->headers = grown;
                place->header_cap = 2 * (cnt + 1);
        }
        if (cnt)
                memcpy(place->headers, rec->headers, cnt * sizeof(*rec->headers));
        place->headers[cnt] = (struct rp_header){
                .name = RP_ORIGIN_HEADER, .value = place->origin,
                .value_len = rp_origin_print(place->origin, place->config.topic, rec->partition, rec->offset),
        };
        place->dressed = *rec;
        place->dressed.headers = place->headers;
        place->dressed.header_cnt = cnt + 1;
        place->dressed.native = NULL; /* which has the headers as they were */
        return &place->dressed;
}
