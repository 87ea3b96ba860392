#include "report/policy.h"

#include "report/json.h"
#include "report/key_json.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOWS_SHOWN = 20, RANGES_SHOWN = 20, KEY_SHOWN = 40 };

/* ---- one rule ---- */

static rp_err_t compare_with_java(struct rp_rule_view *view, struct rp_error *err)
{
        struct kr_comparison change;
        struct kr_error kerr;
        kr_policy_t *java = kr_policy_from_hash("murmur2", &kerr);
        bool ok = java && kr_rule_compare(view->rule, view->partition_cnt, kr_policy_rule_at(java, 0),
                                          view->partition_cnt, &change, &kerr);

        if (ok) {
                view->java_basis = change.basis;
                view->java_share = change.basis == KR_UNKNOWN ? 0 : 1 - change.moved;
                view->pin_cnt = change.pins_removed;
                kr_comparison_release(&change);
        }
        kr_policy_free(java);
        return ok ? RP_OK : rp_fail(err, RP_ERR_FATAL, "%s", kerr.text);
}

rp_err_t rp_rule_view(struct rp_rule_view *view, const kr_rule_t *rule, int32_t partition_cnt, struct rp_error *err)
{
        *view = (struct rp_rule_view){ .topic = kr_rule_topic(rule),
                                       .rule = rule,
                                       .partition_cnt = partition_cnt,
                                       .basis = KR_UNKNOWN,
                                       .java_basis = KR_UNKNOWN };
        if (!partition_cnt)
                return RP_OK;
        view->shares = calloc((size_t)partition_cnt, sizeof(*view->shares));
        if (!view->shares)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        view->basis = kr_rule_shares(rule, partition_cnt, view->shares);
        return compare_with_java(view, err);
}

void rp_rule_view_release(struct rp_rule_view *view)
{
        free(view->shares);
        *view = (struct rp_rule_view){ 0 };
}

static const char *basis_name(kr_basis_t basis)
{
        switch (basis) {
        case KR_EXACT:
                return "exact";
        case KR_SAMPLED:
                return "sampled";
        case KR_INDEPENDENT:
                return "independent";
        case KR_UNKNOWN:
                break;
        }
        return "unknown";
}

static const char *basis_note(kr_basis_t basis)
{
        switch (basis) {
        case KR_EXACT:
                return "computed exactly";
        case KR_SAMPLED:
                return "counted on 1,000,000 random keys, always the same";
        case KR_INDEPENDENT:
                return "computed as for hashes of unrelated bytes";
        case KR_UNKNOWN:
                break;
        }
        return "depends on the keys";
}

static bool same_location(const kr_rule_t *rule, int32_t p, int32_t q)
{
        const char *a = kr_rule_location(rule, p), *b = kr_rule_location(rule, q);

        return a && b ? !strcmp(a, b) : a == b;
}

static void print_shares(const struct rp_rule_view *view, FILE *out)
{
        struct rp_table *table = rp_table_new("lrrl");

        rp_table_cell(table, "partitions");
        rp_table_cell(table, "share each");
        rp_table_cell(table, "x mean");
        rp_table_cell(table, kr_rule_location(view->rule, 0) ? "location" : "");
        for (int32_t p = 0, next; p < view->partition_cnt; p = next) {
                const char *location = kr_rule_location(view->rule, p);

                for (next = p + 1; next < view->partition_cnt && same_location(view->rule, p, next) &&
                                   fabs(view->shares[next] - view->shares[p]) < 1e-9;)
                        next++;
                if (next - p == 1)
                        rp_table_cell(table, "%" PRId32, p);
                else
                        rp_table_cell(table, "%" PRId32 "-%" PRId32, p, next - 1);
                rp_table_cell(table, "%.3f %%", 100 * view->shares[p]);
                rp_table_cell(table, "%.3f", view->shares[p] * view->partition_cnt);
                rp_table_cell(table, "%s", location ? location : "");
        }
        rp_table_print(table, out, 2, 3);
        rp_table_free(table);
}

void rp_rule_view_text(const struct rp_rule_view *view, FILE *out)
{
        const kr_rule_t *rule = view->rule;

        fprintf(out, "%s\n  fingerprint  %s\n  partitions   ", view->topic, kr_rule_fingerprint(rule));
        if (kr_rule_partitions(rule))
                fprintf(out, "%" PRId32 "\n", kr_rule_partitions(rule));
        else
                fputs("any count\n", out);
        fprintf(out, "  key          %s\n  hash         %s\n  map          %s\n  memory       %s\n", kr_rule_key_use(rule),
                kr_hash_name(kr_rule_hash(rule)), kr_rule_map(rule), rp_text_bytes(kr_rule_memory_bytes(rule)).s);
        if (view->pin_cnt)
                fprintf(out, "  pinned       %s keys\n", rp_text_count(view->pin_cnt).s);
        if (!view->partition_cnt)
                return;
        if (view->java_basis == KR_UNKNOWN)
                fputs("  as Java      depends on the keys\n", out);
        else
                fprintf(out, "  as Java      %s of the keys (%s)\n", rp_text_share(view->java_share).s,
                        basis_note(view->java_basis));
        if (view->basis == KR_UNKNOWN) {
                fputs("  shares       depend on the keys\n", out);
                return;
        }
        fputc('\n', out);
        print_shares(view, out);
}

json_t *rp_rule_json(const kr_rule_t *rule)
{
        int32_t cnt = kr_rule_partitions(rule);

        return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:I}", "topic", kr_rule_topic(rule), "fingerprint",
                         kr_rule_fingerprint(rule), "partitions", cnt ? json_integer(cnt) : json_null(), "key",
                         kr_rule_key_use(rule), "hash", kr_hash_name(kr_rule_hash(rule)), "map", kr_rule_map(rule),
                         "memory_bytes", (json_int_t)kr_rule_memory_bytes(rule));
}

json_t *rp_rule_view_json(const struct rp_rule_view *view)
{
        json_t *out = rp_rule_json(view->rule);
        json_t *shares;

        json_object_set_new(out, "pinned_keys", json_integer((json_int_t)view->pin_cnt));
        if (!view->partition_cnt)
                return out;
        json_object_set_new(out, "java_basis", json_string(basis_name(view->java_basis)));
        json_object_set_new(out, "java_share",
                            view->java_basis == KR_UNKNOWN ? json_null() : rp_json_share(view->java_share));
        json_object_set_new(out, "basis", json_string(basis_name(view->basis)));
        shares = json_array();
        for (int32_t p = 0; p < view->partition_cnt; p++) {
                const char *location = kr_rule_location(view->rule, p);

                json_array_append_new(shares,
                                      json_pack("{s:i, s:o, s:o}", "partition", (int)p, "share",
                                                view->basis == KR_UNKNOWN ? json_null() : rp_json_share(view->shares[p]),
                                                "location", location ? json_string(location) : json_null()));
        }
        json_object_set_new(out, "shares", shares);
        return out;
}

/* ---- two rules ---- */

static void print_bound(FILE *out, const void *key, size_t len, const char *none)
{
        if (!len)
                fputs(none, out);
        else
                rp_text_key(out, key, len, KEY_SHOWN);
}

static void print_ranges(const struct kr_comparison *change, FILE *out)
{
        for (size_t i = 0; i < change->range_cnt && i < RANGES_SHOWN; i++) {
                const struct kr_key_range *range = &change->ranges[i];

                fputs("  keys from ", out);
                print_bound(out, range->start, range->start_len, "the first");
                fputs(" up to ", out);
                print_bound(out, range->end, range->end_len, "the last");
                fprintf(out, "   %" PRId32 " -> %" PRId32 "\n", range->from, range->to);
        }
        if (change->range_cnt > RANGES_SHOWN)
                fprintf(out, "  and %s more ranges of keys\n", rp_text_count(change->range_cnt - RANGES_SHOWN).s);
}

static void partition_cell(struct rp_table *table, int32_t partition)
{
        if (partition < 0)
                rp_table_cell(table, "refused");
        else
                rp_table_cell(table, "%" PRId32, partition);
}

static void print_flows(const struct kr_comparison *change, FILE *out)
{
        struct rp_table *table;

        if (!change->flow_cnt)
                return;
        table = rp_table_new("rrr");
        rp_table_cell(table, "from");
        rp_table_cell(table, "to");
        rp_table_cell(table, "share of all keys");
        for (size_t i = 0; i < change->flow_cnt && i < FLOWS_SHOWN; i++) {
                partition_cell(table, change->flows[i].from);
                partition_cell(table, change->flows[i].to);
                rp_table_cell(table, "%.3f %%", 100 * change->flows[i].share);
        }
        rp_table_print(table, out, 2, 3);
        rp_table_free(table);
        if (change->flow_cnt > FLOWS_SHOWN)
                fprintf(out, "  and %s more pairs; --output json has all\n",
                        rp_text_count(change->flow_cnt - FLOWS_SHOWN).s);
}

static void print_count(int32_t cnt, FILE *out)
{
        if (cnt)
                fprintf(out, "%" PRId32, cnt);
        else
                fputs("any", out);
}

static const char *java_text(const struct rp_rule_view *view, struct rp_text *text)
{
        if (view->java_basis == KR_UNKNOWN)
                return "?";
        *text = rp_text_share(view->java_share);
        return text->s;
}

void rp_rule_diff_text(const struct rp_rule_diff *diff, FILE *out)
{
        const struct kr_comparison *change = &diff->change;
        struct rp_text before, after;

        fputs(diff->topic, out);
        if (!diff->a.rule || !diff->b.rule) {
                fprintf(out, "   only in the %s policy\n", diff->a.rule ? "first" : "second");
                return;
        }
        if (diff->identical) {
                fprintf(out, "   routes identically   fingerprint %s\n", kr_rule_fingerprint(diff->a.rule));
                return;
        }
        fputs("   ", out);
        print_count(diff->a.partition_cnt, out);
        fputs(" -> ", out);
        print_count(diff->b.partition_cnt, out);
        fprintf(out, " partitions   %s -> %s\n", kr_rule_describe(diff->a.rule), kr_rule_describe(diff->b.rule));
        if (diff->keys_file)
                fprintf(out, "  moves        %s of the keys (counted on %s keys of %s)\n", rp_text_share(change->moved).s,
                        rp_text_count(diff->key_cnt).s, diff->keys_file);
        else if (!diff->a.partition_cnt)
                fputs("  moves        depends on the number of partitions; give --partitions\n", out);
        else if (change->basis == KR_UNKNOWN)
                fputs("  moves        depends on the keys; --keys FILE counts on yours\n", out);
        else
                fprintf(out, "  moves        %s of the keys (%s)\n", rp_text_share(change->moved).s,
                        basis_note(change->basis));
        if (diff->a.partition_cnt)
                fprintf(out, "  as Java      %s -> %s of the keys\n", java_text(&diff->a, &before),
                        java_text(&diff->b, &after));
        if (change->pins_same + change->pins_changed + change->pins_added + change->pins_removed)
                fprintf(out, "  pinned keys  %s changed, %s added, %s removed, %s the same\n",
                        rp_text_count(change->pins_changed).s, rp_text_count(change->pins_added).s,
                        rp_text_count(change->pins_removed).s, rp_text_count(change->pins_same).s);
        print_flows(change, out);
        print_ranges(change, out);
}

static json_t *side_json(const struct rp_rule_view *view)
{
        json_t *out;

        if (!view->rule)
                return json_null();
        out = rp_rule_json(view->rule);
        json_object_set_new(out, "java_share",
                            view->java_basis == KR_UNKNOWN ? json_null() : rp_json_share(view->java_share));
        return out;
}

static json_t *bound_json(const void *key, size_t len)
{
        json_t *out = json_object();

        rp_json_set_key(out, key, len);
        return out;
}

static json_t *partition_json(int32_t partition)
{
        return partition < 0 ? json_null() : json_integer(partition); /* null: refused */
}

json_t *rp_rule_diff_json(const struct rp_rule_diff *diff)
{
        const struct kr_comparison *change = &diff->change;
        bool unknown = !diff->keys_file && change->basis == KR_UNKNOWN;
        json_t *out = json_pack("{s:s, s:b, s:o, s:o}", "topic", diff->topic, "identical", (int)diff->identical, "from",
                                side_json(&diff->a), "to", side_json(&diff->b));
        json_t *flows, *ranges;

        if (!diff->a.rule || !diff->b.rule)
                return out;
        json_object_set_new(out, "basis", json_string(diff->keys_file ? "keys" : basis_name(change->basis)));
        if (diff->keys_file)
                json_object_set_new(out, "keys", json_integer((json_int_t)diff->key_cnt));
        json_object_set_new(out, "moved_share", unknown ? json_null() : rp_json_share(change->moved));
        flows = json_array();
        for (size_t i = 0; i < change->flow_cnt; i++)
                json_array_append_new(flows, json_pack("{s:o, s:o, s:o}", "from", partition_json(change->flows[i].from),
                                                       "to", partition_json(change->flows[i].to), "share",
                                                       rp_json_share(change->flows[i].share)));
        json_object_set_new(out, "flows", flows);
        ranges = json_array();
        for (size_t i = 0; i < change->range_cnt; i++) {
                const struct kr_key_range *range = &change->ranges[i];

                json_array_append_new(ranges,
                                      json_pack("{s:o, s:o, s:i, s:i}", "start",
                                                bound_json(range->start_len ? range->start : "", range->start_len), "end",
                                                range->end ? bound_json(range->end, range->end_len) : json_null(), "from",
                                                (int)range->from, "to", (int)range->to));
        }
        json_object_set_new(out, "ranges", ranges);
        json_object_set_new(out, "pinned_keys",
                            json_pack("{s:I, s:I, s:I, s:I}", "same", (json_int_t)change->pins_same, "changed",
                                      (json_int_t)change->pins_changed, "added", (json_int_t)change->pins_added, "removed",
                                      (json_int_t)change->pins_removed));
        return out;
}
