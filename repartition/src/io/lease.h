/**
 * A job's lease: membership in the consumer group JOB.lease, kept up by librdkafka's own heartbeats. It lets a second run
 * of a job see the first and stand back before it disturbs it. It is a courtesy, not the safety: two runs that slip past
 * each other meet at the transactional id, where the later one fences the earlier.
 *
 * Whoever finds a member asks: is it a process of this machine that is gone? Then at once on with it (kill -9 and a new
 * start). Does it run here? Then at once stand back. Otherwise only heartbeats tell, and a session's length is waited for.
 */
#ifndef RP_LEASE_H
#define RP_LEASE_H

#include "io/client.h"

#define RP_LEASE_SESSION_MS 6000 /* the least that brokers allow by default */

struct rp_lease_config {
        const struct rp_client_config *client; /* of the cluster that keeps the progress's transactions: the target's */
        struct rp_client *asker; /* a connection to it, to ask through; borrowed during rp_lease_take() */
        const char *job;
        const char *topic;       /* some topic there that exists: a group's member must subscribe to one. Not read */
        int timeout_ms;
        bool takes_over;         /* does not ask */
        /** Told once, when a holder is waited for: a line that says why. May be NULL. */
        void (*say)(void *arg, const char *text);
        /** @returns false to stop waiting. May be NULL. */
        bool (*tick)(void *arg);
        void *arg;
};

struct rp_lease;

/**
 * @returns RP_OK and *lease, the caller's to rp_lease_give_back(); RP_ERR_FENCED naming the host and process that holds the
 *          job; RP_ERR_RETRY when tick ended the waiting or no broker answers.
 */
rp_err_t rp_lease_take(struct rp_lease **lease, const struct rp_lease_config *config, struct rp_error *err);

/** Serves the group's doings; call it now and then. Cheap, never waits. NULL is allowed. */
void rp_lease_serve(struct rp_lease *lease);

/** Leaves the group, so that the next run need not wait, and frees. NULL is allowed. */
void rp_lease_give_back(struct rp_lease *lease);

/** Who is in the group of a lease, or in any other whose members are runs of a job. */
struct rp_lease_holders {
        size_t cnt;      /* 0: nobody, or only processes of this machine that are gone */
        bool is_certain; /* one of them runs on this machine; else its heartbeats were heard of not long ago */
        char who[160];   /* the first one: host and process */
};

/** Looks without joining. RP_ERR_USAGE naming the right (Describe) that is missing. */
rp_err_t rp_lease_look(struct rp_client *client, const char *group, int timeout_ms, struct rp_lease_holders *holders,
                       struct rp_error *err);

/** The group of a job's lease. */
void rp_lease_group(char *out, size_t size, const char *job);

#endif
