#define RP_WITH_RDKAFKA
#include "io/lease.h"

#include "clock.h"
#include "decide/holder.h"
#include "io/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        WAIT_MAX_MS = 3 * RP_LEASE_SESSION_MS + 3000, /* a dead member's session, then a rebalance's, and its first delay */
        MARGIN_MS = 2000, /* beyond the session: the coordinator looks in steps, and answers take time */
        LOOK_EVERY_MS = 300,
        SERVE_EVERY_MS = 500
};

struct rp_lease {
        struct rp_client client;
        int64_t served_ms;
};

void rp_lease_group(char *out, size_t size, const char *job)
{
        snprintf(out, size, "%s.lease", job);
}

/* ---- processes of this machine --------------------------------------------------------------------------------------- */

static struct rp_process_facts look_up(long pid)
{
        struct rp_process_facts facts = { .exists = kill((pid_t)pid, 0) == 0 || errno != ESRCH };
        char path[64], text[1024], state = '?';
        const char *after;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        file = facts.exists ? fopen(path, "r") : NULL;
        if (!file)
                return facts;
        /* The name stands in parentheses and may hold anything; what follows the last one is plain. Field 22 is the start. */
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        after = strrchr(text, ')');
        if (after && sscanf(after + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                            &state, &facts.started) == 2) {
                facts.is_stopped = state == 'T' || state == 't';
                facts.exists = state != 'Z' && state != 'X';
        }
        fclose(file);
        return facts;
}

static struct rp_holder myself(void)
{
        struct rp_holder me = { .pid = (long)getpid(), .started = look_up((long)getpid()).started };
        struct stat at;

        if (gethostname(me.host, sizeof(me.host) - 1) != 0 || !*me.host || strchr(me.host, '/'))
                snprintf(me.host, sizeof(me.host), "?");
        if (stat("/proc/self/ns/pid", &at) == 0)
                me.numbered = (uint64_t)at.st_ino;
        return me;
}

/* ---- asking ---------------------------------------------------------------------------------------------------------- */

/* @returns the first member that is not dead for certain; NULL when there is none. */
static const struct rp_roster_entry *find_holder(const struct rp_roster *group, const struct rp_holder *me,
                                                 rp_holder_state_t *state)
{
        for (size_t i = 0; i < group->member_cnt; i++) {
                struct rp_holder holder;
                struct rp_process_facts facts = { 0 };

                *state = RP_HOLDER_UNKNOWN;
                if (rp_holder_parse(&holder, group->members[i].client_id)) {
                        facts = look_up(holder.pid);
                        *state = rp_holder_judge(&holder, me, &facts);
                }
                if (*state != RP_HOLDER_DEAD)
                        return &group->members[i];
        }
        return NULL;
}

static void describe(const struct rp_roster_entry *member, char *out, size_t size)
{
        struct rp_holder holder;

        if (rp_holder_parse(&holder, member->client_id))
                snprintf(out, size, "host %s, process %ld", holder.host, holder.pid);
        else
                snprintf(out, size, "client \"%.60s\" at %.60s", member->client_id, member->host);
}

rp_err_t rp_lease_look(struct rp_client *client, const char *group, int timeout_ms, struct rp_lease_holders *holders,
                       struct rp_error *err)
{
        struct rp_holder me = myself();
        const struct rp_roster_entry *member;
        struct rp_roster roster;
        rp_holder_state_t state;
        rp_err_t rc = rp_group_describe(client, group, "Describe", timeout_ms, &roster, err);

        *holders = (struct rp_lease_holders){ 0 };
        if (rc != RP_OK)
                return rc;
        member = find_holder(&roster, &me, &state);
        if (member) {
                holders->cnt = roster.member_cnt;
                holders->is_certain = state == RP_HOLDER_LIVES;
                describe(member, holders->who, sizeof(holders->who));
        }
        rp_roster_release(&roster);
        return RP_OK;
}

static rp_err_t await_free(const struct rp_lease_config *config, const char *name, const struct rp_holder *me,
                           struct rp_error *err)
{
        int64_t began = rp_clock_ms(), stable_since = began;
        bool is_told = false;

        for (;;) {
                struct rp_roster group;
                const struct rp_roster_entry *member;
                rp_holder_state_t state;
                char who[160], text[512];
                rp_err_t rc = rp_group_describe(config->asker, name, "Read", config->timeout_ms, &group, err);

                if (rc != RP_OK)
                        return rc;
                member = find_holder(&group, me, &state);
                if (member)
                        describe(member, who, sizeof(who));
                /* In a rebalance nobody's silence counts: sessions run anew from its end. */
                if (strcmp(group.state, "Stable") != 0 && rp_clock_ms() - began < WAIT_MAX_MS)
                        stable_since = rp_clock_ms();
                rp_roster_release(&group);
                if (!member)
                        return RP_OK;
                if (state == RP_HOLDER_LIVES || rp_clock_ms() - stable_since > RP_LEASE_SESSION_MS + MARGIN_MS)
                        return rp_fail(err, RP_ERR_FENCED,
                                       "job \"%.200s\" is being run already: %s. Let it finish or stop it; --take-over "
                                       "replaces it", config->job, who);
                if (!is_told && config->say) {
                        snprintf(text, sizeof(text), "job \"%.200s\" was held last by %s; whether that one still lives shows "
                                 "in some %d s, when it is heard of or not", config->job, who,
                                 (RP_LEASE_SESSION_MS + MARGIN_MS) / 1000);
                        config->say(config->arg, text);
                }
                is_told = true;
                if (config->tick && !config->tick(config->arg))
                        return rp_fail(err, RP_ERR_RETRY, "stopped while waiting for %s", who);
                rp_client_serve(config->asker, LOOK_EVERY_MS);
        }
}

/* ---- holding ----------------------------------------------------------------------------------------------------------- */

/* Nothing is ever read: whatever the group assigns, it gets an empty answer. */
static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t kerr, rd_kafka_topic_partition_list_t *partitions, void *opaque)
{
        (void)kerr, (void)partitions, (void)opaque;
        rd_kafka_assign(rk, NULL);
}

static rp_err_t join(struct rp_lease *lease, const struct rp_lease_config *config, const char *name,
                     const struct rp_holder *me, struct rp_error *err)
{
        static const char *const fixed[] = { "heartbeat.interval.ms", "2000", "max.poll.interval.ms", "86400000",
                                             "enable.auto.commit", "false", "partition.assignment.strategy", "range",
                                             "allow.auto.create.topics", "false", "queued.min.messages", "1", NULL };
        char client_id[RP_HOLDER_TEXT_SIZE], session[16], text[128];
        rd_kafka_conf_t *conf = rp_client_conf(config->client, err);
        rd_kafka_topic_partition_list_t *topics;
        rd_kafka_resp_err_t kerr;
        rp_err_t rc;

        if (!conf)
                return err->code;
        rp_holder_print(me, client_id);
        snprintf(session, sizeof(session), "%d", RP_LEASE_SESSION_MS);
        rd_kafka_conf_set(conf, "group.protocol", "classic", text, sizeof(text)); /* unknown before 2.3, and the only one */
        rc = rp_client_set(conf, "client.id", client_id, err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "group.id", name, err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "session.timeout.ms", session, err);
        if (rc == RP_OK)
                rc = rp_client_set_all(conf, fixed, err);
        if (rc != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return rc;
        }
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        rc = rp_client_open(&lease->client, RD_KAFKA_CONSUMER, conf, err);
        if (rc != RP_OK)
                return rc;
        rd_kafka_poll_set_consumer(lease->client.rk);
        topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, config->topic, RD_KAFKA_PARTITION_UA);
        kerr = rd_kafka_subscribe(lease->client.rk, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        return kerr ? rp_fail_resp(err, &lease->client, kerr, "cannot join group \"%s\"", name) : RP_OK;
}

rp_err_t rp_lease_take(struct rp_lease **out, const struct rp_lease_config *config, struct rp_error *err)
{
        struct rp_lease *lease = calloc(1, sizeof(*lease));
        struct rp_holder me = myself();
        char name[700];
        rp_err_t rc = lease ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        rp_lease_group(name, sizeof(name), config->job);
        if (rc == RP_OK && !config->takes_over)
                rc = await_free(config, name, &me, err);
        if (rc == RP_OK)
                rc = join(lease, config, name, &me, err);
        if (rc != RP_OK) {
                if (lease)
                        rp_client_close(&lease->client);
                free(lease);
                return rc;
        }
        *out = lease;
        return RP_OK;
}

void rp_lease_serve(struct rp_lease *lease)
{
        int64_t now = lease ? rp_clock_ms() : 0;
        rd_kafka_message_t *message;

        if (!lease || now - lease->served_ms < SERVE_EVERY_MS)
                return;
        lease->served_ms = now;
        while ((message = rd_kafka_consumer_poll(lease->client.rk, 0)))
                rd_kafka_message_destroy(message);
}

void rp_lease_give_back(struct rp_lease *lease)
{
        if (!lease)
                return;
        rd_kafka_consumer_close(lease->client.rk);
        rp_client_close(&lease->client);
        free(lease);
}
