/**
 * librdkafka's configuration from the command line, and the one place where its answers become our errors.
 * Only files below io/ include rdkafka.h; this header does so for them when RP_WITH_RDKAFKA is defined.
 */
#ifndef RP_CLIENT_H
#define RP_CLIENT_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Properties for every client that a command makes, in the order in which they are set. */
struct rp_client_config {
        char **names;
        char **values;
        size_t cnt;
};

/**
 * Reads a properties file (NAME=VALUE a line, # comments, blank lines; as kcat's -F), then single "NAME=VALUE" pairs,
 * then the bootstrap address; later ones win.
 * @param config_file  or NULL
 * @param bootstrap    or NULL when the file or a pair names bootstrap.servers
 * @returns RP_OK and *config, the caller's to rp_client_config_release(); or RP_ERR_USAGE naming file and line.
 */
rp_err_t rp_client_config_read(struct rp_client_config *config, const char *config_file, const char *const *pairs,
                               size_t pair_cnt, const char *bootstrap, struct rp_error *err);
void rp_client_config_release(struct rp_client_config *config);

/**
 * The same for commands with a source and a target, which may be two clusters: a name that begins with "source." or
 * "target." goes to that side alone, every other one to both; the side's own wins. bootstrap goes to both.
 * *source and *target are the caller's, each to rp_client_config_release().
 */
rp_err_t rp_client_config_read_sides(struct rp_client_config *source, struct rp_client_config *target,
                                     const char *config_file, const char *const *pairs, size_t pair_cnt,
                                     const char *bootstrap, struct rp_error *err);

/** @returns the version of the librdkafka that is loaded, such as "2.0.2". Static storage. */
const char *rp_client_version(void);

/** ... and as a number, as in RD_KAFKA_VERSION. */
uint32_t rp_client_version_number(void);

/** @returns what it was built with (codecs among it), separated by commas. Static storage. */
const char *rp_client_features(void);

/** A connection to a cluster; what it is made of is the business of io/ alone. */
struct rp_client;

/** Whether it speaks TLS or SASL: its user's rights are then probably limited. */
bool rp_client_is_secured(const struct rp_client *client);

#ifdef RP_WITH_RDKAFKA
#include <librdkafka/rdkafka.h>

/** The one version that gives messages again after it has validated an offset, and the one that does not. */
#define RP_RDKAFKA_2_1_0 0x02010000
#define RP_RDKAFKA_2_1_1 0x02010100

/** First version with fetch.queue.backoff.ms, which lets a client with small queues read at full speed. */
#define RP_RDKAFKA_2_2_0 0x02020000

/** First version that can close a cooperative member of a group before its first assignment. */
#define RP_RDKAFKA_2_3_0 0x02030000

/** Kinds of things that Kafka grants rights on. */
enum rp_resource { RP_RESOURCE_TOPIC, RP_RESOURCE_GROUP, RP_RESOURCE_TRANSACTIONAL_ID, RP_RESOURCE_CLUSTER, RP_RESOURCE_CNT };

/** A client and the last thing it complained about, such as a refused connection. One thread serves and asks it. */
struct rp_client {
        rd_kafka_t *rk;
        char trouble[256]; /* "" when it did not complain yet */
        bool is_unwelcome; /* the last trouble was one of passwords or certificates: time will not mend it */
        _Atomic int certificate_error; /* OpenSSL's number; set by librdkafka's threads */
        bool is_scram;     /* logs in by SCRAM */
        bool is_secured;
        struct {
                const char *operation; /* as Kafka's tools name it; static */
                char name[256];
        } needs[RP_RESOURCE_CNT];
};

/**
 * A conf with these properties, quiet logging and our client.id; the caller sets what it needs itself afterwards.
 * @returns a conf, the caller's; or NULL with *err (RP_ERR_USAGE) naming the property and librdkafka's reason.
 */
rd_kafka_conf_t *rp_client_conf(const struct rp_client_config *config, struct rp_error *err);

/** Sets one property that we choose ourselves; a name that an older librdkafka does not know is an error as well. */
rp_err_t rp_client_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct rp_error *err);

/** Sets several: NAME, VALUE, NAME, VALUE, ... NULL. */
rp_err_t rp_client_set_all(rd_kafka_conf_t *conf, const char *const *pairs, struct rp_error *err);

/** Sets a property that is a matter of taste (a queue length), unless the user's properties name it. */
rp_err_t rp_client_tune(rd_kafka_conf_t *conf, const struct rp_client_config *config, const char *name, int64_t value,
                        struct rp_error *err);

/**
 * Makes the client. Takes conf, also on failure. *client must not move while it is open: librdkafka knows its address,
 * as the opaque of all callbacks (so let it be the first member of a struct that wants callbacks of its own).
 */
rp_err_t rp_client_open(struct rp_client *client, rd_kafka_type_t type, rd_kafka_conf_t *conf, struct rp_error *err);

/**
 * Names the right that the next requests need on that kind of thing, for the error text should it be missing.
 * @param operation  as Kafka's tools name it, such as "Read"; static
 * @param name       copied; NULL for the cluster
 */
void rp_client_needs(struct rp_client *client, enum rp_resource resource, const char *operation, const char *name);

/**
 * To be asked when a cluster did not answer: when it is one that turns us away, or that we turn away (password,
 * certificate), *err becomes RP_ERR_USAGE.
 * @returns err->code.
 */
rp_err_t rp_client_judge_silence(const struct rp_client *client, struct rp_error *err);

/** Writes which right is missing and how to grant it. name: "" for the cluster. */
void rp_right_print(char *text, size_t size, enum rp_resource resource, const char *operation, const char *name);

/**
 * Appends to a text how to grant the right that kerr says is missing, as named by rp_client_needs(); nothing when kerr
 * says something else.
 */
void rp_client_append_right(const struct rp_client *client, rd_kafka_resp_err_t kerr, char *text, size_t size);

/** Destroys the client; one that is not open is allowed. */
void rp_client_close(struct rp_client *client);

/** Serves what is queued for the application: error and delivery callbacks. Waits up to timeout_ms for some. */
void rp_client_serve(struct rp_client *client, int timeout_ms);

/**
 * Fills *err with "what: librdkafka's text", and with the client's last trouble where that may be the reason.
 * @param client  or NULL
 * @returns rp_err_from_kafka(kerr).
 */
rp_err_t rp_fail_resp(struct rp_error *err, const struct rp_client *client, rd_kafka_resp_err_t kerr,
                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** True for what an administrator must allow first; trying again is of no use. */
bool rp_is_refused(rd_kafka_resp_err_t kerr);

/** What librdkafka's error code means for the caller's next step. */
rp_err_t rp_err_from_kafka(rd_kafka_resp_err_t kerr);

/**
 * The same for the answer of a transactional call. Takes kerr (destroys it); NULL is RP_OK. Abortable errors are
 * RP_ERR_ABORT_BATCH, retriable ones RP_ERR_RETRY, being fenced is RP_ERR_FENCED, the rest by its code.
 */
rp_err_t rp_fail_kafka(struct rp_error *err, const struct rp_client *client, rd_kafka_error_t *kerr, const char *fmt,
                       ...) __attribute__((format(printf, 4, 5)));
#endif

#endif
