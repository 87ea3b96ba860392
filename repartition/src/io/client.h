/**
 * librdkafka's configuration from the command line, and the one place where its answers become our errors.
 * Only files below io/ include rdkafka.h; this header does so for them when RP_WITH_RDKAFKA is defined.
 */
#ifndef RP_CLIENT_H
#define RP_CLIENT_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

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

/** @returns the version of the librdkafka that is loaded, such as "2.0.2". Static storage. */
const char *rp_client_version(void);

#ifdef RP_WITH_RDKAFKA
#include <librdkafka/rdkafka.h>

/**
 * A conf with these properties, quiet logging and our client.id; the caller sets what it needs itself afterwards.
 * @returns a conf, the caller's; or NULL with *err (RP_ERR_USAGE) naming the property and librdkafka's reason.
 */
rd_kafka_conf_t *rp_client_conf(const struct rp_client_config *config, struct rp_error *err);

/** Sets one property that we choose ourselves; a name that an older librdkafka does not know is an error as well. */
rp_err_t rp_client_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct rp_error *err);

/** What librdkafka's error code means for the caller's next step. */
rp_err_t rp_err_from_kafka(rd_kafka_resp_err_t kerr);

/**
 * Takes kerr (destroys it; NULL is RP_OK) and fills *err with "what: librdkafka's text".
 */
rp_err_t rp_fail_kafka(struct rp_error *err, rd_kafka_error_t *kerr, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
#endif

#endif
