#include "decide/differ.h"

#include <stdlib.h>

const char *rp_difference_word(rp_difference_t kind)
{
        static const char *const words[RP_DIFFERENCE_CNT] = { "missing",      "duplicate",      "corrupt",
                                                              "out-of-order", "mispartitioned", "unexpected" };

        return words[kind];
}

static int by_group_and_turn(const void *a_, const void *b_)
{
        const struct rp_entry *a = a_, *b = b_;

        if (a->group != b->group)
                return a->group < b->group ? -1 : 1;
        return a->turn < b->turn ? -1 : a->turn > b->turn;
}

/* Entries of one group by digest, equal ones by turn. */
static int by_digest_and_turn(const void *a_, const void *b_)
{
        const struct rp_entry *a = *(const struct rp_entry *const *)a_, *b = *(const struct rp_entry *const *)b_;

        if (a->digest.high != b->digest.high)
                return a->digest.high < b->digest.high ? -1 : 1;
        if (a->digest.low != b->digest.low)
                return a->digest.low < b->digest.low ? -1 : 1;
        return a->turn < b->turn ? -1 : a->turn > b->turn;
}

static int by_turn(const void *a_, const void *b_)
{
        const struct rp_entry *a = *(const struct rp_entry *const *)a_, *b = *(const struct rp_entry *const *)b_;

        return a->turn < b->turn ? -1 : a->turn > b->turn;
}

/* Room for the largest group: which entry of the source is which of the target. */
struct work {
        const struct rp_entry **source, **target; /* by digest, then the ones without counterpart in front */
        const struct rp_entry **twin;             /* by index in the target's group: its source entry, or NULL */
        size_t *tails;                            /* of the longest rising subsequence */
        bool latest;
        rp_on_difference_t *on_difference;
        void *arg;
};

/* First index in tails[0..cnt) whose value is not below turn. */
static size_t lower_bound(const size_t *tails, size_t cnt, const struct rp_entry *const *twin, uint64_t turn)
{
        size_t low = 0, high = cnt;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (twin[tails[middle]]->turn < turn)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/*
 * What must be taken out of the target's sequence so that the rest is in the source's order: all but a longest rising
 * subsequence. tails and the predecessors find it in n log n.
 */
static bool tell_disorder(struct work *work, const struct rp_entry *target, size_t cnt)
{
        size_t *before = malloc((cnt ? cnt : 1) * sizeof(*before));
        bool *is_kept = calloc(cnt ? cnt : 1, sizeof(*is_kept));
        size_t longest = 0;

        if (!before || !is_kept) {
                free(before);
                free(is_kept);
                return false;
        }
        for (size_t i = 0; i < cnt; i++) {
                size_t at;

                if (!work->twin[i])
                        continue;
                at = lower_bound(work->tails, longest, work->twin, work->twin[i]->turn);
                before[i] = at ? work->tails[at - 1] : SIZE_MAX;
                work->tails[at] = i;
                if (at == longest)
                        longest++;
        }
        for (size_t i = longest ? work->tails[longest - 1] : SIZE_MAX; i != SIZE_MAX; i = before[i])
                is_kept[i] = true;
        for (size_t i = 0; i < cnt; i++)
                if (work->twin[i] && !is_kept[i])
                        work->on_difference(work->arg, RP_OUT_OF_ORDER, work->twin[i], &target[i]);
        free(before);
        free(is_kept);
        return true;
}

static bool differ_group(struct work *work, const struct rp_entry *source, size_t source_cnt,
                         const struct rp_entry *target, size_t target_cnt)
{
        size_t lost = 0, odd = 0; /* without counterpart, gathered at the front of the arrays */
        size_t s = 0, t = 0, paired;
        bool in_flight = false;

        for (size_t i = 0; i < source_cnt; i++)
                work->source[i] = &source[i];
        for (size_t i = 0; i < target_cnt; i++) {
                work->target[i] = &target[i];
                work->twin[i] = NULL;
        }
        qsort(work->source, source_cnt, sizeof(*work->source), by_digest_and_turn);
        qsort(work->target, target_cnt, sizeof(*work->target), by_digest_and_turn);
        while (s < source_cnt || t < target_cnt) {
                const struct rp_entry *a = s < source_cnt ? work->source[s] : NULL;
                const struct rp_entry *b = t < target_cnt ? work->target[t] : NULL;
                bool had_twin = false;
                const struct rp_entry *one;

                if (a && b && rp_digest_equals(a->digest, b->digest)) {
                        for (; s < source_cnt && t < target_cnt && rp_digest_equals(work->source[s]->digest, a->digest) &&
                               rp_digest_equals(work->target[t]->digest, a->digest); s++, t++) {
                                work->twin[work->target[t] - target] = work->source[s];
                                if (work->source[s]->is_late == work->target[t]->is_late)
                                        continue;
                                work->on_difference(work->arg, RP_IN_FLIGHT, work->source[s], work->target[t]);
                                in_flight = true;
                        }
                        had_twin = true;
                        one = a;
                } else {
                        one = !b || (a && (a->digest.high != b->digest.high ? a->digest.high < b->digest.high
                                                                            : a->digest.low < b->digest.low)) ? a : b;
                }
                for (; s < source_cnt && rp_digest_equals(work->source[s]->digest, one->digest); s++)
                        if (!work->source[s]->is_late)
                                work->source[lost++] = work->source[s];
                for (; t < target_cnt && rp_digest_equals(work->target[t]->digest, one->digest); t++) {
                        if (work->target[t]->is_late)
                                continue;
                        if (had_twin)
                                work->on_difference(work->arg, RP_DUPLICATE, one, work->target[t]);
                        else
                                work->target[odd++] = work->target[t];
                }
        }
        if (work->latest && in_flight) /* the newer state is on its way, so the older one stands there still */
                lost = odd = 0;
        qsort(work->source, lost, sizeof(*work->source), by_turn);
        qsort(work->target, odd, sizeof(*work->target), by_turn);
        paired = lost < odd ? lost : odd;
        for (size_t i = 0; i < paired; i++)
                work->on_difference(work->arg, RP_CORRUPT, work->source[i], work->target[i]);
        for (size_t i = paired; i < lost; i++)
                work->on_difference(work->arg, RP_MISSING, work->source[i], NULL);
        for (size_t i = paired; i < odd; i++)
                work->on_difference(work->arg, RP_UNEXPECTED, NULL, work->target[i]);
        if (work->latest || !(source_cnt ? source : target)->is_keyed)
                return true;
        return tell_disorder(work, target, target_cnt);
}

static size_t group_len(const struct rp_entry *entries, size_t cnt, size_t at, uint64_t group)
{
        size_t len = 0;

        while (at + len < cnt && entries[at + len].group == group)
                len++;
        return len;
}

size_t rp_entries_keep_latest(struct rp_entry *entries, size_t cnt)
{
        size_t kept = 0;

        if (cnt)
                qsort(entries, cnt, sizeof(*entries), by_group_and_turn);
        for (size_t i = 0; i < cnt; i++) {
                bool has_newer = i + 1 < cnt && entries[i + 1].group == entries[i].group && !entries[i + 1].is_late;

                if (!entries[i].is_keyed || entries[i].is_late || (!has_newer && entries[i].is_live))
                        entries[kept++] = entries[i];
        }
        return kept;
}

bool rp_differ(struct rp_entry *source, size_t source_cnt, struct rp_entry *target, size_t target_cnt, bool latest,
               rp_on_difference_t *on_difference, void *arg)
{
        struct work work = {
                .source = malloc((source_cnt + 1) * sizeof(*work.source)),
                .target = malloc((target_cnt + 1) * sizeof(*work.target)),
                .twin = malloc((target_cnt + 1) * sizeof(*work.twin)),
                .tails = malloc((target_cnt + 1) * sizeof(*work.tails)),
                .latest = latest,
                .on_difference = on_difference,
                .arg = arg,
        };
        bool is_done = work.source && work.target && work.twin && work.tails;
        size_t s = 0, t = 0;

        if (source_cnt)
                qsort(source, source_cnt, sizeof(*source), by_group_and_turn);
        if (target_cnt)
                qsort(target, target_cnt, sizeof(*target), by_group_and_turn);
        while (is_done && (s < source_cnt || t < target_cnt)) {
                uint64_t group = t == target_cnt || (s < source_cnt && source[s].group < target[t].group)
                                         ? source[s].group : target[t].group;
                size_t source_len = group_len(source, source_cnt, s, group);
                size_t target_len = group_len(target, target_cnt, t, group);

                is_done = differ_group(&work, source + s, source_len, target + t, target_len);
                s += source_len;
                t += target_len;
        }
        free(work.source);
        free(work.target);
        free(work.twin);
        free(work.tails);
        return is_done;
}
