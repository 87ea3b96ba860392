/*
 * Shares and differences of rules, by arithmetic where the map allows: a map that repeats with the hash (modulo, slots)
 * is compared residue by residue, one of stretches (hash-range, ring) bound by bound. Everything else is counted on a
 * sample of random keys that is always the same.
 */
#include "../map/hash_range.h"
#include "../map/range.h"
#include "../map/table.h"
#include "../policy/policy.h"
#include "flows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MAX 100000000.0 /* steps of exact arithmetic; beyond, sampling is the better use of a second */

enum { SAMPLE_CNT = 1000000, SMALL_BITS = 20 };

/* A rule without its pinned keys, and what one needs to know of its map. */
struct side {
        const kr_rule_t *rule;
        const struct kr_map *map;
        int32_t cnt;
        uint64_t period;         /* 0: does not repeat */
        const uint64_t *bounds;  /* NULL: no stretches */
        size_t bound_cnt;
};

static struct side side_of(const kr_rule_t *rule, int32_t partition_cnt)
{
        struct side side = { .rule = rule, .map = &rule->map, .cnt = partition_cnt };

        while (side.map->kind == &kr_map_table)
                side.map = kr_map_table_other(side.map);
        if (side.map->kind->period)
                side.period = side.map->kind->period(side.map, partition_cnt);
        if (side.map->kind->bounds)
                side.bounds = side.map->kind->bounds(side.map, &side.bound_cnt);
        return side;
}

static bool is_by_hash(const struct side *side)
{
        return side->period || side->bounds;
}

static int32_t owner(const struct side *side, uint64_t hash)
{
        return kr_map_partition_of(side->map, hash, side->cnt);
}

static double space_of(const kr_hash_t *hash)
{
        double space = 1;

        for (unsigned i = 0; i < hash->bits; i++)
                space *= 2;
        return space;
}

/* ---- shares ---- */

kr_basis_t kr_rule_shares(const kr_rule_t *rule, int32_t partition_cnt, double *shares)
{
        struct side side = side_of(rule, partition_cnt);
        double space = space_of(rule->hash);

        for (int32_t p = 0; p < partition_cnt; p++)
                shares[p] = side.map->kind == &kr_map_twolevel ? 1.0 / partition_cnt : 0;
        if (side.period)
                for (uint64_t h = 0; h < side.period; h++)
                        shares[owner(&side, h)] += 1.0 / (double)side.period;
        for (size_t i = 0; side.bounds && i <= side.bound_cnt; i++) {
                uint64_t start = i ? side.bounds[i - 1] : 0;
                double end = i < side.bound_cnt ? (double)side.bounds[i] : space;

                shares[owner(&side, start)] += (end - (double)start) / space;
        }
        return is_by_hash(&side) || side.map->kind == &kr_map_twolevel ? KR_EXACT : KR_UNKNOWN;
}

/* ---- two maps over one hash ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
        while (b) {
                uint64_t rest = a % b;

                a = b;
                b = rest;
        }
        return a;
}

/* How often each owner has one of the residues r, r + step, ... below the period. */
struct tally {
        int32_t *owners;
        double *times;
        size_t cnt;
        size_t *place; /* of an owner in the two above, plus 1; 0: not seen */
};

static bool tally_init(struct tally *tally, const struct side *side)
{
        size_t cnt = (size_t)side->cnt;

        tally->owners = malloc(cnt * sizeof(*tally->owners));
        tally->times = malloc(cnt * sizeof(*tally->times));
        tally->place = calloc(cnt, sizeof(*tally->place));
        tally->cnt = 0;
        return tally->owners && tally->times && tally->place;
}

static void tally_release(struct tally *tally)
{
        free(tally->owners);
        free(tally->times);
        free(tally->place);
}

static void tally_take(struct tally *tally, const struct side *side, uint64_t first, uint64_t step)
{
        for (size_t i = 0; i < tally->cnt; i++)
                tally->place[tally->owners[i]] = 0;
        tally->cnt = 0;
        for (uint64_t h = first; h < side->period; h += step) {
                int32_t o = owner(side, h);

                if (!tally->place[o]) {
                        tally->owners[tally->cnt] = o;
                        tally->times[tally->cnt] = 0;
                        tally->place[o] = ++tally->cnt;
                }
                tally->times[tally->place[o] - 1]++;
        }
}

/*
 * Over lcm(a, b) hashes, each pair of residues that agree modulo gcd(a, b) occurs exactly once. So per class of the gcd
 * the pairs of owners are the products of how often each occurs.
 */
static bool add_periodic(const struct side *a, const struct side *b, struct kr_flows *flows)
{
        uint64_t step = gcd(a->period, b->period);
        struct tally ta = { 0 }, tb = { 0 };
        bool ok = tally_init(&ta, a) & tally_init(&tb, b);

        for (uint64_t r = 0; ok && r < step; r++) {
                tally_take(&ta, a, r, step);
                tally_take(&tb, b, r, step);
                for (size_t i = 0; ok && i < ta.cnt; i++)
                        for (size_t j = 0; ok && j < tb.cnt; j++)
                                ok = kr_flows_add(flows, ta.owners[i], tb.owners[j], ta.times[i] * tb.times[j]);
        }
        tally_release(&ta);
        tally_release(&tb);
        return ok;
}

static double periodic_work(const struct side *a, const struct side *b)
{
        double step = (double)gcd(a->period, b->period);
        double each_a = (double)a->period / step, each_b = (double)b->period / step;

        each_a = each_a < a->cnt ? each_a : a->cnt;
        each_b = each_b < b->cnt ? each_b : b->cnt;
        return (double)a->period + (double)b->period + step * each_a * each_b;
}

/* Where either map may change its owner next, above `at`; 0 when it does not. */
static uint64_t next_bound(const struct side *side, size_t *i)
{
        return *i < side->bound_cnt ? side->bounds[*i] : 0;
}

static bool add_stretches(const struct side *a, const struct side *b, double space, struct kr_flows *flows)
{
        size_t i = 0, j = 0;
        uint64_t at = 0;

        for (;;) {
                uint64_t next_a = next_bound(a, &i), next_b = next_bound(b, &j);
                uint64_t next = !next_a || (next_b && next_b < next_a) ? next_b : next_a;

                if (!kr_flows_add(flows, owner(a, at), owner(b, at), (next ? (double)next : space) - (double)at))
                        return false;
                if (!next)
                        return true;
                i += next == next_a;
                j += next == next_b;
                at = next;
        }
}

/* Whole turns of the period fall on every owner alike; the rest of each stretch is walked. */
static bool add_mixed(const struct side *stretches, const struct side *periodic, bool swapped, struct kr_flows *flows)
{
        uint64_t max = kr_hash_max(stretches->rule->hash);
        struct tally all = { 0 };
        bool ok = tally_init(&all, periodic);

        if (ok)
                tally_take(&all, periodic, 0, 1);
        for (size_t i = 0; ok && i <= stretches->bound_cnt; i++) {
                uint64_t start = i ? stretches->bounds[i - 1] : 0;
                uint64_t last = i < stretches->bound_cnt ? stretches->bounds[i] - 1 : max;
                uint64_t turns = (last - start) / periodic->period, rest = (last - start) % periodic->period + 1;
                int32_t from = owner(stretches, start);

                for (size_t k = 0; ok && turns && k < all.cnt; k++)
                        ok = kr_flows_add(flows, swapped ? all.owners[k] : from, swapped ? from : all.owners[k],
                                          (double)turns * all.times[k]);
                for (uint64_t h = start; ok && h < start + rest; h++) {
                        int32_t to = owner(periodic, h);

                        ok = kr_flows_add(flows, swapped ? to : from, swapped ? from : to, 1);
                }
        }
        tally_release(&all);
        return ok;
}

static double mixed_work(const struct side *stretches, const struct side *periodic)
{
        return (double)(stretches->bound_cnt + 1) * (double)periodic->period;
}

static bool add_every_hash(const struct side *a, const struct side *b, struct kr_flows *flows)
{
        for (uint64_t h = 0; h >> a->rule->hash->bits == 0; h++)
                if (!kr_flows_add(flows, owner(a, h), owner(b, h), 1))
                        return false;
        return true;
}

/* Adds what goes where exactly, when that is possible with reasonable work: then *done. */
static bool add_exactly(const struct side *a, const struct side *b, struct kr_flows *flows, bool *done)
{
        const kr_hash_t *hash = a->rule->hash;
        double space = space_of(hash);

        *done = true;
        if (hash->bits <= SMALL_BITS)
                return add_every_hash(a, b, flows);
        if (a->bounds && b->bounds)
                return add_stretches(a, b, space, flows);
        if (a->bounds && mixed_work(a, b) < WORK_MAX)
                return add_mixed(a, b, false, flows);
        if (b->bounds && mixed_work(b, a) < WORK_MAX)
                return add_mixed(b, a, true, flows);
        /* The last turn, which the hash space cuts short, must not weigh: less than one in 256. */
        if (a->period && b->period && periodic_work(a, b) < WORK_MAX &&
            (double)a->period / (double)gcd(a->period, b->period) * (double)b->period <= space / 256)
                return add_periodic(a, b, flows);
        *done = false;
        return true;
}

/* ---- the rest ---- */

static uint64_t next_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

/* Random routing bytes, of two parts when a map takes them apart: both random, the other fields of the first are "x". */
static size_t random_bytes(const struct kr_split *split, uint64_t *state, unsigned char *out)
{
        uint64_t first = next_random(state), rest = next_random(state);
        size_t at = 0;

        if (split && split->first_len) {
                memset(out, 'x', split->first_len);
                memcpy(out, &first, split->first_len < sizeof(first) ? split->first_len : sizeof(first));
                at = split->first_len;
        } else {
                at = (size_t)sprintf((char *)out, "%016" PRIx64, first);
        }
        for (size_t i = 0; split && i < split->first_fields; i++) {
                if (i)
                        out[at++] = 'x';
                memcpy(out + at, split->delimiter, split->delimiter_len);
                at += split->delimiter_len;
        }
        memcpy(out + at, &rest, sizeof(rest));
        return at + sizeof(rest);
}

static const struct kr_split *split_of(const struct side *side)
{
        return side->map->kind == &kr_map_twolevel ? side->map->kind->split(side->map) : NULL;
}

static bool add_sample(const struct side *a, const struct side *b, struct kr_flows *flows)
{
        enum { ROOM = 1 << 16 };
        const struct kr_split *split = split_of(a) ? split_of(a) : split_of(b);
        unsigned char *bytes = malloc(ROOM);
        uint64_t state = 1;
        bool ok = bytes;

        for (int i = 0; ok && i < SAMPLE_CNT; i++) {
                struct kr_bytes sample = { bytes, random_bytes(split, &state, bytes) };

                ok = kr_flows_add(flows, kr_rule_partition_of_bytes(a->rule, sample, a->cnt),
                                  kr_rule_partition_of_bytes(b->rule, sample, b->cnt), 1);
        }
        free(bytes);
        return ok;
}

/* Nothing in one hash tells of the other: the pair of partitions is as likely as both together. */
static bool add_independent(const struct side *a, const struct side *b, struct kr_flows *flows)
{
        double *shares = calloc((size_t)a->cnt + (size_t)b->cnt, sizeof(*shares));
        double *other = shares + a->cnt;
        bool ok = shares;

        if (ok) {
                kr_rule_shares(a->rule, a->cnt, shares);
                kr_rule_shares(b->rule, b->cnt, other);
        }
        for (int32_t p = 0; ok && p < a->cnt; p++)
                for (int32_t q = 0; ok && q < b->cnt; q++)
                        if (shares[p] > 0 && other[q] > 0)
                                ok = kr_flows_add(flows, p, q, shares[p] * other[q]);
        free(shares);
        return ok;
}

static bool add_flows(const struct side *a, const struct side *b, struct kr_comparison *out, struct kr_flows *flows)
{
        bool done = false;

        out->basis = KR_UNKNOWN;
        if (a->map->kind == &kr_map_range || b->map->kind == &kr_map_range)
                return true;
        if (!kr_rule_same_key(a->rule, b->rule)) {
                out->basis = (double)a->cnt * b->cnt < WORK_MAX ? KR_INDEPENDENT : KR_UNKNOWN;
                return out->basis == KR_UNKNOWN || add_independent(a, b, flows);
        }
        out->basis = KR_EXACT;
        if (a->rule->hash == b->rule->hash && is_by_hash(a) && is_by_hash(b) && !add_exactly(a, b, flows, &done))
                return false;
        if (done)
                return true;
        out->basis = KR_SAMPLED;
        return add_sample(a, b, flows);
}

/* ---- pinned keys ---- */

static bool same_pins(int32_t found_a, const int32_t *list_a, int32_t found_b, const int32_t *list_b)
{
        if (found_a != found_b)
                return false;
        return found_a != KR_TABLE_LIST ||
               (list_a[0] == list_b[0] && !memcmp(list_a, list_b, ((size_t)list_a[0] + 1) * sizeof(*list_a)));
}

static void compare_tables(const struct kr_table *a, const struct kr_table *b, struct kr_comparison *out)
{
        struct kr_table_entry entry;
        uint64_t both = 0;

        for (size_t at = 0; kr_table_next(a, &at, &entry);) {
                const int32_t *list_a = NULL, *list_b = NULL;
                int32_t found_a = kr_table_find_hash(a, &entry, &list_a);
                int32_t found_b = kr_table_find_hash(b, &entry, &list_b);

                if (found_b == KR_TABLE_NONE)
                        continue;
                both++;
                if (same_pins(found_a, list_a, found_b, list_b))
                        out->pins_same++;
                else
                        out->pins_changed++;
        }
        out->pins_removed += a->row_cnt - both;
        out->pins_added += b->row_cnt - both;
}

/* Table by table, as they stand one behind the other. */
static void compare_pins(const struct kr_map *a, const struct kr_map *b, struct kr_comparison *out)
{
        bool ta = a->kind == &kr_map_table, tb = b->kind == &kr_map_table;

        if (ta && tb)
                compare_tables(kr_map_table_rows(a), kr_map_table_rows(b), out);
        else if (ta)
                out->pins_removed += kr_map_table_rows(a)->row_cnt;
        else if (tb)
                out->pins_added += kr_map_table_rows(b)->row_cnt;
        else
                return;
        compare_pins(ta ? kr_map_table_other(a) : a, tb ? kr_map_table_other(b) : b, out);
}

/* ---- ranges of keys ---- */

static int compare_bytes(struct kr_bytes a, struct kr_bytes b)
{
        size_t len = a.len < b.len ? a.len : b.len;
        int order = len ? memcmp(a.data, b.data, len) : 0;

        return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

static bool add_ranges(const struct side *a, const struct side *b, struct kr_comparison *out)
{
        size_t cnt_a = kr_range_cnt(a->map), cnt_b = kr_range_cnt(b->map), i = 0, j = 0;

        out->ranges = calloc(cnt_a + cnt_b, sizeof(*out->ranges));
        if (!out->ranges)
                return false;
        while (i < cnt_a && j < cnt_b) {
                struct kr_bytes start_a = kr_range_start(a->map, i), start_b = kr_range_start(b->map, j);
                struct kr_bytes start = compare_bytes(start_a, start_b) > 0 ? start_a : start_b;
                bool more_a = i + 1 < cnt_a, more_b = j + 1 < cnt_b;
                struct kr_bytes end_a = more_a ? kr_range_start(a->map, i + 1) : start;
                struct kr_bytes end_b = more_b ? kr_range_start(b->map, j + 1) : start;
                int order = !more_a ? !more_b ? 0 : 1 : !more_b ? -1 : compare_bytes(end_a, end_b);
                struct kr_bytes end = order <= 0 ? end_a : end_b;
                int32_t from = kr_rule_partition_of_bytes(a->rule, start, a->cnt);
                int32_t to = kr_rule_partition_of_bytes(b->rule, start, b->cnt);

                if (from != to)
                        out->ranges[out->range_cnt++] = (struct kr_key_range){
                                .start = start.data,
                                .start_len = start.len,
                                .end = more_a || more_b ? end.data : NULL,
                                .end_len = more_a || more_b ? end.len : 0,
                                .from = from,
                                .to = to,
                        };
                i += order <= 0;
                j += order >= 0;
        }
        return true;
}

bool kr_rule_compare(const kr_rule_t *a, int32_t a_cnt, const kr_rule_t *b, int32_t b_cnt, struct kr_comparison *out,
                     struct kr_error *err)
{
        struct kr_flows flows = { 0 };
        struct side sa, sb;
        bool ok;

        *out = (struct kr_comparison){ 0 };
        if (a_cnt < 1 || b_cnt < 1 || (a->partition_cnt && a->partition_cnt != a_cnt) ||
            (b->partition_cnt && b->partition_cnt != b_cnt)) {
                snprintf(err->text, sizeof(err->text), "%.249s: %s", a->topic, kr_strerror(KR_ERR_PARTITION_COUNT));
                return false;
        }
        sa = side_of(a, a_cnt);
        sb = side_of(b, b_cnt);
        ok = add_flows(&sa, &sb, out, &flows);
        if (ok && sa.map->kind == &kr_map_range && sb.map->kind == &kr_map_range && kr_rule_same_key(a, b))
                ok = add_ranges(&sa, &sb, out);
        if (ok)
                out->flows = kr_flows_finish(&flows, &out->flow_cnt, &out->moved);
        kr_flows_release(&flows);
        if (!ok || !out->flows) {
                kr_comparison_release(out);
                snprintf(err->text, sizeof(err->text), "%.249s: out of memory", a->topic);
                return false;
        }
        compare_pins(&a->map, &b->map, out);
        return true;
}

void kr_comparison_release(struct kr_comparison *comparison)
{
        free(comparison->flows);
        free(comparison->ranges);
        *comparison = (struct kr_comparison){ 0 };
}
