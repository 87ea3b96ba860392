#include "cli/rewrite_many.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "decide/pattern.h"
#include "report/text.h"
#include "topic_name.h"

#include <stdio.h>

static void print_list(const struct rp_rewrite_many *many, const struct rp_pattern *pattern,
                       const struct rp_topic_list *list, size_t taken_cnt)
{
        static const char *const why[] = { [RP_PATTERN_INTERNAL] = "not for users",
                                           [RP_PATTERN_TARGET] = "called like a copy" };
        char target[RP_PATTERN_NAME_SIZE];

        printf("%zu topic%s by --topics ", taken_cnt, taken_cnt == 1 ? "" : "s");
        rp_text_shell_word(stdout, many->regex);
        putchar('\n');
        for (size_t i = 0; i < list->cnt; i++) {
                rp_pattern_verdict_t verdict = rp_pattern_judge(pattern, list->items[i].name);

                rp_pattern_target(pattern, list->items[i].name, target);
                if (verdict == RP_PATTERN_TAKEN)
                        printf("  %s → %s\n", list->items[i].name, target);
                else if (verdict != RP_PATTERN_OTHER)
                        printf("  %s is left out: %s\n", list->items[i].name, why[verdict]);
        }
        fflush(stdout);
}

struct outcome {
        size_t begun_cnt, bad_cnt;
        int code;        /* the worst */
        bool is_stopped; /* the user wants no more jobs */
};

static struct outcome run_jobs(const struct rp_rewrite_many *many, const struct rp_pattern *pattern,
                               const struct rp_topic_list *list, enum rp_rewrite_step step)
{
        struct outcome outcome = { 0 };
        char target[RP_PATTERN_NAME_SIZE];

        for (size_t i = 0; i < list->cnt && !outcome.is_stopped; i++) {
                int code;

                if (rp_pattern_judge(pattern, list->items[i].name) != RP_PATTERN_TAKEN)
                        continue;
                if (step != RP_REWRITE_CHECK && !many->is_json)
                        putchar('\n');
                rp_pattern_target(pattern, list->items[i].name, target);
                code = many->job(many->arg, &list->items[i], target, step, &outcome.is_stopped);
                fflush(stdout);
                outcome.begun_cnt++;
                outcome.bad_cnt += code != RP_EXIT_CLEAN;
                if (code > outcome.code)
                        outcome.code = code;
        }
        if (rp_interrupt_signal()) {
                outcome.is_stopped = true;
                outcome.code = 128 + rp_interrupt_signal();
        }
        return outcome;
}

/* Nothing is begun unless all can be: half of the topics under new names is what nobody asked for. */
static int run_all(const struct rp_rewrite_many *many, const struct rp_pattern *pattern, const struct rp_topic_list *list)
{
        struct outcome outcome;
        struct rp_error err;
        size_t cnt = 0;

        for (size_t i = 0; i < list->cnt; i++)
                cnt += rp_pattern_judge(pattern, list->items[i].name) == RP_PATTERN_TAKEN;
        if (!many->is_json)
                print_list(many, pattern, list, cnt);
        if (!cnt) {
                rp_fail(&err, RP_ERR_USAGE, "no topic of this cluster that may be copied is matched, as a whole, by --topics "
                        "\"%.200s\"", many->regex);
                return rp_die("rewrite", &err);
        }
        outcome = run_jobs(many, pattern, list, many->executes ? RP_REWRITE_CHECK : RP_REWRITE_PLAN);
        if (outcome.is_stopped)
                return outcome.code;
        if (outcome.bad_cnt) {
                fflush(stdout);
                fprintf(stderr, "repartition rewrite: %zu of %zu topics cannot be copied: %s\n", outcome.bad_cnt, cnt,
                        many->executes ? "nothing was begun" : "--execute would begin with none");
                return outcome.code;
        }
        if (!many->executes) {
                if (!many->is_json)
                        puts("\nto copy them all: the same command with --execute");
                return outcome.code;
        }
        outcome = run_jobs(many, pattern, list, RP_REWRITE_EXECUTE);
        if (outcome.begun_cnt < cnt)
                fprintf(stderr, "repartition rewrite: %zu of %zu topics were not begun; the same command goes on\n",
                        cnt - outcome.begun_cnt, cnt);
        return outcome.code;
}

int rp_rewrite_many(const struct rp_rewrite_many *many)
{
        struct rp_topic_list list;
        struct rp_pattern pattern;
        struct rp_error err;
        char name[RP_PATTERN_NAME_SIZE];
        int code;

        if (rp_pattern_init(&pattern, many->regex, many->form, many->jobs_topic, &err) != RP_OK)
                return rp_die("rewrite", &err);
        rp_pattern_target(&pattern, "x", name);
        rp_interrupt_watch(RP_GRACE_READING_S);
        if (!rp_topic_name_is_legal(name)) {
                rp_fail(&err, RP_ERR_USAGE, "\"%.250s\" makes no names of topics: letters, digits, dots, dashes and underscores, "
                        "besides {}", many->form);
                code = rp_die("rewrite", &err);
        } else if (rp_topic_list_read(&list, many->client, many->timeout_ms, &err) != RP_OK) {
                code = rp_die("rewrite", &err);
        } else {
                code = run_all(many, &pattern, &list);
                rp_topic_list_release(&list);
        }
        rp_pattern_release(&pattern);
        return code;
}
