/** What the files job/verify*.c share: one comparison while it runs. */
#ifndef RP_VERIFICATION_H
#define RP_VERIFICATION_H

#include "decide/order.h"
#include "io/reader.h"
#include "job/verify.h"

enum { RP_PART_CNT = 4096, RP_PART_SHIFT = 52, RP_VERIFY_TICK_MS = 100 };

struct rp_part_sum {
        struct rp_digest content;
        uint64_t cnt;
};

/* Records whose group has the same upper 12 bits. */
struct rp_part {
        struct rp_part_sum all[2], keyless[2]; /* source, target */
        bool differs, is_chosen, is_moved;
};

struct rp_verify_reading {
        struct rp_source *source;
        struct rp_verify_side *report;
        /* The ranges to read one after the other: one element a pass, each with an array by partition. */
        struct rp_range **passes;
        size_t pass_cnt;
};

/* What is being done, as it is kept in the state file. */
typedef enum { RP_STEP_TALLY, RP_STEP_READ, RP_STEP_NAME } rp_verify_step_t;

struct rp_verification {
        const struct rp_verify *job;
        struct rp_verify_report *report;
        struct rp_verify_reading sides[2];
        struct rp_part *parts;
        struct rp_order order;
        uint64_t once, done, total, records; /* offsets of one reading, for the progress line */

        rp_verify_step_t step;
        int side;              /* being read, with this pass of it */
        size_t pass;
        int64_t *positions;    /* by partition of that side: where to go on; -1: from the range's start */
        int32_t position_cnt;  /* 0: nothing read yet */
        bool is_tallied;       /* began by partition */
        bool differs;
        int64_t kept_ms;       /* when the state was last written, and how long that took */
        int64_t keeping_ms;
};

static inline size_t rp_part_of(uint64_t group)
{
        return (size_t)(group >> RP_PART_SHIFT);
}

rp_err_t rp_out_of_memory(struct rp_error *err);

typedef rp_err_t rp_take_fn(struct rp_verification *v, int side, const struct rp_record *rec, struct rp_error *err);

/** Tells the caller, who may stop it. */
void rp_verification_tick(struct rp_verification *v, uint64_t done);

/** Counts a difference. @returns the example to fill in, or NULL when there are enough of this kind. */
struct rp_verify_example *rp_verify_add_example(struct rp_verify_report *report, rp_difference_t kind);

/** Makes room for cnt passes of one side. false when out of memory. */
bool rp_verify_make_passes(struct rp_verify_reading *side, size_t cnt);
void rp_verify_free_passes(struct rp_verify_reading *side);

/* ---- verify_name.c */

/** Reads again the parts that differ, and names what does. */
rp_err_t rp_verify_name(struct rp_verification *v, struct rp_error *err);

/** Fills in the keys of the examples. */
rp_err_t rp_verify_fetch_keys(struct rp_verification *v, struct rp_error *err);

/* ---- verify_state.c */

/** Whether it is time to write the state: now and then, and when it was asked to stop. False without a file. */
bool rp_verify_is_due(const struct rp_verification *v);

/** Writes the state. Does nothing without a file. */
rp_err_t rp_verify_keep(struct rp_verification *v, struct rp_error *err);

/** Takes a state up, if there is one, in place of what was planned. */
rp_err_t rp_verify_resume(struct rp_verification *v, struct rp_error *err);

/** Removes the state of a comparison that is done. */
void rp_verify_forget(const struct rp_verification *v);

#endif
