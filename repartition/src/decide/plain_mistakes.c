#include "decide/plain_mistakes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { FEW = 10 /* at most one of so many */ };

static bool is_number(const struct rp_conform_case *at)
{
        return at->answer >= 0 && at->answer != RP_ANSWER_NEGATIVE;
}

/* The empty key tells nothing here: many programs answer it apart from all others. */
static bool counts(const struct rp_conform_case *at)
{
        return at->vector->key_len && at->answer != RP_ANSWER_ABSENT;
}

static bool is_most(size_t cnt, size_t of)
{
        return of && cnt * 100 >= of * RP_ALIKE_MIN;
}

static void __attribute__((format(printf, 2, 3))) say(struct rp_conform *conform, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(conform->verdict, sizeof(conform->verdict), format, args);
        va_end(args);
}

static void __attribute__((format(printf, 2, 3))) advise(struct rp_conform *conform, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(conform->fix, sizeof(conform->fix), format, args);
        va_end(args);
}

static void advise_range(struct rp_conform *conform)
{
        advise(conform, "answer a partition from 0 to %" PRId32 ": the hash without its sign bit, as Java takes it, modulo the "
               "partition count, which is in KEYROUTE_PARTITIONS", conform->partition_cnt - 1);
}

bool rp_plain_constant(struct rp_conform *conform)
{
        const struct rp_conform_case *first = NULL;
        size_t cnt = 0;

        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                if (!counts(at))
                        continue;
                first = first ? first : at;
                if (at->answer != first->answer)
                        return false;
                cnt++;
        }
        if (cnt < 2)
                return false;
        if (first->answer == RP_ANSWER_NONE) {
                say(conform, "spreads every key: it names no partition for any of %zu", cnt);
                advise(conform, "place by the key: what it does is right for records without one");
        } else if (first->answer == RP_ANSWER_NEGATIVE) {
                say(conform, "answers a negative number for each of %zu keys", cnt);
                advise_range(conform);
        } else if (first->answer >= conform->partition_cnt) {
                say(conform, "always partition %" PRId64 ", whatever the key, and no such partition exists", first->answer);
                advise_range(conform);
        } else {
                say(conform, "always partition %" PRId64 ", whatever the key", first->answer);
                advise(conform, "place by the key: look whether it reaches the partitioner at all, and whether that counts %" PRId32
                       " partitions (KEYROUTE_PARTITIONS)", conform->partition_cnt);
        }
        return true;
}

/* ---- in turn, in batches ---------------------------------------------------------------------------------------------- */

static bool find_turns(struct rp_conform *conform)
{
        const struct rp_conform_case *before = NULL;
        size_t steps = 0, by_one = 0, changes = 0;

        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                if (!is_number(at))
                        continue;
                if (before) {
                        steps++;
                        by_one += (at->answer - before->answer - 1) % conform->partition_cnt == 0;
                        changes += at->answer != before->answer;
                }
                before = at;
        }
        if (conform->partition_cnt < 2 || !steps)
                return false;
        if (is_most(by_one, steps))
                say(conform, "round robin: %zu of %zu answers are the one before plus 1, whatever the key", by_one, steps);
        else if (changes * FEW <= steps)
                say(conform, "in batches: only %zu of %zu answers differ from the one before, whatever the key", changes, steps);
        else
                return false;
        advise(conform, "place by the key: what it does is right for records without one");
        return true;
}

/* ---- numbers that are no partition ------------------------------------------------------------------------------------- */

/* The way whose partitions the numbers would be, with `off` taken away and, when `is_reduced`, modulo the count. */
static const struct rp_way *find_way(const struct rp_conform *conform, const struct rp_ways *ways, int64_t off, bool is_reduced)
{
        for (size_t w = 0; w < ways->cnt; w++) {
                const struct rp_way *way = &ways->list[w];
                size_t agree = 0, of = 0;

                for (size_t i = 0; i < conform->case_cnt; i++) {
                        const struct rp_conform_case *at = &conform->cases[i];
                        int64_t number = at->answer - off;

                        if (!counts(at))
                                continue;
                        of++;
                        if (is_number(at))
                                agree += rp_way_partition(way, at->vector->key, at->vector->key_len, conform->partition_cnt) ==
                                         (is_reduced ? number % conform->partition_cnt : number);
                }
                if (is_most(agree, of))
                        return way;
        }
        return NULL;
}

static bool find_outside(struct rp_conform *conform, const struct rp_ways *ways)
{
        size_t negative = 0, beyond = 0, of = 0;
        const struct rp_way *way, *judge = &ways->list[ways->judge];

        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                of += counts(at);
                negative += counts(at) && at->answer == RP_ANSWER_NEGATIVE;
                beyond += counts(at) && is_number(at) && at->answer >= conform->partition_cnt;
        }
        if (beyond && conform->partition_cnt > 1 && (way = find_way(conform, ways, 1, false))) {
                say(conform, "counts partitions from 1: each answer is that of %s plus 1", way->name);
                advise(conform, "count from 0 to %" PRId32 "%s%s", conform->partition_cnt - 1,
                       way == judge ? "" : ", and hash by ", way == judge ? "" : judge->name);
                return true;
        }
        /* A few are the business of those keys, and their flags tell of them. */
        if ((negative + beyond) * FEW < of)
                return false;
        if (beyond && !negative && conform->partition_cnt > 1 && (way = find_way(conform, ways, 0, true))) {
                say(conform, "answers hashes and not partitions: modulo %" PRId32 " they are those of %s", conform->partition_cnt,
                    way->name);
                advise(conform, "take the hash modulo the partition count, which is in KEYROUTE_PARTITIONS%s%s",
                       way == judge ? "" : ", and hash by ", way == judge ? "" : judge->name);
        } else if (!beyond) {
                say(conform, "answers a negative number for %zu of %zu keys: the sign of the hash goes into the remainder", negative, of);
                advise_range(conform);
        } else {
                say(conform, "answers numbers that are no partition: %zu of %zu are negative, %zu beyond %" PRId32, negative, of, beyond,
                    conform->partition_cnt - 1);
                advise_range(conform);
        }
        return true;
}

bool rp_plain_mistake(struct rp_conform *conform, const struct rp_ways *ways)
{
        return find_turns(conform) || find_outside(conform, ways);
}
