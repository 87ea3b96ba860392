#include "decide/conform.h"

#include "decide/forms.h"
#include "decide/mistakes.h"
#include "decide/plain_mistakes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 4096, PROBES = 16 };

/* NULL first: the key as it is. Then mistakes, then what audits look for. false past the last. */
static bool form_at(size_t i, const struct rp_form **form, bool *is_mistake)
{
        size_t mistakes = 0;

        while (rp_mistake_at(mistakes))
                mistakes++;
        *is_mistake = i > 0 && i <= mistakes;
        *form = i == 0 ? NULL : *is_mistake ? rp_mistake_at(i - 1) : rp_form_at(i - 1 - mistakes);
        return i == 0 || *form;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

rp_err_t rp_conform_init(struct rp_conform *conform, const kr_rule_t *rule, int32_t partition_cnt,
                         const struct rp_vectors *vectors, struct rp_error *err)
{
        *conform = (struct rp_conform){ .rule = rule, .partition_cnt = partition_cnt,
                                        .cases = calloc(vectors->cnt, sizeof(*conform->cases)),
                                        .case_cnt = vectors->cnt };
        if (!conform->cases)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < vectors->cnt; i++) {
                const struct rp_vector *vector = &vectors->list[i];
                int32_t to = kr_rule_partition(rule, vector->key, vector->key_len, partition_cnt);

                conform->cases[i] = (struct rp_conform_case){ vector, to < 0 ? RP_ANSWER_NONE : to, RP_ANSWER_ABSENT, false };
        }
        return RP_OK;
}

void rp_conform_release(struct rp_conform *conform)
{
        free(conform->cases);
        *conform = (struct rp_conform){ 0 };
}

void rp_conform_describe(const struct rp_conform *conform, const struct rp_conform_case *at, char *out, size_t size)
{
        if (at->ok)
                snprintf(out, size, "%s", "");
        else if (at->answer == RP_ANSWER_ABSENT)
                snprintf(out, size, "the key did not arrive, expected in partition %" PRId32, at->wanted);
        else if (at->answer == RP_ANSWER_NONE)
                snprintf(out, size, "no partition, expected %" PRId32, at->wanted);
        else if (at->answer == RP_ANSWER_NEGATIVE)
                snprintf(out, size, "a negative number, expected %" PRId32 ": the sign of the hash went into the remainder",
                         at->wanted);
        else if (at->wanted == RP_ANSWER_NONE)
                snprintf(out, size, "%" PRId64 ", but the policy refuses this key", at->answer);
        else
                snprintf(out, size, "%" PRId64 ", expected %" PRId32 "%s", at->answer, at->wanted,
                         at->answer >= conform->partition_cnt || at->answer < 0 ? ", and no such partition exists" : "");
}

/* ---- what it does instead --------------------------------------------------------------------------------------------- */

/*
 * How many answers a way over a form gives; *of gets the cases that say something. Where a form of audits does not apply,
 * most programs take the key as it is; where one of mistakes does not, the key is too long for us.
 */
static size_t count_alike(const struct rp_conform *conform, const struct rp_way *way, const struct rp_form *form,
                          bool is_mistake, int32_t partition_cnt, size_t *of)
{
        size_t agree = 0;

        *of = 0;
        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];
                struct rp_way formed = *way;
                int32_t to;

                if (!at->vector->key_len || at->answer == RP_ANSWER_ABSENT)
                        continue;
                formed.form = form && form->encode ? form : NULL;
                to = rp_way_partition(&formed, at->vector->key, at->vector->key_len, partition_cnt);
                if (to == -1 && is_mistake)
                        continue;
                if (to == -1)
                        to = rp_way_partition(way, at->vector->key, at->vector->key_len, partition_cnt);
                agree += to == at->answer;
                ++*of;
        }
        return agree;
}

static void consider(struct rp_conform *conform, const struct rp_way *way, const struct rp_form *form,
                     bool is_mistake, int32_t partition_cnt)
{
        struct rp_conform_likeness *best = &conform->likeness;
        size_t of, agree = count_alike(conform, way, form, is_mistake, partition_cnt, &of);

        if (agree > best->agree)
                *best = (struct rp_conform_likeness){ way, form ? form->name : NULL, partition_cnt, agree, of };
}

/* Whether a count is worth a look at all: most are ruled out by the first few short keys. */
static bool is_promising(const struct rp_conform *conform, const struct rp_way *way, int32_t partition_cnt)
{
        int seen = 0, alike = 0;

        for (size_t i = 0; i < conform->case_cnt && seen < PROBES; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                if (*at->vector->flags || at->answer == RP_ANSWER_ABSENT)
                        continue;
                seen++;
                alike += rp_way_partition(way, at->vector->key, at->vector->key_len, partition_cnt) == at->answer;
        }
        return alike * 2 > seen;
}

/* The judge first, so that of equals it wins; then functions, then forms, then counts: the plainest explanation. */
static void find_likeness(struct rp_conform *conform, const struct rp_ways *ways)
{
        const struct rp_form *form;
        bool is_mistake;
        int32_t cnt = conform->partition_cnt;

        for (size_t f = 0; form_at(f, &form, &is_mistake); f++) {
                if (form && !form->encode)
                        continue; /* parts of the key are what policies are for, no mistake of a program's */
                consider(conform, &ways->list[ways->judge], form, is_mistake, cnt);
                for (size_t w = 0; w < ways->cnt; w++)
                        if (w != ways->judge)
                                consider(conform, &ways->list[w], form, is_mistake, cnt);
                if (conform->likeness.agree == conform->likeness.of && conform->likeness.of)
                        return;
        }
        for (size_t w = 0; w < ways->cnt; w++)
                for (int32_t n = 1; n <= COUNT_MAX && ways->list[w].takes_any_count; n++)
                        if (n != cnt && is_promising(conform, &ways->list[w], n))
                                consider(conform, &ways->list[w], NULL, false, n);
}

static bool has_high_byte(const struct rp_vector *vector)
{
        for (size_t i = 0; i < vector->key_len; i++)
                if (vector->key[i] & 0x80)
                        return true;
        return false;
}

/*
 * What the failed keys have in common and the right ones have not: "HighByte" when every one holds such a byte, else the
 * flag of which most cases fail, if at least half of them do; "" when there is none.
 */
static void find_flag(const struct rp_conform *conform, char *out, size_t size)
{
        size_t most = 0, high = 0;

        *out = '\0';
        if (conform->failed_cnt == conform->case_cnt) /* none is right, so nothing tells them from the right ones */
                return;
        for (size_t i = 0; i < conform->case_cnt; i++) {
                char flags[256], *rest = flags, *flag;

                if (conform->cases[i].ok)
                        continue;
                high += has_high_byte(conform->cases[i].vector);
                snprintf(flags, sizeof(flags), "%s", conform->cases[i].vector->flags);
                while ((flag = strtok_r(rest, " ", &rest))) {
                        size_t bad = 0, good = 0;

                        for (size_t j = 0; j < conform->case_cnt; j++)
                                if (strstr(conform->cases[j].vector->flags, flag))
                                        conform->cases[j].ok ? good++ : bad++;
                        if (bad > most && bad >= good) {
                                most = bad;
                                snprintf(out, size, "%s", flag);
                        }
                }
        }
        if (high == conform->failed_cnt)
                snprintf(out, size, "%s", "HighByte");
}

static bool has_only_the_empty_key_failed(const struct rp_conform *conform)
{
        for (size_t i = 0; i < conform->case_cnt; i++)
                if (!conform->cases[i].ok && conform->cases[i].vector->key_len)
                        return false;
        return conform->failed_cnt > 0;
}

static bool have_any_arrived(const struct rp_conform *conform)
{
        for (size_t i = 0; i < conform->case_cnt; i++)
                if (conform->cases[i].answer != RP_ANSWER_ABSENT)
                        return true;
        return false;
}

/*
 * True, and described, when answers that have nothing to do with the key would agree as often: a binomial share, and four
 * standard deviations more, since it is the best of some hundred functions and forms.
 */
static bool describe_chance(struct rp_conform *conform, const struct rp_way *judge)
{
        const struct rp_conform_likeness *like = &conform->likeness;
        double share = 1.0 / like->partition_cnt, of = (double)like->of;

        conform->is_unknown = (double)like->agree <= of * share + 4 * sqrt(of * share * (1 - share));
        if (!conform->is_unknown)
                return false;
        snprintf(conform->verdict, sizeof(conform->verdict), "behaves as no known function: with none it agrees more often than chance "
                 "would");
        snprintf(conform->fix, sizeof(conform->fix), "hash by %s; if it should do so already, look whether it gets the key's bytes, and "
                 "places by them alone", judge->name);
        return true;
}

void rp_conform_ask_again(struct rp_conform *conform, const int64_t *answers)
{
        size_t other = 0;

        for (size_t i = 0; i < conform->case_cnt; i++)
                other += answers[i] != conform->cases[i].answer;
        if (!other)
                return;
        snprintf(conform->verdict, sizeof(conform->verdict), "goes not by the key alone: asked again in the reverse order, it answered "
                 "%zu of %zu keys otherwise", other, conform->case_cnt);
        snprintf(conform->fix, sizeof(conform->fix), "place by the key: what it does, at random or in turn, is right for records without "
                 "one");
}

static void describe(struct rp_conform *conform, const struct rp_ways *ways)
{
        const struct rp_conform_likeness *like = &conform->likeness;
        const struct rp_way *judge = &ways->list[ways->judge];
        bool is_like = like->of && like->agree * 100 >= like->of * RP_ALIKE_MIN;
        char flag[64], share[80];

        if (!have_any_arrived(conform)) {
                snprintf(conform->verdict, sizeof(conform->verdict), "none of the golden keys arrived");
                snprintf(conform->fix, sizeof(conform->fix), "let the producer write what repartition conform --print-keys prints, "
                         "unchanged, to this topic");
                return;
        }
        if (conform->failed_cnt && !is_like && (rp_plain_mistake(conform, ways) || describe_chance(conform, judge))) {
                conform->likeness = (struct rp_conform_likeness){ .partition_cnt = conform->partition_cnt };
                return;
        }
        snprintf(share, sizeof(share), "%zu of %zu keys that are not empty", like->agree, like->of);
        if (is_like)
                snprintf(conform->verdict, sizeof(conform->verdict), "behaves as %s%s%s with %" PRId32 " partitions: %s",
                         like->way->name, like->form ? " over another form of the key: " : "", like->form ? like->form : "",
                         like->partition_cnt, share);
        else
                snprintf(conform->verdict, sizeof(conform->verdict), "behaves as no known function: the nearest is %s, %s",
                         like->way ? like->way->name : "none", share);
        if (!conform->failed_cnt)
                return;
        find_flag(conform, flag, sizeof(flag));
        if (is_like && like->form)
                snprintf(conform->fix, sizeof(conform->fix), "hash the key's bytes as they are: it hashes %s", like->form);
        else if (is_like && like->partition_cnt != conform->partition_cnt)
                snprintf(conform->fix, sizeof(conform->fix), "use the topic's %" PRId32 " partitions: it counts %" PRId32,
                         conform->partition_cnt, like->partition_cnt);
        else if (is_like && like->way != judge && like->agree == like->of)
                snprintf(conform->fix, sizeof(conform->fix), "hash by %s; those who place by %s are %s, and the remedy there is: %s",
                         judge->name, like->way->name, like->way->clients, like->way->fix);
        else if (has_only_the_empty_key_failed(conform))
                snprintf(conform->fix, sizeof(conform->fix), "hash the empty key as any other: a key of no bytes is not a missing key");
        else
                snprintf(conform->fix, sizeof(conform->fix), "look at the failed keys%s%s", *flag ? ": what they have in common is " : "", flag);
}

void rp_conform_judge(struct rp_conform *conform, const struct rp_ways *ways)
{
        conform->failed_cnt = 0;
        conform->likeness = (struct rp_conform_likeness){ .partition_cnt = conform->partition_cnt };
        for (size_t i = 0; i < conform->case_cnt; i++) {
                struct rp_conform_case *at = &conform->cases[i];

                at->ok = at->answer == at->wanted || (at->wanted == RP_ANSWER_NONE && at->answer == RP_ANSWER_ABSENT);
                conform->failed_cnt += !at->ok;
                if (!at->vector->key_len && !at->ok)
                        conform->empty_is_null = at->answer == RP_ANSWER_NONE || at->answer == RP_ANSWER_ABSENT;
        }
        if (conform->failed_cnt && rp_plain_constant(conform))
                return;
        find_likeness(conform, ways);
        describe(conform, ways);
}
