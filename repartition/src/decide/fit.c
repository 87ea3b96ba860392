#include "decide/fit.h"

#include "decide/dispersion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
        PAIRS_MAX = 1 << 16,     /* evidence: whole keys up to so many pairs */
        SHORTLIST = 8,           /* older partition counts that are tried in full in each round */
        SCREEN_CALLS = 400000,   /* routing calls that may go into finding them; a hundredth of a second */
        SCREEN_BYTES = 40 << 20, /* key bytes, likewise */
        SCREEN_MIN = 16,
        EVIDENCE_MIN = 3         /* pairs that only this component explains; never from one record */
};

/* ---- evidence ------------------------------------------------------------------------------------------------- */

static bool is_evidence(const struct rp_sample_key *key)
{
        return key->key && key->key_len;
}

static bool gather(struct rp_fit *fit, const struct rp_sample_key *keys, size_t key_cnt)
{
        size_t cnt = 0;

        for (size_t i = 0; i < key_cnt; i++) {
                fit->long_key_cnt += !keys[i].key && keys[i].key_len;
                if (is_evidence(&keys[i]))
                        cnt += keys[i].cell_cnt;
        }
        fit->pairs = malloc((cnt + 1) * sizeof(*fit->pairs));
        fit->partitions = malloc((cnt + 1) * sizeof(*fit->partitions));
        if (!fit->pairs || !fit->partitions)
                return false;
        /* By rising hash, so a part of the sample is a sample again. */
        for (size_t i = 0; i < key_cnt; i++) {
                if (!is_evidence(&keys[i]))
                        continue;
                if (fit->cnt && fit->cnt + keys[i].cell_cnt > PAIRS_MAX)
                        break;
                for (size_t c = 0; c < keys[i].cell_cnt; c++) {
                        fit->pairs[fit->cnt] = (struct rp_pair){ &keys[i], &keys[i].cells[c] };
                        fit->partitions[fit->cnt++] = keys[i].cells[c].partition;
                }
                fit->key_cnt++;
        }
        return true;
}

/* Where that function puts the i-th pair's key. */
static int32_t predict(const struct rp_fit *fit, size_t way, int32_t partition_cnt, size_t i)
{
        const struct rp_sample_key *key = fit->pairs[i].key;

        return rp_way_partition(&fit->ways->list[way], key->key, key->key_len, partition_cnt);
}

bool rp_fit_agrees(const struct rp_fit *fit, size_t way, int32_t partition_cnt, size_t i)
{
        return predict(fit, way, partition_cnt, i) == fit->partitions[i];
}

unsigned char *rp_fit_matches(const struct rp_fit *fit, size_t way, int32_t partition_cnt)
{
        unsigned char *matches = malloc(fit->cnt + 1);

        for (size_t i = 0; matches && i < fit->cnt; i++)
                matches[i] = rp_fit_agrees(fit, way, partition_cnt, i);
        return matches;
}

/*
 * Tries every way with the topic's own count. Other stores' functions read keys of one form and give all others the
 * same value; one that sends nearly every key to one partition is no way to place these keys.
 */
static bool try_current(struct rp_fit *fit)
{
        size_t way_cnt = fit->ways->cnt;
        size_t *hits = malloc((size_t)fit->partition_cnt * sizeof(*hits));

        fit->current = calloc(way_cnt, sizeof(*fit->current));
        fit->is_usable = calloc(way_cnt, sizeof(*fit->is_usable));
        for (size_t w = 0; hits && fit->current && fit->is_usable && w < way_cnt; w++) {
                const struct rp_way *way = &fit->ways->list[w];
                size_t most = 0;

                fit->current[w] = malloc(fit->cnt + 1);
                if (!fit->current[w])
                        break;
                memset(hits, 0, (size_t)fit->partition_cnt * sizeof(*hits));
                for (size_t i = 0; i < fit->cnt; i++) {
                        const struct rp_sample_key *key = fit->pairs[i].key;
                        int32_t p = rp_way_partition(way, key->key, key->key_len, fit->partition_cnt);

                        fit->current[w][i] = p == fit->partitions[i];
                        if (p >= 0 && ++hits[p] > most)
                                most = hits[p];
                }
                fit->is_usable[w] = way->is_client || most * 10 < fit->cnt * 9;
        }
        free(hits);
        return fit->current && fit->is_usable && fit->current[way_cnt - 1];
}

/* The way that judges first, so that it names a class it is in. */
static size_t way_in_order(const struct rp_ways *ways, size_t i)
{
        return i == 0 ? ways->judge : i <= ways->judge ? i - 1 : i;
}

/* ---- which components ------------------------------------------------------------------------------------------ */

double rp_fit_price(const struct rp_fit *fit, int32_t partition_cnt)
{
        double tried = 2 * (double)fit->ways->cnt;

        if (partition_cnt != fit->partition_cnt)
                tried *= fit->partition_cnt - 1;
        return log((double)fit->cnt) / 2 + log(tried);
}

bool rp_fit_is_explained(const struct rp_fit *fit, size_t i)
{
        for (size_t j = 0; j < fit->mixture.component_cnt; j++)
                if (fit->picks[j].matches[i])
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
static size_t screen_older(const struct rp_fit *fit, struct screened best[SHORTLIST])
{
        size_t *sample = malloc((fit->cnt + 1) * sizeof(*sample));
        size_t cnt = 0, max, bytes = 0, client_cnt = 0, best_cnt = 0;
        double per_count;

        for (size_t w = 0; w < fit->ways->cnt; w++)
                client_cnt += fit->ways->list[w].takes_any_count;
        per_count = (double)client_cnt * fit->partition_cnt;
        max = (size_t)fmax(SCREEN_CALLS / per_count, 4 * SCREEN_MIN);
        for (size_t i = 0; sample && i < fit->cnt && cnt < max; i++)
                if (!rp_fit_is_explained(fit, i)) {
                        bytes += fit->pairs[i].key->key_len;
                        if (cnt >= SCREEN_MIN && (double)bytes * per_count > SCREEN_BYTES)
                                break;
                        sample[cnt++] = i;
                }
        for (int32_t count = fit->partition_cnt - 1; cnt && count >= RP_COUNT_MIN; count--)
                for (size_t w = 0; w < fit->ways->cnt; w++) {
                        struct screened it = { w, count, 0 };
                        size_t hits = 0, at;

                        if (!fit->ways->list[w].takes_any_count)
                                continue;
                        for (size_t s = 0; s < cnt; s++)
                                if (rp_fit_agrees(fit, w, count, sample[s])) {
                                        it.score += 1 / fit->mixture.likelihoods[sample[s]];
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

static void drop_pick(struct rp_pick *pick, const struct rp_fit *fit)
{
        if (pick->partition_cnt != fit->partition_cnt)
                free(pick->matches);
        pick->matches = NULL;
}

bool rp_fit_is_picked(const struct rp_fit *fit, size_t way, int32_t partition_cnt)
{
        for (size_t j = 0; j < fit->mixture.component_cnt; j++)
                if (fit->picks[j].way == way && fit->picks[j].partition_cnt == partition_cnt)
                        return true;
        return false;
}

/* The function that improves the mixture most beyond its price. False when none does (or memory is out). */
static bool find_best(const struct rp_fit *fit, struct rp_pick *best)
{
        struct screened older[SHORTLIST];
        size_t older_cnt = screen_older(fit, older);
        double best_profit = 0;

        *best = (struct rp_pick){ 0 };
        for (size_t i = 0; i < fit->ways->cnt; i++) {
                struct rp_pick it = { way_in_order(fit->ways, i), fit->partition_cnt, NULL, 0 };
                double profit;

                it.matches = fit->current[it.way];
                it.price = rp_fit_price(fit, it.partition_cnt);
                if (!fit->is_usable[it.way] || rp_fit_is_picked(fit, it.way, it.partition_cnt))
                        continue;
                profit = rp_mixture_gain(&fit->mixture, it.matches) - it.price;
                if (profit > best_profit) {
                        best_profit = profit;
                        *best = it;
                }
        }
        for (size_t i = 0; i < older_cnt; i++) {
                struct rp_pick it = { older[i].way, older[i].partition_cnt, NULL, 0 };
                double profit;

                if (rp_fit_is_picked(fit, it.way, it.partition_cnt))
                        continue;
                it.matches = rp_fit_matches(fit, it.way, it.partition_cnt);
                it.price = rp_fit_price(fit, it.partition_cnt);
                profit = it.matches ? rp_mixture_gain(&fit->mixture, it.matches) - it.price : 0;
                if (profit > best_profit) {
                        drop_pick(best, fit);
                        best_profit = profit;
                        *best = it;
                } else {
                        drop_pick(&it, fit);
                }
        }
        return best->matches != NULL;
}

static void remove_pick(struct rp_fit *fit, size_t j)
{
        struct rp_pick gone = fit->picks[j];

        rp_mixture_remove(&fit->mixture, j);
        memmove(&fit->picks[j], &fit->picks[j + 1], (fit->mixture.component_cnt - j) * sizeof(gone));
        drop_pick(&gone, fit);
}

static bool is_explained_by_others(const struct rp_fit *fit, size_t j, size_t i)
{
        for (size_t k = 0; k < fit->mixture.component_cnt; k++)
                if (k != j && fit->picks[k].matches[i])
                        return true;
        return false;
}

/* Pairs that this component explains and no other does. */
static size_t own_evidence(const struct rp_fit *fit, size_t j)
{
        size_t own = 0;

        for (size_t i = 0; i < fit->cnt; i++)
                own += fit->picks[j].matches[i] && !is_explained_by_others(fit, j, i);
        return own;
}

/* What the fit would lose without the component. */
static double worth(const struct rp_fit *fit, size_t j)
{
        struct rp_mixture without;
        double loss = 0;

        if (!rp_mixture_init(&without, fit->partitions, fit->cnt, fit->partition_cnt))
                return INFINITY;
        for (size_t k = 0; k < fit->mixture.component_cnt; k++)
                if (k != j)
                        rp_mixture_add(&without, fit->picks[k].matches);
        rp_mixture_fit(&without);
        loss = fit->mixture.fit - without.fit;
        rp_mixture_release(&without);
        return loss;
}

/* Pairs that are looked at by themselves. */
struct part {
        int32_t *partitions;
        unsigned char *mine, *theirs; /* whether the one function, or the other, agrees */
        size_t cnt;
};

static bool part_init(struct part *part, size_t max)
{
        *part = (struct part){ malloc((max + 1) * sizeof(*part->partitions)), malloc(max + 1), malloc(max + 1), 0 };
        return part->partitions && part->mine && part->theirs;
}

static void part_release(struct part *part)
{
        free(part->partitions);
        free(part->mine);
        free(part->theirs);
}

/* What one function gains on these pairs over no function at all. */
static double part_gain(const struct rp_fit *fit, const struct part *part, const unsigned char *matches)
{
        struct rp_mixture alone;
        double gain;

        if (!rp_mixture_init(&alone, part->partitions, part->cnt, fit->partition_cnt))
                return 0;
        rp_mixture_fit(&alone);
        gain = -alone.fit;
        rp_mixture_add(&alone, matches);
        rp_mixture_fit(&alone);
        gain += alone.fit;
        rp_mixture_release(&alone);
        return gain;
}

static double own_worth(const struct rp_fit *fit, size_t j)
{
        struct part own;
        double gain = 0;

        if (part_init(&own, fit->cnt)) {
                for (size_t i = 0; i < fit->cnt; i++)
                        if (!is_explained_by_others(fit, j, i)) {
                                own.mine[own.cnt] = fit->picks[j].matches[i];
                                own.partitions[own.cnt++] = fit->partitions[i];
                        }
                gain = part_gain(fit, &own, own.mine);
        }
        part_release(&own);
        return gain;
}

static double likeness(const struct rp_fit *fit, size_t j)
{
        const struct rp_pick *pick = &fit->picks[j];
        int32_t *predicted = malloc((fit->cnt + 1) * sizeof(*predicted));
        unsigned char *is_explained = malloc(fit->cnt + 1);
        double dispersion = INFINITY;

        for (size_t i = 0; predicted && is_explained && i < fit->cnt; i++) {
                predicted[i] = predict(fit, pick->way, pick->partition_cnt, i);
                is_explained[i] = rp_fit_is_explained(fit, i);
                if (predicted[i] < 0) { /* refused: says nothing */
                        predicted[i] = 0;
                        is_explained[i] = 1;
                }
        }
        if (predicted && is_explained)
                dispersion = rp_dispersion(predicted, fit->partitions, is_explained, fit->cnt, pick->partition_cnt,
                                           fit->partition_cnt);
        free(predicted);
        free(is_explained);
        return dispersion;
}

double rp_fit_worth(const struct rp_fit *fit, size_t j)
{
        return own_worth(fit, j) / likeness(fit, j);
}

double rp_fit_lead(const struct rp_fit *fit, size_t j, size_t way, int32_t partition_cnt)
{
        const struct rp_pick *pick = &fit->picks[j];
        struct part part;
        double lead = 0;

        if (part_init(&part, fit->cnt)) {
                for (size_t i = 0; i < fit->cnt; i++) {
                        int32_t other = predict(fit, way, partition_cnt, i);

                        if (is_explained_by_others(fit, j, i) || other == predict(fit, pick->way, pick->partition_cnt, i))
                                continue;
                        part.mine[part.cnt] = pick->matches[i];
                        part.theirs[part.cnt] = other == fit->partitions[i];
                        part.partitions[part.cnt++] = fit->partitions[i];
                }
                lead = part_gain(fit, &part, part.mine) - part_gain(fit, &part, part.theirs);
        }
        part_release(&part);
        return lead;
}

/*
 * Takes out what later components made superfluous, the weakest first. Whether a function is merely like what placed
 * the rest can be said only at the end: until then the rest holds functions that are not found yet.
 */
static void prune(struct rp_fit *fit, bool is_final)
{
        for (;;) {
                size_t weakest = 0;
                double least = INFINITY;

                for (size_t j = 0; j < fit->mixture.component_cnt; j++) {
                        double profit = (is_final ? rp_fit_worth(fit, j) : worth(fit, j)) - fit->picks[j].price;

                        if (own_evidence(fit, j) < EVIDENCE_MIN)
                                profit = fmin(profit, -1);
                        if (profit < least) {
                                least = profit;
                                weakest = j;
                        }
                }
                if (least > 0)
                        return;
                remove_pick(fit, weakest);
                rp_mixture_fit(&fit->mixture);
        }
}

void rp_fit_search(struct rp_fit *fit)
{
        struct rp_pick best;
        double value = 0; /* fit less prices: rises with every round, so the search ends */

        rp_mixture_fit(&fit->mixture);
        for (value = fit->mixture.fit; fit->mixture.component_cnt < RP_COMPONENTS_MAX && find_best(fit, &best);) {
                double now;

                fit->picks[fit->mixture.component_cnt] = best;
                rp_mixture_add(&fit->mixture, best.matches);
                rp_mixture_fit(&fit->mixture);
                prune(fit, false);
                now = fit->mixture.fit;
                for (size_t j = 0; j < fit->mixture.component_cnt; j++)
                        now -= fit->picks[j].price;
                if (now <= value + 1e-6)
                        break;
                value = now;
        }
        prune(fit, true);
}

bool rp_fit_init(struct rp_fit *fit, const struct rp_sample_key *keys, size_t key_cnt, int32_t partition_cnt,
                 const struct rp_ways *ways)
{
        *fit = (struct rp_fit){ .ways = ways, .partition_cnt = partition_cnt };
        if (gather(fit, keys, key_cnt) && try_current(fit) &&
            rp_mixture_init(&fit->mixture, fit->partitions, fit->cnt, partition_cnt))
                return true;
        rp_fit_release(fit);
        return false;
}

void rp_fit_release(struct rp_fit *fit)
{
        while (fit->mixture.component_cnt)
                remove_pick(fit, fit->mixture.component_cnt - 1);
        rp_mixture_release(&fit->mixture);
        for (size_t w = 0; fit->current && w < fit->ways->cnt; w++)
                free(fit->current[w]);
        free(fit->current);
        free(fit->is_usable);
        free(fit->pairs);
        free(fit->partitions);
        *fit = (struct rp_fit){ 0 };
}
