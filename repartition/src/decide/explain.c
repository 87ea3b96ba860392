#include "decide/explain.h"

#include "decide/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROOF_MAX = 64 }; /* a component's own pairs on which alternatives are tried first */

static const double SAME_LEAD = 3; /* nats: twenty to one. A function that is no farther behind cannot be ruled out */

/* ---- how sure --------------------------------------------------------------------------------------------------- */

/* Whether the two agree on keys of all lengths, not only on those of this topic. */
static bool agree_always(const struct rp_way *a, const struct rp_way *b, int32_t partition_cnt)
{
        unsigned char key[32];
        uint64_t state = 1;

        for (int i = 0; i < 4096; i++) {
                size_t len = 1 + (size_t)i % sizeof(key);

                for (size_t b_at = 0; b_at < len; b_at++) {
                        state = state * 6364136223846793005u + 1442695040888963407u;
                        key[b_at] = (unsigned char)(state >> 56);
                }
                if (rp_way_partition(a, key, len, partition_cnt) != rp_way_partition(b, key, len, partition_cnt))
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
        return true;
}

/* Where a way stands in the order of likelihood; the one that judges stands first. */
static size_t rank(const struct rp_ways *ways, const struct rp_way *way)
{
        return way == &ways->list[ways->judge] ? 0 : 1 + (size_t)(way - ways->list);
}

/*
 * A class goes by the name of its likeliest member with the present partition count, if it has one: a client that writes so
 * must be set right, while nothing is to be done about an older topic. Where a part of the topic was read, many older counts
 * fit. Else by that of its likeliest member with the same count.
 */
static void name_class(struct rp_cause *cause, const struct rp_ways *ways, int32_t present_cnt)
{
        for (size_t i = 0; i < cause->same_as_cnt; i++) {
                struct rp_function *same = &cause->same_as[i];
                bool is_present = same->partition_cnt == present_cnt && cause->partition_cnt != present_cnt;

                if (is_present || (same->partition_cnt == cause->partition_cnt && rank(ways, same->way) < rank(ways, cause->way))) {
                        const struct rp_function former = { cause->way, cause->partition_cnt, same->agree };

                        cause->way = same->way;
                        cause->partition_cnt = same->partition_cnt;
                        *same = former;
                }
        }
        cause->same_always = cause->same_as_cnt > 0;
        for (size_t i = 0; i < cause->same_as_cnt; i++)
                if (cause->same_as[i].partition_cnt != cause->partition_cnt ||
                    !agree_always(cause->way, cause->same_as[i].way, cause->partition_cnt))
                        cause->same_always = false;
}

/* First pairs that only the component explains: what an alternative must explain as well. */
static size_t find_proof(const struct rp_fit *fit, size_t j, size_t proof[PROOF_MAX])
{
        size_t cnt = 0;

        for (size_t i = 0; i < fit->cnt && cnt < PROOF_MAX; i++)
                if (fit->picks[j].matches[i] && rp_mixture_part(&fit->mixture, j, i) > 0.99)
                        proof[cnt++] = i;
        return cnt;
}

static bool explains_proof(const struct rp_fit *fit, size_t way, int32_t count, const size_t *proof, size_t cnt)
{
        for (size_t i = 0, misses = 0; i < cnt; i++)
                if (!rp_fit_agrees(fit, way, count, proof[i]) && ++misses > 3)
                        return false;
        return true;
}

/* Weighs every other function in the component's place: those that fit as well go into same_as. */
static bool weigh_alternatives(const struct rp_fit *fit, size_t j, struct rp_cause *cause)
{
        const struct rp_pick *pick = &fit->picks[j];
        size_t proof[PROOF_MAX], proof_cnt = find_proof(fit, j, proof);
        double exists = 1 / (1 + exp(pick->price - rp_fit_worth(fit, j)));
        double others = 0;

        for (int32_t count = fit->partition_cnt; count >= RP_COUNT_MIN; count--)
                for (size_t w = 0; w < fit->ways->cnt; w++) {
                        double lead;

                        if (rp_fit_is_picked(fit, w, count) ||
                            (count == fit->partition_cnt ? !fit->is_usable[w] : !fit->ways->list[w].takes_any_count) ||
                            !explains_proof(fit, w, count, proof, proof_cnt))
                                continue;
                        lead = rp_fit_lead(fit, j, w, count) + rp_fit_price(fit, count) - pick->price;
                        if (lead >= SAME_LEAD)
                                others += exp(-lead);
                        else if (!add_same(cause, &fit->ways->list[w], count))
                                return false;
                }
        cause->confidence = fmin(exists / (1 + others), 0.9999);
        name_class(cause, fit->ways, fit->partition_cnt);
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
        else if (cause->way->form)
                snprintf(cause->fix, sizeof(cause->fix), "%s", cause->way->fix);
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

static bool is_misplaced(const struct rp_fit *fit, size_t i)
{
        return !fit->current[fit->ways->judge][i];
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
static void measure_records(const struct rp_fit *fit, size_t j, double *records_share, double *misplaced_share,
                            struct rp_cause *cause)
{
        double all = 0, mine = 0, misplaced = 0, my_misplaced = 0;

        for (size_t i = 0; i < fit->cnt; i++) {
                const struct rp_cell *cell = fit->pairs[i].cell;
                double records = (double)cell->records, part = part_of(&fit->mixture, j, i);

                all += records;
                mine += part * records;
                if (is_misplaced(fit, i)) {
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
static rp_rest_t describe_rest(const struct rp_fit *fit, int32_t *only_partition)
{
        double stay = 0, repeated = 0;
        bool one_partition = true;
        size_t pairs = 0;

        for (size_t i = 0; i < fit->cnt;) {
                const struct rp_sample_key *key = fit->pairs[i].key;
                double records = 0, same = 0;

                for (; i < fit->cnt && fit->pairs[i].key == key; i++) {
                        double n = (double)fit->pairs[i].cell->records;

                        if (rp_fit_is_explained(fit, i))
                                continue;
                        records += n;
                        same += n * (n - 1);
                        if (pairs++ == 0)
                                *only_partition = fit->partitions[i];
                        one_partition = one_partition && fit->partitions[i] == *only_partition;
                }
                if (records >= 2) {
                        stay += same / (records * (records - 1));
                        repeated++;
                }
        }
        if (!pairs)
                return RP_REST_NONE;
        if (one_partition && pairs >= RP_KEYS_MIN)
                return RP_REST_ONE_PARTITION;
        if (repeated < 5)
                return RP_REST_SEEN_ONCE;
        return stay / repeated >= 0.9 ? RP_REST_OTHER_FUNCTION :
               stay / repeated <= 0.6 ? RP_REST_KEYS_IGNORED :
                                        RP_REST_UNCLEAR;
}

static bool conclude(struct rp_fit *fit, struct rp_explanation *out)
{
        struct rp_mixture *mixture = &fit->mixture;

        out->rest = describe_rest(fit, &out->rest_partition);
        if (out->rest == RP_REST_NONE)
                rp_mixture_drop_rest(mixture);
        else
                measure_records(fit, mixture->component_cnt, &out->rest_records_share, &out->rest_misplaced_share,
                                NULL);
        out->rest_share = mixture->rest;
        for (size_t j = 0; j < mixture->component_cnt; j++) {
                struct rp_cause cause = { .way = &fit->ways->list[fit->picks[j].way],
                                          .partition_cnt = fit->picks[j].partition_cnt,
                                          .share = mixture->shares[j],
                                          .first_ms = -1,
                                          .last_ms = -1 };
                size_t at = out->cause_cnt;
                bool ok = weigh_alternatives(fit, j, &cause);

                measure_records(fit, j, &cause.records_share, &cause.misplaced_share, &cause);
                describe_fix(&cause, fit->ways, fit->partition_cnt);
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
static bool list_functions(const struct rp_fit *fit, struct rp_explanation *out)
{
        out->functions = calloc(fit->ways->cnt + RP_COMPONENTS_MAX, sizeof(*out->functions));
        if (!out->functions)
                return false;
        for (size_t w = 0; w < fit->ways->cnt; w++)
                out->functions[out->function_cnt++] = (struct rp_function){
                        &fit->ways->list[w], fit->partition_cnt, count_matches(fit->current[w], fit->cnt)
                };
        for (size_t j = 0; j < fit->mixture.component_cnt; j++)
                if (fit->picks[j].partition_cnt != fit->partition_cnt)
                        out->functions[out->function_cnt++] = (struct rp_function){
                                &fit->ways->list[fit->picks[j].way], fit->picks[j].partition_cnt,
                                count_matches(fit->picks[j].matches, fit->cnt)
                        };
        qsort(out->functions, out->function_cnt, sizeof(*out->functions), by_agreement);
        return true;
}

/* Distinct keys with which one function stands out of all by a thousand to one. */
static size_t keys_for_certainty(const struct rp_fit *fit)
{
        double tried = 2 * (double)fit->ways->cnt * 1000;
        double keys = ceil((log(tried) + log(RP_KEYS_MIN) / 2) / log(fit->partition_cnt));

        return keys > RP_KEYS_MIN ? (size_t)keys : RP_KEYS_MIN;
}

static bool judge_sample(struct rp_fit *fit, struct rp_explanation *out)
{
        size_t needed;

        out->keys = fit->key_cnt;
        out->pairs = fit->cnt;
        out->long_keys = fit->long_key_cnt;
        if (fit->partition_cnt == 1) {
                out->state = RP_ONE_PARTITION;
        } else if (!fit->cnt) {
                out->state = RP_NO_KEYS;
        } else {
                needed = keys_for_certainty(fit);
                if (out->keys >= needed)
                        rp_fit_search(fit);
                if (out->keys >= needed && !fit->mixture.component_cnt)
                        needed *= 3; /* no function in sight: that is said only when a mixture would have shown */
                if (out->keys < needed) {
                        out->state = RP_UNDETERMINED;
                        out->keys_needed = needed - out->keys;
                }
        }
        if (out->state == RP_EXPLAINED && !conclude(fit, out))
                return false;
        return list_functions(fit, out);
}

rp_err_t rp_explain(const struct rp_sample_key *keys, size_t key_cnt, int32_t partition_cnt, const struct rp_ways *ways,
                    struct rp_explanation *out, struct rp_error *err)
{
        struct rp_fit fit;
        bool ok = rp_fit_init(&fit, keys, key_cnt, partition_cnt, ways);

        *out = (struct rp_explanation){ .state = RP_EXPLAINED };
        if (ok) {
                ok = judge_sample(&fit, out);
                rp_fit_release(&fit);
        }
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
