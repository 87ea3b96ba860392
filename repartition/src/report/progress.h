/**
 * The progress line on stderr: how much is done, how fast, how long it will take. One line that rewrites itself on a
 * terminal; elsewhere (--progress always) a line of its own every ten seconds. Belongs to one thread.
 */
#ifndef RP_PROGRESS_LINE_H
#define RP_PROGRESS_LINE_H

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rp_progress_line {
        FILE *out; /* NULL: not wanted, every call does nothing */
        const char *label;
        bool terminal;
        bool shown;
        int64_t started_ms, printed_ms;
        const char *why; /* why nothing moves, shown at the end of the line; NULL or "": it does. Borrowed */
};

/**
 * @param wanted  as rp_wants_progress() says
 * @param label   what is being done, such as "audit orders"; borrowed until the end
 * @param now_ms  rp_clock_ms()
 */
void rp_progress_line_start(struct rp_progress_line *line, FILE *out, bool wanted, const char *label, int64_t now_ms);

/**
 * Shows the state if it is time to; cheap enough to be called for every batch.
 * @param done, total  offsets, in which gaps count too. No ETA is given before 1 % is done
 * @param records      records so far, for the rate
 */
void rp_progress_line_update(struct rp_progress_line *line, uint64_t done, uint64_t total, uint64_t records,
                             int64_t now_ms);

/** Takes the line off the terminal until it is next updated, so that something else can be printed. */
void rp_progress_line_clear(struct rp_progress_line *line);

/** Takes the line off for good, so that results or an error can be printed. */
void rp_progress_line_end(struct rp_progress_line *line);

#endif
