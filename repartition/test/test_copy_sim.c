/*
 * Thousands of seeds through the simulator; then wrong decisions, planted one at a time, of which each must be found out.
 * A seed that fails is printed; KR_SIM_SEED=n (and KR_SIM_FORM=group) runs it alone,
 * KR_SIM_TRACE=1 with every step. KR_SIM_SEEDS=n runs that many seeds and prints what happened in them.
 */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool form_t(uint64_t seed, sim_mistake_t mistake, struct sim_figures *figures, char text[200]);

enum { SEEDS = 1500, MISTAKE_SEEDS = 2000 };

static void add(struct sim_figures *sum, const struct sim_figures *one)
{
        const unsigned *from = (const unsigned *)one;
        unsigned *to = (unsigned *)sum;

        for (size_t i = 0; i < sizeof(*sum) / sizeof(unsigned); i++)
                to[i] += from[i];
}

static struct sim_figures run_seeds(form_t *form, const char *name)
{
        const char *only = getenv("KR_SIM_SEED"), *form_only = getenv("KR_SIM_FORM"), *count = getenv("KR_SIM_SEEDS");
        uint64_t first = 1, last = count ? strtoull(count, NULL, 10) : SEEDS;
        struct sim_figures sum = { 0 };

        if (only) {
                if (strcmp(form_only ? form_only : "passes", name))
                        skip();
                first = last = strtoull(only, NULL, 10);
        }
        for (uint64_t seed = first; seed <= last; seed++) {
                struct sim_figures one;
                char text[200];

                if (!form(seed, SIM_NO_MISTAKE, &one, text))
                        fail_msg("KR_SIM_FORM=%s KR_SIM_SEED=%llu: %s", name, (unsigned long long)seed, text);
                add(&sum, &one);
        }
        if (only)
                skip(); /* the figures of one seed say nothing */
        if (getenv("KR_SIM_SEEDS"))
                print_message("%s: %u steps, %u processes, %u crashes, %u sleeps, %u fenced, %u stops, %u ended badly, "
                              "%u recoveries (%u uncertain), %u commits, %u voids, %u timeouts, late EndTxn %u hit %u fenced, "
                              "%u rebalances, %u losses, %u truncated, %u of several topics, %u new partitions, %u outgrown\n",
                              name, sum.steps, sum.processes, sum.crashes, sum.sleeps, sum.fenced, sum.stops, sum.ended_badly, sum.recoveries, sum.uncertain, sum.commits,
                              sum.voids, sum.timeouts, sum.late_hits, sum.late_fenced, sum.rebalances, sum.losses,
                              sum.truncated, sum.several, sum.grown, sum.outgrown);
        return sum;
}

static void test_passes_survive(void **state)
{
        struct sim_figures sum = run_seeds(sim_run_passes, "passes");

        (void)state;
        assert_true(sum.crashes && sum.sleeps && sum.fenced && sum.stops && sum.recoveries && sum.uncertain && sum.voids &&
                    sum.timeouts && sum.late_hits && sum.late_fenced && sum.truncated && sum.several &&
                    sum.grown && sum.outgrown);
}

static void test_groups_survive(void **state)
{
        struct sim_figures sum = run_seeds(sim_run_group, "group");

        (void)state;
        assert_true(sum.crashes && sum.sleeps && sum.stops && sum.recoveries && sum.uncertain && sum.voids && sum.timeouts &&
                    sum.late_hits && sum.late_fenced && sum.rebalances && sum.losses);
}

static void test_mistakes_are_found_out(void **state)
{
        unsigned found[SIM_MISTAKE_CNT] = { 0 };
        char text[200];

        (void)state;
        if (getenv("KR_SIM_SEED"))
                skip();
        for (sim_mistake_t mistake = SIM_NO_MISTAKE + 1; mistake < SIM_MISTAKE_CNT; mistake++) {
                form_t *form = mistake >= SIM_GIVES_BACK_TOO_EARLY ? sim_run_group : sim_run_passes;
                struct sim_figures figures;

                for (uint64_t seed = 1; seed <= MISTAKE_SEEDS && found[mistake] < 3; seed++)
                        if (!form(seed, mistake, &figures, text)) {
                                if (!found[mistake]++ && getenv("KR_SIM_SEEDS"))
                                        print_message("mistake %d: seed %llu: %s\n", (int)mistake,
                                                      (unsigned long long)seed, text);
                        }
        }
        for (sim_mistake_t mistake = SIM_NO_MISTAKE + 1; mistake < SIM_MISTAKE_CNT; mistake++)
                if (found[mistake] < 3)
                        fail_msg("planted mistake %d was found in %u of %d seeds", (int)mistake, found[mistake], MISTAKE_SEEDS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_passes_survive),
                cmocka_unit_test(test_groups_survive),
                cmocka_unit_test(test_mistakes_are_found_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
