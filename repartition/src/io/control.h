/**
 * A running job's ear: a unix domain socket that takes one line a question and gives one line back. The socket belongs
 * to its owner alone (mode 0600), so whoever may connect is the user who runs the job, or root. The client's side too.
 *
 * Whatever is sent, the server holds RP_CONTROL_PEERS connections and RP_CONTROL_LINE_MAX bytes of each, waits for no
 * one longer than RP_CONTROL_PATIENCE_MS, and answers what it does not understand with what the handler says.
 */
#ifndef RP_CONTROL_H
#define RP_CONTROL_H

#include "error.h"

enum {
        RP_CONTROL_LINE_MAX = 512, /* of a question */
        RP_CONTROL_REPLY_MAX = 1 << 20,
        RP_CONTROL_PEERS = 8,
        RP_CONTROL_PATIENCE_MS = 5000
};

struct rp_control; /* belongs to one thread */

/** @param line  without its end; no NUL inside. @returns the answer, one line without its end, from malloc(). */
typedef char *rp_control_answer_fn(void *arg, const char *line);

/**
 * Listens at path. A socket that nobody listens at any more (its process was killed) is replaced; a file that is no
 * socket, or a socket that is in use, never.
 * @returns RP_OK and *control; or RP_ERR_USAGE.
 */
rp_err_t rp_control_new(struct rp_control **control, const char *path, rp_control_answer_fn *answer, void *arg,
                        struct rp_error *err);

/** Serves who asks, for up to timeout_ms, or until wake_fd can be read (-1: none). */
void rp_control_serve(struct rp_control *control, int timeout_ms, int wake_fd);

/** Stops listening and removes the socket, unless another process has taken its place. NULL is allowed. */
void rp_control_free(struct rp_control *control);

/**
 * Asks the job at path.
 * @returns RP_OK and *reply, the caller's to free(); RP_ERR_RETRY when nothing listens there or does not answer in time;
 *          RP_ERR_USAGE when there is no socket or it is not ours to use.
 */
rp_err_t rp_control_ask(const char *path, const char *line, int timeout_ms, char **reply, struct rp_error *err);

#endif
