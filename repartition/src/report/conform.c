#include "report/conform.h"

#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN = 10, JSON_SHOWN = 100, FLAGS_MAX = 32 };

static void print_hex(const struct rp_vector *vector, size_t most, FILE *out)
{
        if (!vector->key_len)
                fputs("(empty)", out);
        for (size_t i = 0; i < vector->key_len && i < most; i++)
                fprintf(out, "%02x", vector->key[i]);
        if (vector->key_len > most)
                fprintf(out, "... (%zu bytes)", vector->key_len);
}

struct flag_count {
        char name[32];
        size_t failed;
};

/* Failed cases by flag. @returns how many flags there are. */
static size_t count_flags(const struct rp_conform *conform, struct flag_count counts[FLAGS_MAX])
{
        size_t cnt = 0;

        for (size_t i = 0; i < conform->case_cnt; i++) {
                char flags[256], *rest = flags, *flag;

                if (conform->cases[i].ok)
                        continue;
                snprintf(flags, sizeof(flags), "%s", conform->cases[i].vector->flags);
                while ((flag = strtok_r(rest, " ", &rest))) {
                        size_t f = 0;

                        while (f < cnt && strcmp(counts[f].name, flag))
                                f++;
                        if (f == cnt && cnt == FLAGS_MAX)
                                continue;
                        if (f == cnt) {
                                counts[cnt].failed = 0;
                                snprintf(counts[cnt++].name, sizeof(counts[0].name), "%s", flag);
                        }
                        counts[f].failed++;
                }
        }
        return cnt;
}

void rp_conform_report_text(const struct rp_conform_report *report, FILE *out)
{
        const struct rp_conform *conform = report->conform;
        struct flag_count counts[FLAGS_MAX];
        size_t shown = 0, flags = count_flags(conform, counts);
        char why[160];

        fprintf(out, "%s   %" PRId32 " partitions   judged by %s, policy %s\n", report->subject, conform->partition_cnt,
                kr_rule_describe(conform->rule), kr_rule_fingerprint(conform->rule));
        fprintf(out, "%zu of %zu golden keys right\n", conform->case_cnt - conform->failed_cnt, conform->case_cnt);
        for (size_t i = 0; i < conform->case_cnt && shown < SHOWN; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                if (at->ok)
                        continue;
                rp_conform_describe(conform, at, why, sizeof(why));
                fprintf(out, "%s  ", shown++ ? "" : "\n");
                print_hex(at->vector, 16, out);
                fprintf(out, "   %s: %s\n", at->vector->name, why);
        }
        if (conform->failed_cnt > shown)
                fprintf(out, "  and %zu more\n", conform->failed_cnt - shown);
        if (conform->failed_cnt * 2 > conform->case_cnt)
                flags = 0; /* everything is wrong: no kind of key tells more than another */
        for (size_t f = 0; f < flags; f++) {
                const char *note = rp_vectors_note(report->vectors, counts[f].name);

                fprintf(out, "%s  %-12s %5zu failed%s%s\n", f ? "" : "\nkinds of keys that failed\n", counts[f].name,
                        counts[f].failed, note ? "   " : "", note ? note : "");
        }
        fprintf(out, "\nverdict   %s%s\n", conform->failed_cnt ? "" : "conforms; ", conform->verdict);
        if (conform->failed_cnt)
                fprintf(out, "what to do  %s\n", conform->fix);
}

static json_t *case_json(const struct rp_conform *conform, const struct rp_conform_case *at)
{
        json_t *object = json_object();
        char why[160];

        rp_conform_describe(conform, at, why, sizeof(why));
        if (at->vector->key_len <= 256)
                rp_json_set_key(object, at->vector->key, at->vector->key_len);
        json_object_set_new(object, "key_bytes", json_integer((json_int_t)at->vector->key_len));
        json_object_set_new(object, "name", json_string(at->vector->name));
        json_object_set_new(object, "flags", json_string(at->vector->flags));
        json_object_set_new(object, "expected", at->wanted < 0 ? json_null() : json_integer(at->wanted));
        json_object_set_new(object, "answer", at->answer < 0 || at->answer == RP_ANSWER_NEGATIVE
                                                              ? json_null() : json_integer(at->answer));
        json_object_set_new(object, "why", json_string(why));
        return object;
}

void rp_conform_report_json(const struct rp_conform_report *report, FILE *out)
{
        const struct rp_conform *conform = report->conform;
        const struct rp_conform_likeness *like = &conform->likeness;
        struct flag_count counts[FLAGS_MAX];
        size_t flags = count_flags(conform, counts);
        json_t *object = json_object(), *failures = json_array(), *by_flag = json_object(), *verdict = json_object();

        json_object_set_new(object, "subject", json_string(report->subject));
        json_object_set_new(object, "policy_file", report->policy_file ? json_string(report->policy_file) : json_null());
        json_object_set_new(object, "fingerprint", json_string(kr_rule_fingerprint(conform->rule)));
        json_object_set_new(object, "partitions", json_integer(conform->partition_cnt));
        json_object_set_new(object, "vectors", json_string(rp_vectors_version(report->vectors)));
        json_object_set_new(object, "keys", json_integer((json_int_t)conform->case_cnt));
        json_object_set_new(object, "failed", json_integer((json_int_t)conform->failed_cnt));
        json_object_set_new(object, "conforms", json_boolean(!conform->failed_cnt));
        json_object_set_new(object, "empty_key_is_null", json_boolean(conform->empty_is_null));
        json_object_set_new(verdict, "hash", like->way ? json_string(like->way->name) : json_null());
        json_object_set_new(verdict, "form", like->form ? json_string(like->form) : json_null());
        json_object_set_new(verdict, "partitions", json_integer(like->partition_cnt));
        json_object_set_new(verdict, "agree", json_integer((json_int_t)like->agree));
        json_object_set_new(verdict, "of", json_integer((json_int_t)like->of));
        json_object_set_new(verdict, "text", json_string(conform->verdict));
        json_object_set_new(verdict, "fix", json_string(conform->fix));
        json_object_set_new(object, "verdict", verdict);
        for (size_t f = 0; f < flags; f++)
                json_object_set_new(by_flag, counts[f].name, json_integer((json_int_t)counts[f].failed));
        json_object_set_new(object, "failed_by_flag", by_flag);
        for (size_t i = 0; i < conform->case_cnt && json_array_size(failures) < JSON_SHOWN; i++)
                if (!conform->cases[i].ok)
                        json_array_append_new(failures, case_json(conform, &conform->cases[i]));
        json_object_set_new(object, "failures", failures);
        rp_json_print(object, out);
}

/* As text between tags and inside quotes. Control characters, which XML cannot hold, become "?". */
static void print_xml(const char *text, FILE *out)
{
        for (; *text; text++)
                switch (*text) {
                case '&': fputs("&amp;", out); break;
                case '<': fputs("&lt;", out); break;
                case '>': fputs("&gt;", out); break;
                case '"': fputs("&quot;", out); break;
                default: fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
                }
}

/* A case of its own, the first of all: build servers show cases, and little else of a report. */
static void print_xml_verdict(const struct rp_conform *conform, FILE *out)
{
        fputs("<testcase classname=\"keyroute.conform\" name=\"verdict\"", out);
        if (!conform->failed_cnt) {
                fputs("/>\n", out);
                return;
        }
        fputs("><failure message=\"", out);
        print_xml(conform->verdict, out);
        fputs("\">", out);
        print_xml(conform->fix, out);
        fputs("</failure></testcase>\n", out);
}

void rp_conform_report_junit(const struct rp_conform_report *report, FILE *out)
{
        const struct rp_conform *conform = report->conform;
        char why[160];

        fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"keyroute conform: ");
        print_xml(report->subject, out);
        fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", conform->case_cnt + 1,
                conform->failed_cnt + !!conform->failed_cnt);
        print_xml_verdict(conform, out);
        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                fputs("<testcase classname=\"keyroute.conform\" name=\"", out);
                print_xml(at->vector->name, out);
                fputs(": ", out);
                print_hex(at->vector, 16, out);
                if (at->ok) {
                        fputs("\"/>\n", out);
                        continue;
                }
                rp_conform_describe(conform, at, why, sizeof(why));
                fputs("\"><failure message=\"", out);
                print_xml(why, out);
                fputs("\">", out);
                print_xml(at->vector->flags, out);
                fputs("</failure></testcase>\n", out);
        }
        fputs("<system-out>", out);
        print_xml(conform->verdict, out);
        fputs("</system-out>\n</testsuite>\n</testsuites>\n", out);
}

void rp_conform_report_tap(const struct rp_conform_report *report, FILE *out)
{
        const struct rp_conform *conform = report->conform;
        char why[160];

        fprintf(out, "TAP version 13\n1..%zu\n%s 1 - verdict\n  # %s\n", conform->case_cnt + 1,
                conform->failed_cnt ? "not ok" : "ok", conform->verdict);
        if (*conform->fix)
                fprintf(out, "  # %s\n", conform->fix);
        for (size_t i = 0; i < conform->case_cnt; i++) {
                const struct rp_conform_case *at = &conform->cases[i];

                fprintf(out, "%s %zu - ", at->ok ? "ok" : "not ok", i + 2);
                for (const char *c = at->vector->name; *c; c++) /* "#" begins a directive in TAP */
                        fputc(*c == '#' || (unsigned char)*c < 0x20 ? '_' : *c, out);
                fputs(" ", out);
                print_hex(at->vector, 16, out);
                fputs("\n", out);
                rp_conform_describe(conform, at, why, sizeof(why));
                if (*why)
                        fprintf(out, "  # %s\n", why);
        }
}
