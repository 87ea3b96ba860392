/**
 * "-" in place of a file's name: standard input or output. Each can be had once, since what was read is gone, and two
 * documents in a row are none.
 */
#ifndef RP_STANDARD_H
#define RP_STANDARD_H

#include "error.h"

#include <stdbool.h>

/** True for "-". */
bool rp_is_standard(const char *path);

/** Claims standard input for a reader of its own, line by line. @returns RP_OK; or RP_ERR_USAGE: it is claimed already. */
rp_err_t rp_standard_in_claim(struct rp_error *err);

/**
 * Claims standard input and reads it to its end, so that it can be opened by name afterwards, as often as a file can.
 * @returns RP_OK and *path, that name; or an error with *err.
 */
rp_err_t rp_standard_in_hold(const char **path, struct rp_error *err);

/**
 * Claims standard output for a file: what is printed from now on goes to stderr, where it does no harm.
 * @returns RP_OK; or an error with *err.
 */
rp_err_t rp_standard_out_claim(struct rp_error *err);

/** @returns where a claimed standard output is; -1: it is not claimed. */
int rp_standard_out(void);

#endif
