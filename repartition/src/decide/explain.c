#include "decide/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        PAIRS_MAX = 1 << 16,     /* evidence: whole keys up to so many pairs */
        SHORTLIST = 8,           /* older partition counts that are tried in full in each round */
        SCREEN_CALLS = 1000000,  /* routing calls that may go into finding them; some hundredths of a second */
        SCREEN_BYTES = 100 << 20,/* key bytes, likewise */
        SCREEN_MIN = 16,
        EVIDENCE_MIN = 3,        /* pairs that only this component explains; never from one record */
        KEYS_MIN = 10,
        COUNT_MIN = 2,           /* with one partition all functions are one, and none can be named */
        PROOF_MAX = 64           /* a component's own pairs on which alternatives are tried first */
};

static const double SAME_LOSS = 3; /* nats: twenty to one. A function that loses less cannot be ruled out */

struct pair {
        const struct rp_sample_key *key;
        const struct rp_cell *cell;
};

/* A function in the mixture or about to enter. */
struct pick {
        size_t way;
        int32_t partition_cnt;
        unsigned char *matches; /* borrowed from work.current, or owned when partition_cnt is an older one */
        double price;           /* what its fit must beat */
};

struct work {
        const struct rp_ways *ways;
        int32_t partition_cnt;
        struct pair *pairs;
        int32_t *partitions;
        size_t cnt;
        unsigned char **current; /* each way's matches with the topic's own count */
        bool *is_usable;         /* ways that tell keys apart at all */
        struct rp_mixture mixture;
        struct pick picks[RP_COMPONENTS_MAX]; /* in the order of the mixture's components */
};

/* ---- evidence ------------------------------------------------------------------------------------------------- */

static bool is_evidence(const struct rp_sample_key *key)
{
        return key->key && key->key_len;
}

static bool gather(struct work *work, const struct rp_sample_key *keys, size_t key_cnt, struct rp_explanation *out)
{
        size_t cnt = 0;

        for (size_t i = 0; i < key_cnt; i++) {
                out->long_keys += !keys[i].key && keys[i].key_len;
                if (is_evidence(&keys[i]))
                        cnt += keys[i].cell_cnt;
        }
        work->pairs = malloc((cnt + 1) * sizeof(*work->pairs));
        work->partitions = malloc((cnt + 1) * sizeof(*work->partitions));
        if (!work->pairs || !work->partitions)
                return false;
        /* By rising hash, so a part of the sample is a sample again. */
        for (size_t i = 0; i < key_cnt; i++) {
                if (!is_evidence(&keys[i]))
                        continue;
                if (work->cnt && work->cnt + keys[i].cell_cnt > PAIRS_MAX)
                        break;
                for (size_t c = 0; c < keys[i].cell_cnt; c++) {
                        work->pairs[work->cnt] = (struct pair){ &keys[i], &keys[i].cells[c] };
                        work->partitions[work->cnt++] = keys[i].cells[c].partition;
                }
                out->keys++;
        }
        out->pairs = work->cnt;
        return true;
}

static bool matches_pair(const struct work *work, const kr_rule_t *rule, int32_t partition_cnt, size_t i)
{
        const struct pair *pair = &work->pairs[i];

        return kr_rule_partition(rule, pair->key->key, pair->key->key_len, partition_cnt) == pair->cell->partition;
}

static unsigned char *matches_of(const struct work *work, size_t way, int32_t partition_cnt)
{
        unsigned char *matches = malloc(work->cnt + 1);

        for (size_t i = 0; matches && i < work->cnt; i++)
                matches[i] = matches_pair(work, work->ways->list[way].rule, partition_cnt, i);
        return matches;
}

/*
 * Tries every way with the topic's own count. Other stores' functions read keys of one form and give all others the
 * same value; one that sends nearly every key to one partition is no way to place these keys.
 */
static bool try_current(struct work *work)
{
        size_t way_cnt = work->ways->cnt;
        size_t *hits = malloc((size_t)work->partition_cnt * sizeof(*hits));

        work->current = calloc(way_cnt, sizeof(*work->current));
        work->is_usable = calloc(way_cnt, sizeof(*work->is_usable));
        for (size_t w = 0; hits && work->current && work->is_usable && w < way_cnt; w++) {
                const struct rp_way *way = &work->ways->list[w];
                size_t most = 0;

                work->current[w] = malloc(work->cnt + 1);
                if (!work->current[w])
                        break;
                memset(hits, 0, (size_t)work->partition_cnt * sizeof(*hits));
                for (size_t i = 0; i < work->cnt; i++) {
                        const struct rp_sample_key *key = work->pairs[i].key;
                        int32_t p = kr_rule_partition(way->rule, key->key, key->key_len, work->partition_cnt);

                        work->current[w][i] = p == work->partitions[i];
                        if (p >= 0 && ++hits[p] > most)
                                most = hits[p];
                }
                work->is_usable[w] = way->is_client || most * 10 < work->cnt * 9;
        }
        free(hits);
        return work->current && work->is_usable && work->current[way_cnt - 1];
}

/* The way that judges first, so that it names a class it is in. */
static size_t way_in_order(const struct rp_ways *ways, size_t i)
{
        return i == 0 ? ways->judge : i <= ways->judge ? i - 1 : i;
}

/* ---- which components ------------------------------------------------------------------------------------------ */

static double price_of(const struct work *work, int32_t partition_cnt)
{
        double tried = 2 * (double)work->ways->cnt;

        if (partition_cnt != work->partition_cnt)
                tried *= work->partition_cnt - 1;
        return log((double)work->cnt) / 2 + log(tried);
}

static bool is_explained(const struct work *work, size_t i)
{
        for (size_t j = 0; j < work->mixture.component_cnt; j++)
                if (work->picks[j].matches[i])
                        return true;
        return false;
}

struct screened {
        size_t way;
        int32_t partition_cnt;
        double score;
};

/*
 * The older counts that look best on pairs that nothing explains yet: by the slope with which the likelihood would
 * rise, on as many pairs as the work allows.
 */
static size_t screen_older(const struct work *work, struct screened best[SHORTLIST])
{
        size_t *sample = malloc((work->cnt + 1) * sizeof(*sample));
        size_t cnt = 0, max, bytes = 0, client_cnt = 0, best_cnt = 0;
        double per_count;

        for (size_t w = 0; w < work->ways->cnt; w++)
                client_cnt += work->ways->list[w].takes_any_count;
        per_count = (double)client_cnt * work->partition_cnt;
        max = (size_t)fmax(SCREEN_CALLS / per_count, 4 * SCREEN_MIN);
        for (size_t i = 0; sample && i < work->cnt && cnt < max; i++)
                if (!is_explained(work, i)) {
                        bytes += work->pairs[i].key->key_len;
                        if (cnt >= SCREEN_MIN && (double)bytes * per_count > SCREEN_BYTES)
                                break;
                        sample[cnt++] = i;
                }
        for (int32_t count = work->partition_cnt - 1; cnt && count >= COUNT_MIN; count--)
                for (size_t w = 0; w < work->ways->cnt; w++) {
                        struct screened it = { w, count, 0 };
                        size_t hits = 0, at;

                        if (!work->ways->list[w].takes_any_count)
                                continue;
                        for (size_t s = 0; s < cnt; s++)
                                if (matches_pair(work, work->ways->list[w].rule, count, sample[s])) {
                                        it.score += 1 / work->mixture.likelihoods[sample[s]];
                                        hits++;
                                }
                        if (hits < EVIDENCE_MIN)
                                continue;
                        for (at = best_cnt; at > 0 && best[at - 1].score < it.score; at--)
                                if (at < SHORTLIST)
                                        best[at] = best[at - 1];
                        if (at < SHORTLIST) {
                                best[at] = it;
                                best_cnt += best_cnt < SHORTLIST;
                        }
                }
        free(sample);
        return best_cnt;
}

static void drop_pick(struct pick *pick, const struct work *work)
{
        if (pick->partition_cnt != work->partition_cnt)
                free(pick->matches);
        pick->matches = NULL;
}

static bool is_picked(const struct work *work, size_t way, int32_t partition_cnt)
{
        for (size_t j = 0; j < work->mixture.component_cnt; j++)
                if (work->picks[j].way == way && work->picks[j].partition_cnt == partition_cnt)
                        return true;
        return false;
}

/* The function that improves the mixture most beyond its price. False when none does (or memory is out). */
static bool find_best(const struct work *work, struct pick *best)
{
        struct screened older[SHORTLIST];
        size_t older_cnt = screen_older(work, older);
        double best_profit = 0;

        *best = (struct pick){ 0 };
        for (size_t i = 0; i < work->ways->cnt; i++) {
                struct pick it = { way_in_order(work->ways, i), work->partition_cnt, NULL, 0 };
                double profit;

                it.matches = work->current[it.way];
                it.price = price_of(work, it.partition_cnt);
                if (!work->is_usable[it.way] || is_picked(work, it.way, it.partition_cnt))
                        continue;
                profit = rp_mixture_gain(&work->mixture, it.matches) - it.price;
                if (profit > best_profit) {
                        best_profit = profit;
                        *best = it;
                }
        }
        for (size_t i = 0; i < older_cnt; i++) {
                struct pick it = { older[i].way, older[i].partition_cnt, NULL, 0 };
                double profit;

                if (is_picked(work, it.way, it.partition_cnt))
                        continue;
                it.matches = matches_of(work, it.way, it.partition_cnt);
                it.price = price_of(work, it.partition_cnt);
                profit = it.matches ? rp_mixture_gain(&work->mixture, it.matches) - it.price : 0;
                if (profit > best_profit) {
                        drop_pick(best, work);
                        best_profit = profit;
                        *best = it;
                } else {
                        drop_pick(&it, work);
                }
        }
        return best->matches != NULL;
}

static void remove_pick(struct work *work, size_t j)
{
        struct pick gone = work->picks[j];

        rp_mixture_remove(&work->mixture, j);
        memmove(&work->picks[j], &work->picks[j + 1], (work->mixture.component_cnt - j) * sizeof(gone));
        drop_pick(&gone, work);
}

/* Pairs that this component explains and no other does. */
static size_t own_evidence(const struct work *work, size_t j)
{
        size_t own = 0;

        for (size_t i = 0; i < work->cnt; i++) {
                bool other = !work->picks[j].matches[i];

                for (size_t k = 0; k < work->mixture.component_cnt && !other; k++)
                        other = k != j && work->picks[k].matches[i];
                own += !other;
        }
        return own;
}

/* What the mixture's fit would lose without the component. Leaves the mixture as it was. */
static double worth(struct work *work, size_t j)
{
        struct rp_mixture without;
        double loss = 0;

        if (!rp_mixture_init(&without, work->partitions, work->cnt, work->partition_cnt))
                return INFINITY;
        for (size_t k = 0; k < work->mixture.component_cnt; k++)
                if (k != j)
                        rp_mixture_add(&without, work->picks[k].matches);
        rp_mixture_fit(&without);
        loss = work->mixture.fit - without.fit;
        rp_mixture_release(&without);
        return loss;
}

/* Takes out what later components made superfluous, the weakest first. */
static void prune(struct work *work)
{
        for (;;) {
                size_t weakest = 0;
                double least = INFINITY;

                for (size_t j = 0; j < work->mixture.component_cnt; j++) {
                        double profit = worth(work, j) - work->picks[j].price;

                        if (own_evidence(work, j) < EVIDENCE_MIN)
                                profit = fmin(profit, -1);
                        if (profit < least) {
                                least = profit;
                                weakest = j;
                        }
                }
                if (least > 0)
                        return;
                remove_pick(work, weakest);
                rp_mixture_fit(&work->mixture);
        }
}

static void select_components(struct work *work)
{
        struct pick best;
        double value = 0; /* fit less prices: rises with every round, so the search ends */

        rp_mixture_fit(&work->mixture);
        for (value = work->mixture.fit; work->mixture.component_cnt < RP_COMPONENTS_MAX && find_best(work, &best);) {
                double now;

                work->picks[work->mixture.component_cnt] = best;
                rp_mixture_add(&work->mixture, best.matches);
                rp_mixture_fit(&work->mixture);
                prune(work);
                now = work->mixture.fit;
                for (size_t j = 0; j < work->mixture.component_cnt; j++)
                        now -= work->picks[j].price;
                if (now <= value + 1e-6)
                        return;
                value = now;
        }
}

/* ---- how sure --------------------------------------------------------------------------------------------------- */

/* Whether the two agree on keys of all lengths, not only on those of this topic. */
static bool agree_always(const kr_rule_t *a, const kr_rule_t *b, int32_t partition_cnt)
{
        unsigned char key[32];
        uint64_t state = 1;

        for (int i = 0; i < 4096; i++) {
                size_t len = 1 + (size_t)i % sizeof(key);

                for (size_t b_at = 0; b_at < len; b_at++) {
                        state = state * 6364136223846793005u + 1442695040888963407u;
                        key[b_at] = (unsigned char)(state >> 56);
                }
                if (kr_rule_partition(a, key, len, partition_cnt) != kr_rule_partition(b, key, len, partition_cnt))
                        return false;
        }
        return true;
}

static bool add_same(struct rp_cause *cause, const struct rp_way *way, int32_t partition_cnt)
{
        struct rp_function *grown = realloc(cause->same_as, (cause->same_as_cnt + 1) * sizeof(*grown));

        if (!grown)
                return false;
        cause->same_as = grown;
        cause->same_as[cause->same_as_cnt++] = (struct rp_function){ way, partition_cnt, 0 };
        cause->same_always = cause->same_always && partition_cnt == cause->partition_cnt &&
                             agree_always(cause->way->rule, way->rule, partition_cnt);
        return true;
}

/* First pairs that only the component explains: what an alternative must explain as well. */
static size_t find_proof(const struct work *work, size_t j, size_t proof[PROOF_MAX])
{
        size_t cnt = 0;

        for (size_t i = 0; i < work->cnt && cnt < PROOF_MAX; i++)
                if (work->picks[j].matches[i] && rp_mixture_part(&work->mixture, j, i) > 0.99)
                        proof[cnt++] = i;
        return cnt;
}

static bool explains_proof(const struct work *work, size_t way, int32_t count, const size_t *proof, size_t cnt)
{
        for (size_t i = 0, misses = 0; i < cnt; i++)
                if (!matches_pair(work, work->ways->list[way].rule, count, proof[i]) && ++misses > 3)
                        return false;
        return true;
}

/* Weighs every other function in the component's place: those that fit as well go into same_as. */
static bool weigh_alternatives(struct work *work, size_t j, struct rp_cause *cause)
{
        const struct pick *pick = &work->picks[j];
        size_t proof[PROOF_MAX], proof_cnt = find_proof(work, j, proof);
        double exists = 1 / (1 + exp(pick->price - worth(work, j)));
        double others = 0;

        cause->same_always = true;
        for (int32_t count = work->partition_cnt; count >= COUNT_MIN; count--)
                for (size_t w = 0; w < work->ways->cnt; w++) {
                        unsigned char *matches;
                        double loss;
                        bool is_current = count == work->partition_cnt;

                        if (is_picked(work, w, count) || (is_current ? !work->is_usable[w] : !work->ways->list[w].takes_any_count))
                                continue;
                        if (!explains_proof(work, w, count, proof, proof_cnt))
                                continue;
                        matches = is_current ? work->current[w] : matches_of(work, w, count);
                        if (!matches)
                                return false;
                        loss = rp_mixture_swap_loss(&work->mixture, j, matches) + price_of(work, count) - pick->price;
                        if (!is_current)
                                free(matches);
                        if (loss >= SAME_LOSS)
                                others += exp(-loss);
                        else if (!add_same(cause, &work->ways->list[w], count))
                                return false;
                }
        cause->same_always = cause->same_always && cause->same_as_cnt;
        cause->confidence = fmin(exists / (1 + others), 0.9999);
        return true;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------ */

static void describe_fix(struct rp_cause *cause, const struct rp_ways *ways, int32_t partition_cnt)
{
        const struct rp_way *judge = &ways->list[ways->judge];

        if (cause->partition_cnt != partition_cnt)
                snprintf(cause->fix, sizeof(cause->fix),
                         "nothing to configure: written while the topic had %" PRId32 " partitions, before it grew to %"
                         PRId32 "; a rewrite mends it", cause->partition_cnt, partition_cnt);
        else if (cause->way == judge && !judge->policy)
                snprintf(cause->fix, sizeof(cause->fix), "%s", judge->fix);
        else if (cause->way == judge)
                snprintf(cause->fix, sizeof(cause->fix), "nothing to change: this is the rule that judges");
        else if (!strcmp(judge->name, "murmur2"))
                snprintf(cause->fix, sizeof(cause->fix), "%s", cause->way->fix);
        else if (judge->policy)
                snprintf(cause->fix, sizeof(cause->fix),
                         "librdkafka clients: plugin.library.paths=keyroute with keyroute.hash=%s", judge->name);
        else
                snprintf(cause->fix, sizeof(cause->fix),
                         "librdkafka clients: plugin.library.paths=keyroute with keyroute.policy=FILE");
}

static bool is_misplaced(const struct work *work, size_t i)
{
        return !work->current[work->ways->judge][i];
}

/* How much of a pair is the j-th component's; of the rest, when j is past the last one. */
static double part_of(const struct rp_mixture *mixture, size_t j, size_t i)
{
        double left = 1;

        if (j < mixture->component_cnt)
                return rp_mixture_part(mixture, j, i);
        for (size_t k = 0; k < mixture->component_cnt; k++)
                left -= rp_mixture_part(mixture, k, i);
        return fmax(left, 0);
}

/* Shares of records and of misplaced ones, and for a cause the times of its records. */
static void measure_records(const struct work *work, size_t j, double *records_share, double *misplaced_share,
                            struct rp_cause *cause)
{
        double all = 0, mine = 0, misplaced = 0, my_misplaced = 0;

        for (size_t i = 0; i < work->cnt; i++) {
                const struct rp_cell *cell = work->pairs[i].cell;
                double records = (double)cell->records, part = part_of(&work->mixture, j, i);

                all += records;
                mine += part * records;
                if (is_misplaced(work, i)) {
                        misplaced += records;
                        my_misplaced += part * records;
                }
                if (!cause || part < 0.99)
                        continue;
                if (cell->first_ms >= 0 && (cause->first_ms < 0 || cell->first_ms < cause->first_ms))
                        cause->first_ms = cell->first_ms;
                if (cell->last_ms > cause->last_ms)
                        cause->last_ms = cell->last_ms;
        }
        *records_share = all > 0 ? mine / all : 0;
        *misplaced_share = misplaced > 0 ? my_misplaced / misplaced : 0;
}

/* Do keys that no function explains stay where they are? Over those that occur at least twice. */
static rp_rest_t describe_rest(const struct work *work, int32_t *only_partition)
{
        double stay = 0, repeated = 0;
        bool one_partition = true;
        size_t pairs = 0;

        for (size_t i = 0; i < work->cnt;) {
                const struct rp_sample_key *key = work->pairs[i].key;
                double records = 0, same = 0;

                for (; i < work->cnt && work->pairs[i].key == key; i++) {
                        double n = (double)work->pairs[i].cell->records;

                        if (is_explained(work, i))
                                continue;
                        records += n;
                        same += n * (n - 1);
                        if (pairs++ == 0)
                                *only_partition = work->partitions[i];
                        one_partition = one_partition && work->partitions[i] == *only_partition;
                }
                if (records >= 2) {
                        stay += same / (records * (records - 1));
                        repeated++;
                }
        }
        if (!pairs)
                return RP_REST_NONE;
        if (one_partition && pairs >= KEYS_MIN)
                return RP_REST_ONE_PARTITION;
        if (repeated < 5)
                return RP_REST_SEEN_ONCE;
        return stay / repeated >= 0.9 ? RP_REST_OTHER_FUNCTION :
               stay / repeated <= 0.6 ? RP_REST_KEYS_IGNORED :
                                        RP_REST_UNCLEAR;
}

static bool conclude(struct work *work, struct rp_explanation *out)
{
        const struct rp_mixture *mixture = &work->mixture;
        double explained = 0;

        out->rest = describe_rest(work, &out->rest_partition);
        if (out->rest != RP_REST_NONE)
                measure_records(work, mixture->component_cnt, &out->rest_records_share, &out->rest_misplaced_share,
                                NULL);
        for (size_t j = 0; j < mixture->component_cnt; j++)
                explained += mixture->shares[j];
        /* What fitting leaves to the rest when every pair is explained is the floor of its arithmetic, no finding. */
        out->rest_share = out->rest == RP_REST_NONE ? 0 : mixture->rest;
        for (size_t j = 0; j < mixture->component_cnt; j++) {
                struct rp_cause cause = { .way = &work->ways->list[work->picks[j].way],
                                          .partition_cnt = work->picks[j].partition_cnt,
                                          .share = mixture->shares[j] * (1 - out->rest_share) / explained,
                                          .first_ms = -1,
                                          .last_ms = -1 };
                size_t at = out->cause_cnt;
                bool ok = weigh_alternatives(work, j, &cause);

                measure_records(work, j, &cause.records_share, &cause.misplaced_share, &cause);
                describe_fix(&cause, work->ways, work->partition_cnt);
                for (; at > 0 && out->causes[at - 1].share < cause.share; at--)
                        out->causes[at] = out->causes[at - 1];
                out->causes[at] = cause;
                out->cause_cnt++;
                if (!ok)
                        return false;
        }
        return true;
}

static int by_agreement(const void *a, const void *b)
{
        const struct rp_function *left = a, *right = b;

        if (left->agree != right->agree)
                return left->agree < right->agree ? 1 : -1;
        if (left->partition_cnt != right->partition_cnt)
                return left->partition_cnt < right->partition_cnt ? 1 : -1;
        return (left->way > right->way) - (left->way < right->way);
}

static size_t count_matches(const unsigned char *matches, size_t cnt)
{
        size_t hits = 0;

        for (size_t i = 0; i < cnt; i++)
                hits += matches[i];
        return hits;
}

/* Every function with the topic's count, and those older ones that are in the mixture. */
static bool list_functions(const struct work *work, struct rp_explanation *out)
{
        out->functions = calloc(work->ways->cnt + RP_COMPONENTS_MAX, sizeof(*out->functions));
        if (!out->functions)
                return false;
        for (size_t w = 0; w < work->ways->cnt; w++)
                out->functions[out->function_cnt++] = (struct rp_function){
                        &work->ways->list[w], work->partition_cnt, count_matches(work->current[w], work->cnt)
                };
        for (size_t j = 0; j < work->mixture.component_cnt; j++)
                if (work->picks[j].partition_cnt != work->partition_cnt)
                        out->functions[out->function_cnt++] = (struct rp_function){
                                &work->ways->list[work->picks[j].way], work->picks[j].partition_cnt,
                                count_matches(work->picks[j].matches, work->cnt)
                        };
        qsort(out->functions, out->function_cnt, sizeof(*out->functions), by_agreement);
        return true;
}

/* Distinct keys with which one function stands out of all by a thousand to one. */
static size_t keys_for_certainty(const struct work *work)
{
        double tried = 2 * (double)work->ways->cnt * 1000;
        double keys = ceil((log(tried) + log(KEYS_MIN) / 2) / log(work->partition_cnt));

        return keys > KEYS_MIN ? (size_t)keys : KEYS_MIN;
}

static bool judge_sample(struct work *work, struct rp_explanation *out)
{
        size_t needed;

        if (!try_current(work) || !rp_mixture_init(&work->mixture, work->partitions, work->cnt, work->partition_cnt))
                return false;
        if (work->partition_cnt == 1) {
                out->state = RP_ONE_PARTITION;
        } else if (!work->cnt) {
                out->state = RP_NO_KEYS;
        } else {
                needed = keys_for_certainty(work);
                if (out->keys >= needed)
                        select_components(work);
                if (out->keys >= needed && !work->mixture.component_cnt)
                        needed *= 3; /* no function in sight: that is said only when a mixture would have shown */
                if (out->keys < needed) {
                        out->state = RP_UNDETERMINED;
                        out->keys_needed = needed - out->keys;
                }
        }
        if (out->state == RP_EXPLAINED && !conclude(work, out))
                return false;
        return list_functions(work, out);
}

rp_err_t rp_explain(const struct rp_sample_key *keys, size_t key_cnt, int32_t partition_cnt, const struct rp_ways *ways,
                    struct rp_explanation *out, struct rp_error *err)
{
        struct work work = { .ways = ways, .partition_cnt = partition_cnt };
        bool ok;

        *out = (struct rp_explanation){ .state = RP_EXPLAINED };
        ok = gather(&work, keys, key_cnt, out) && judge_sample(&work, out);
        while (work.mixture.component_cnt)
                remove_pick(&work, work.mixture.component_cnt - 1);
        rp_mixture_release(&work.mixture);
        for (size_t w = 0; work.current && w < ways->cnt; w++)
                free(work.current[w]);
        free(work.current);
        free(work.is_usable);
        free(work.pairs);
        free(work.partitions);
        if (ok)
                return RP_OK;
        rp_explanation_release(out);
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

void rp_explanation_release(struct rp_explanation *explanation)
{
        for (size_t i = 0; i < explanation->cause_cnt; i++)
                free(explanation->causes[i].same_as);
        free(explanation->functions);
        *explanation = (struct rp_explanation){ 0 };
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

const char *rp_rest_name(rp_rest_t rest)
{
        static const char *const names[] = { "none", "keys-ignored", "other-function", "one-partition", "seen-once",
                                             "unclear" };

        return names[rest];
}

const char *rp_rest_text(rp_rest_t rest)
{
        static const char *const texts[] = {
                "nothing",
                "keys ignored: the same key comes in many partitions (round robin, random, sticky, or chosen by hand)",
                "no known function, but each key keeps its partition: a partitioner of somebody's own",
                "all in one partition: chosen by hand, or (partition 0) written while the topic had no other",
                "no known function; too few of these keys occur twice to tell more",
                "no known function; some of these keys stay, some wander",
        };

        return texts[rest];
}

const char *rp_confidence_word(double confidence)
{
        return confidence >= 0.999 ? "yes" : confidence >= 0.95 ? "likely" : "unsure";
}
