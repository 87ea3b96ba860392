/** Somebody else's program: lines in, lines out. */
#ifndef RP_PROGRAM_H
#define RP_PROGRAM_H

#include "error.h"

#include <stddef.h>

struct rp_program_output {
        char *text;   /* what it printed, NUL-terminated, owned */
        char **lines; /* into text, without their ends; owned */
        size_t line_cnt;
};

enum { RP_PROGRAM_OUTPUT_MAX = 64 << 20 };

/**
 * Runs argv[0] (found in PATH) to its end. It reads `input` from a file, not a pipe, so it may answer at its own pace; its
 * stderr is ours.
 * @returns RP_OK and *out, the caller's to rp_program_output_release(); RP_ERR_USAGE when it cannot be started, did not end
 *          with 0, printed too much, or did not end within timeout_ms (then it was killed, with all that it started).
 * SIGINT, SIGTERM and SIGHUP that come meanwhile end the program, and then do to us what they always do.
 */
rp_err_t rp_program_run(char *const *argv, const char *input, size_t input_len, int timeout_ms,
                        struct rp_program_output *out, struct rp_error *err);
void rp_program_output_release(struct rp_program_output *out);

#endif
