/** What rewrite, repair and follow share at the command line about sparing others and telling of themselves. */
#ifndef RP_NEIGHBOUR_H
#define RP_NEIGHBOUR_H

#include "cli/command.h"
#include "job/governor.h"
#include "report/progress.h"

/** What a command knows of its job. Borrowed until the end. */
struct rp_neighbour_job {
        const char *command;             /* "rewrite" */
        const char *job, *source, *target; /* target NULL: in place */
        const struct rp_client_config *client;
        const struct rp_governor_side *sides; /* for the governor, which looks at them when the job stands still */
        size_t side_cnt;
        int64_t transaction_ms;
        int timeout_ms;
        bool quiet;                      /* does not tell which port the metrics are at */
};

/** A governor as the options ask for. The caller's to rp_neighbour_close(). Errors as rp_governor_new(). */
rp_err_t rp_neighbour_open(struct rp_governor **governor, const struct rp_neighbour_args *args,
                           const struct rp_neighbour_job *job, struct rp_error *err);

/** In every tick: has the progress line say why the job waits, and tells what went wrong beside it, unless quiet. */
void rp_neighbour_show(struct rp_governor *governor, const struct rp_neighbour_job *job, struct rp_progress_line *line,
                       bool quiet);

/** How a run ended. */
struct rp_neighbour_end {
        rp_err_t code;              /* what the run returned */
        const struct rp_error *err; /* ... in words; NULL when RP_OK */
        bool is_stopped;            /* it ended early because it was asked to */
        bool is_time_over;          /* ... by its own limit of time, which is no failure */
        int signal;                 /* by this signal; 0: none */
        json_t *result;             /* what the command prints as JSON, or NULL; taken over */
};

/**
 * Leaves the last word in the files, says who stopped the job if it was ctl or the panic file, and frees the governor.
 * @returns the exit code: 0, that of the error, 128 + the signal's number, or 3 when it was stopped otherwise (0 by its
 *          limit of time).
 */
int rp_neighbour_close(struct rp_governor *governor, const struct rp_neighbour_job *job,
                       const struct rp_neighbour_end *end);

#endif
