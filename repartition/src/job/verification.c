#include "job/verification.h"

#include <stdlib.h>

rp_err_t rp_out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

void rp_verify_free_passes(struct rp_verify_reading *side)
{
        for (size_t i = 0; side->passes && i < side->pass_cnt; i++)
                free(side->passes[i]);
        free(side->passes);
        side->passes = NULL;
        side->pass_cnt = 0;
}

bool rp_verify_make_passes(struct rp_verify_reading *side, size_t cnt)
{
        rp_verify_free_passes(side);
        side->passes = calloc(cnt ? cnt : 1, sizeof(*side->passes));
        if (!side->passes)
                return false;
        side->pass_cnt = cnt;
        for (size_t i = 0; i < cnt; i++) {
                side->passes[i] = calloc((size_t)side->source->partition_cnt, sizeof(**side->passes));
                if (!side->passes[i])
                        return false;
        }
        return true;
}

void rp_verification_tick(struct rp_verification *v, uint64_t done)
{
        if (v->job->tick && !v->job->tick(v->job->arg, done, v->total, v->records))
                v->report->is_stopped = true;
}

struct rp_verify_example *rp_verify_add_example(struct rp_verify_report *report, rp_difference_t kind)
{
        struct rp_verify_example *example;

        if (report->counts[kind]++ >= RP_EXAMPLES_PER_KIND)
                return NULL;
        example = &report->examples[report->example_cnt++];
        *example = (struct rp_verify_example){
                .kind = kind, .source = { -1, -1 }, .target = { -1, -1 }, .wanted = -1,
        };
        return example;
}
