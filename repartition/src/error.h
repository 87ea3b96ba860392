/** Errors named for what the caller can do next, and the exit codes that follow from them. */
#ifndef RP_ERROR_H
#define RP_ERROR_H

typedef enum {
        RP_OK,
        RP_ERR_USAGE,       /* the operator can mend a flag, a file or the cluster's settings      */
        RP_ERR_BAD_RECORD,  /* this record cannot be handled; its bytes and place are known        */
        RP_ERR_RETRY,       /* the same call may work after a pause                                */
        RP_ERR_ABORT_BATCH, /* drop the transaction, make the producer anew, re-read progress      */
        RP_ERR_INCOMPLETE,  /* records are gone or unreachable: coverage is not what was asked for */
        RP_ERR_FENCED,      /* another instance of this job runs                                   */
        RP_ERR_FATAL        /* stop and touch nothing more                                         */
} rp_err_t;

struct rp_error {
        rp_err_t code;
        char text[512]; /* one line, ready to print: what, where, what to do */
};

/** Fills *err (code and text) and returns code, so that callers can `return rp_fail(...)`. */
rp_err_t rp_fail(struct rp_error *err, rp_err_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** Exit codes: a contract, see docs/design.md section 7. */
enum {
        RP_EXIT_CLEAN = 0,
        RP_EXIT_DIFFERENCES = 1,
        RP_EXIT_USAGE = 2,
        RP_EXIT_INCOMPLETE = 3,
        RP_EXIT_FENCED = 4
};

int rp_exit_code(rp_err_t code);

#endif
