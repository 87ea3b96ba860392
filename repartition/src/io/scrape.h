/**
 * A job's figures by HTTP, for Prometheus to scrape and for probes: a small web server (libmicrohttpd) on a thread of its
 * own. It has no access control, so it listens on the loopback interface unless another address is asked for.
 */
#ifndef RP_SCRAPE_H
#define RP_SCRAPE_H

#include "error.h"

/** Something to send. */
struct rp_page {
        int status;       /* HTTP's, such as 200 */
        const char *type; /* of the content; static storage */
        char *text;       /* from malloc(); NULL: out of memory */
};

struct rp_scrape;

/** Called on the server's thread. @returns a page for the path, with status 404 for one that it does not know. */
typedef struct rp_page rp_scrape_answer_fn(void *arg, const char *path);

/**
 * Listens at "PORT" or ":PORT" of the loopback interface, or at "HOST:PORT" ("[::1]:PORT"); port 0 is any free one.
 * @returns RP_OK and *scrape; or RP_ERR_USAGE.
 */
rp_err_t rp_scrape_new(struct rp_scrape **scrape, const char *address, rp_scrape_answer_fn *answer, void *arg,
                       struct rp_error *err);

/** @returns the port that it listens at. */
int rp_scrape_port(const struct rp_scrape *scrape);

/** Finishes what is being sent, then stops. NULL is allowed. */
void rp_scrape_free(struct rp_scrape *scrape);

#endif
