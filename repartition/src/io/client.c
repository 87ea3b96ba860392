#define RP_WITH_RDKAFKA
#include "io/client.h"

#include "io/within.h"
#include "secret.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rp_err_t add(struct rp_client_config *config, const char *name, size_t name_len, const char *value,
                    struct rp_error *err)
{
        char **names = realloc(config->names, (config->cnt + 1) * sizeof(*names));
        char **values;

        if (names)
                config->names = names;
        values = realloc(config->values, (config->cnt + 1) * sizeof(*values));
        if (values)
                config->values = values;
        if (!names || !values || !(names[config->cnt] = strndup(name, name_len)))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (!(values[config->cnt] = strdup(value))) {
                free(names[config->cnt]);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        config->cnt++;
        return RP_OK;
}

static rp_err_t read_file(struct rp_client_config *config, const char *path, struct rp_error *err)
{
        FILE *file = fopen(path, "r");
        char *line = NULL;
        size_t size = 0;
        int number = 0;
        ssize_t len;
        rp_err_t rc = RP_OK;

        if (!file)
                return rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the configuration file: %s", path,
                               strerror(errno));
        while (rc == RP_OK && (len = getline(&line, &size, file)) >= 0) {
                char *text = line + strspn(line, " \t");
                char *end = line + len;
                char *equals;

                number++;
                while (end > text && strchr(" \t\r\n", end[-1]))
                        end--;
                *end = '\0';
                if (!*text || *text == '#')
                        continue;
                equals = strchr(text, '=');
                if (!equals || equals == text) {
                        rc = rp_fail(err, RP_ERR_USAGE, "%.300s: line %d: expected NAME=VALUE", path, number);
                        break;
                }
                end = equals;
                while (end > text && strchr(" \t", end[-1]))
                        end--;
                equals++;
                rc = add(config, text, (size_t)(end - text), equals + strspn(equals, " \t"), err);
        }
        if (rc == RP_OK && ferror(file))
                rc = rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the configuration file: %s", path,
                             strerror(errno));
        free(line);
        fclose(file);
        return rc;
}

/*
 * What no job can do with another value must not look as if it had been heeded. In a file, which other programs may share, it
 * is passed over.
 */
static rp_err_t check_heeded(const char *name, size_t len, const char *value, struct rp_error *err)
{
        static const struct { const char *name, *values[2], *why; } ours[] = {
                { "transactional.id", { NULL, NULL }, "the job's name is the id: --job NAME" },
                { "enable.idempotence", { "true", "1" }, "each record once needs it to be true" },
                { "acks", { "all", "-1" }, "each record once needs all" },
                { "request.required.acks", { "all", "-1" }, "each record once needs all" },
                { "isolation.level", { "read_committed", NULL }, "which records are read is for the command to choose" },
                { "enable.auto.commit", { "false", "0" }, "progress is stored by the transactions themselves" },
        };

        if (len > 7 && (!strncmp(name, "source.", 7) || !strncmp(name, "target.", 7))) {
                name += 7;
                len -= 7;
        }
        for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
                if (strlen(ours[i].name) != len || strncmp(ours[i].name, name, len) != 0)
                        continue;
                for (size_t v = 0; v < 2; v++)
                        if (ours[i].values[v] && !strcmp(ours[i].values[v], value))
                                return RP_OK;
                return rp_fail(err, RP_ERR_USAGE, "-X %s is not yours to set: %s", ours[i].name, ours[i].why);
        }
        return RP_OK;
}

static rp_err_t read_all(struct rp_client_config *config, const char *config_file, const char *const *pairs,
                         size_t pair_cnt, const char *bootstrap, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        *config = (struct rp_client_config){ 0 };
        if (config_file)
                rc = read_file(config, config_file, err);
        for (size_t i = 0; rc == RP_OK && i < pair_cnt; i++) {
                const char *equals = strchr(pairs[i], '=');

                if (!equals || equals == pairs[i])
                        /* What follows the name may be a secret. */
                        rc = rp_fail(err, RP_ERR_USAGE, "-X %.*s: expected NAME=VALUE",
                                     (int)strspn(pairs[i], "abcdefghijklmnopqrstuvwxyz._"), pairs[i]);
                else
                        rc = check_heeded(pairs[i], (size_t)(equals - pairs[i]), equals + 1, err);
                if (rc == RP_OK)
                        rc = add(config, pairs[i], (size_t)(equals - pairs[i]), equals + 1, err);
        }
        if (rc == RP_OK && bootstrap)
                rc = add(config, "bootstrap.servers", strlen("bootstrap.servers"), bootstrap, err);
        return rc;
}

static rp_err_t check_address(const struct rp_client_config *config, const char *side, struct rp_error *err)
{
        for (size_t i = 0; i < config->cnt; i++)
                if (*config->values[i] && (!strcmp(config->names[i], "bootstrap.servers") ||
                                           !strcmp(config->names[i], "metadata.broker.list")))
                        return RP_OK;
        return rp_fail(err, RP_ERR_USAGE, "no broker named%s%s: give -b HOST:PORT, or bootstrap.servers in -F or -X",
                       *side ? " for the " : "", side);
}

rp_err_t rp_client_config_read(struct rp_client_config *config, const char *config_file, const char *const *pairs,
                               size_t pair_cnt, const char *bootstrap, struct rp_error *err)
{
        rp_err_t rc = read_all(config, config_file, pairs, pair_cnt, bootstrap, err);

        if (rc == RP_OK)
                rc = check_address(config, "", err);
        if (rc != RP_OK)
                rp_client_config_release(config);
        return rc;
}

/* First what is said for both sides, then the side's own, which wins by coming later. */
static rp_err_t take_side(struct rp_client_config *side, const char *name, const struct rp_client_config *all,
                          struct rp_error *err)
{
        size_t len = strlen(name);
        bool has_sides = false;
        rp_err_t rc = RP_OK;

        *side = (struct rp_client_config){ 0 };
        for (int own = 0; own < 2; own++)
                for (size_t i = 0; rc == RP_OK && i < all->cnt; i++) {
                        const char *text = all->names[i];
                        bool is_sided = !strncmp(text, "source.", 7) || !strncmp(text, "target.", 7);
                        bool is_own = !strncmp(text, name, len) && text[len] == '.';

                        has_sides |= is_sided;
                        if (own ? is_own : !is_sided)
                                rc = add(side, text + (own ? len + 1 : 0), strlen(text + (own ? len + 1 : 0)), all->values[i], err);
                }
        return rc == RP_OK ? check_address(side, has_sides ? name : "", err) : rc;
}

rp_err_t rp_client_config_read_sides(struct rp_client_config *source, struct rp_client_config *target,
                                     const char *config_file, const char *const *pairs, size_t pair_cnt,
                                     const char *bootstrap, struct rp_error *err)
{
        struct rp_client_config all;
        rp_err_t rc = read_all(&all, config_file, pairs, pair_cnt, bootstrap, err);

        *source = *target = (struct rp_client_config){ 0 };
        if (rc == RP_OK)
                rc = take_side(source, "source", &all, err);
        if (rc == RP_OK)
                rc = take_side(target, "target", &all, err);
        rp_client_config_release(&all);
        return rc;
}

void rp_client_config_release(struct rp_client_config *config)
{
        for (size_t i = 0; i < config->cnt; i++) {
                free(config->names[i]);
                free(config->values[i]);
        }
        free(config->names);
        free(config->values);
        *config = (struct rp_client_config){ 0 };
}

const char *rp_client_version(void)
{
        return rd_kafka_version_str();
}

uint32_t rp_client_version_number(void)
{
        return (uint32_t)rd_kafka_version();
}

const char *rp_client_features(void)
{
        static char features[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        size_t size = sizeof(features);

        if (rd_kafka_conf_get(conf, "builtin.features", features, &size) != RD_KAFKA_CONF_OK)
                *features = '\0';
        rd_kafka_conf_destroy(conf);
        return features;
}

bool rp_client_is_secured(const struct rp_client *client)
{
        return client->is_secured;
}

rp_err_t rp_client_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct rp_error *err)
{
        char text[256];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) == RD_KAFKA_CONF_OK)
                return RP_OK;
        if (rp_secret_is(name, strlen(name), value))
                rp_secret_blot(text, value);
        return rp_fail(err, RP_ERR_USAGE, "librdkafka %s: %s", rd_kafka_version_str(), text);
}

rp_err_t rp_client_set_all(rd_kafka_conf_t *conf, const char *const *pairs, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (; rc == RP_OK && *pairs; pairs += 2)
                rc = rp_client_set(conf, pairs[0], pairs[1], err);
        return rc;
}

static bool is_named(const struct rp_client_config *config, const char *name)
{
        for (size_t i = 0; i < config->cnt; i++)
                if (!strcmp(config->names[i], name))
                        return true;
        return false;
}

rp_err_t rp_client_tune(rd_kafka_conf_t *conf, const struct rp_client_config *config, const char *name, int64_t value,
                        struct rp_error *err)
{
        char text[32];

        if (is_named(config, name))
                return RP_OK;
        snprintf(text, sizeof(text), "%" PRId64, value);
        return rp_client_set(conf, name, text, err);
}

rd_kafka_conf_t *rp_client_conf(const struct rp_client_config *config, struct rp_error *err)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();

        if (rp_client_set(conf, "client.id", "repartition", err) != RP_OK)
                goto fail;
        for (size_t i = 0; i < config->cnt; i++)
                if (rp_client_set(conf, config->names[i], config->values[i], err) != RP_OK)
                        goto fail;
        /* Telemetry to the brokers is of no use to a job, and 2.5.0 to 2.5.2 can stop the process by an assertion in it. */
        if (rd_kafka_version() >= 0x02050000 && !is_named(config, "enable.metrics.push") &&
            rp_client_set(conf, "enable.metrics.push", "false", err) != RP_OK)
                goto fail;
        /* What matters of librdkafka's log comes as error events too; the rest is for those who ask for it. */
        if (!is_named(config, "debug") && !is_named(config, "log_level"))
                rd_kafka_conf_set_log_cb(conf, NULL);
        return conf;
fail:
        rd_kafka_conf_destroy(conf);
        return NULL;
}

/* ---- trouble ---------------------------------------------------------------------------------------------------- */

/*
 * librdkafka says "certificate verify failed" for every reason; OpenSSL's numbers tell more. Changes nothing about what
 * is trusted: whatever OpenSSL has found stands.
 */
static int on_certificate(rd_kafka_t *rk, const char *broker, int32_t broker_id, int *x509_error, int depth,
                          const char *certificate, size_t len, char *text, size_t size, void *opaque)
{
        struct rp_client *client = opaque;

        (void)rk, (void)broker, (void)broker_id, (void)depth, (void)certificate, (void)len;
        if (!*x509_error)
                return 1;
        client->certificate_error = *x509_error;
        snprintf(text, size, "OpenSSL's error %d", *x509_error);
        return 0;
}

static const char *certificate_text(int x509_error)
{
        switch (x509_error) {
        case 9:
                return "it is not valid yet: is this machine's clock right?";
        case 10:
                return "it has expired";
        case 23:
                return "it was revoked";
        case 62:
        case 64:
                return "it was made for another host name or address than the one connected to";
        case 2:
        case 18:
        case 19:
        case 20:
        case 21:
                return "it is not signed by an authority that is trusted here: see ssl.ca.location";
        default:
                return "see ssl.ca.location";
        }
}

/* A broker that does not like our certificate, or misses it, ends the connection with a TLS alert. */
static bool is_certificate_alert(const char *reason)
{
        const char *alert = strstr(reason, " alert ");

        return alert && (strstr(alert, "certificate") || strstr(alert, "unknown ca"));
}

/* What librdkafka's log line says about a failed login or handshake, told shortly and with what to do. */
static void tell_unwelcome(struct rp_client *client, int kerr, const char *reason, int len)
{
        const char *where = strstr(reason, "://");
        const char *host = where ? where + 3 : reason;
        int host_len = (int)strcspn(host, "/: ");
        int certificate_error = client->certificate_error;

        host_len += host[host_len] == ':' ? 1 + (int)strcspn(host + host_len + 1, "/: ") : 0;
        if (kerr != RD_KAFKA_RESP_ERR__AUTHENTICATION && certificate_error)
                snprintf(client->trouble, sizeof(client->trouble), "the certificate of broker %.*s is not accepted: %s",
                         where ? host_len : 0, host, certificate_text(certificate_error));
        else if (is_certificate_alert(reason))
                snprintf(client->trouble, sizeof(client->trouble), "broker %.*s wants a certificate of ours that it trusts: see "
                         "ssl.certificate.location and ssl.key.location", where ? host_len : 0, host);
        else if (kerr == RD_KAFKA_RESP_ERR__AUTHENTICATION && client->is_scram && rd_kafka_version() < 0x02060100 &&
                 strstr(reason, "invalid credentials"))
                snprintf(client->trouble, sizeof(client->trouble),
                         "broker %.*s refuses the login. SCRAM of librdkafka %s does not work with Kafka 3.8.1 and newer, even "
                         "if the password is right: use librdkafka 2.6.1 or newer, or another mechanism",
                         where ? host_len : 0, host, rd_kafka_version_str());
        else if (kerr == RD_KAFKA_RESP_ERR__AUTHENTICATION && strstr(reason, "Authentication failed"))
                snprintf(client->trouble, sizeof(client->trouble),
                         "broker %.*s refuses the login: see sasl.mechanisms, sasl.username and sasl.password",
                         where ? host_len : 0, host);
        else
                snprintf(client->trouble, sizeof(client->trouble), "%.*s", len, reason);
}

static void on_error(rd_kafka_t *rk, int kerr, const char *reason, void *opaque)
{
        struct rp_client *client = opaque;
        const char *after = strstr(reason, " (after "); /* how long and how often: of no use to the reader */
        int len = after ? (int)(after - reason) : (int)strlen(reason);

        (void)rk;
        /* "All brokers are down" only sums up what was just said in more words. */
        if (kerr == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && *client->trouble)
                return;
        client->is_unwelcome = kerr == RD_KAFKA_RESP_ERR__SSL || kerr == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                               is_certificate_alert(reason) || strstr(reason, "certificate verify failed");
        if (client->is_unwelcome)
                tell_unwelcome(client, kerr, reason, len);
        else
                snprintf(client->trouble, sizeof(client->trouble), "%.*s", len, reason);
}

rp_err_t rp_client_judge_silence(const struct rp_client *client, struct rp_error *err)
{
        if (err->code == RP_ERR_RETRY && client->is_unwelcome)
                err->code = RP_ERR_USAGE;
        return err->code;
}

void rp_client_needs(struct rp_client *client, enum rp_resource resource, const char *operation, const char *name)
{
        client->needs[resource].operation = operation;
        snprintf(client->needs[resource].name, sizeof(client->needs[resource].name), "%s", name ? name : "");
}

static enum rp_resource refused_resource(rd_kafka_resp_err_t kerr)
{
        switch (kerr) {
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
                return RP_RESOURCE_TOPIC;
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
                return RP_RESOURCE_GROUP;
        case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                return RP_RESOURCE_TRANSACTIONAL_ID;
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
                return RP_RESOURCE_CLUSTER;
        default:
                return RP_RESOURCE_CNT;
        }
}

void rp_right_print(char *text, size_t size, enum rp_resource resource, const char *operation, const char *name)
{
        static const char *const options[] = { "topic", "group", "transactional-id", "cluster" };
        static const char *const kinds[] = { "topic", "group", "transactional id", "the cluster" };
        const char *quote = *name ? "\"" : "";

        snprintf(text, size,
                 "this user lacks %s on %s%s%s%.100s%s: an administrator grants it by kafka-acls --add --allow-principal "
                 "User:NAME --operation %s --%s%s%.100s",
                 operation, kinds[resource], *name ? " " : "", quote, name, quote, operation, options[resource],
                 *name ? " " : "", name);
}

void rp_client_append_right(const struct rp_client *client, rd_kafka_resp_err_t kerr, char *text, size_t size)
{
        enum rp_resource resource = refused_resource(kerr);
        size_t used = strlen(text);

        if (!client || resource == RP_RESOURCE_CNT || !client->needs[resource].operation || used + 3 > size)
                return;
        memcpy(text + used, "; ", 3);
        rp_right_print(text + used + 2, size - used - 2, resource, client->needs[resource].operation,
                       client->needs[resource].name);
}

/* ---- the client ------------------------------------------------------------------------------------------------- */

static bool conf_is(const rd_kafka_conf_t *conf, const char *name, const char *start)
{
        char value[256] = "";
        size_t size = sizeof(value);

        return rd_kafka_conf_get(conf, name, value, &size) == RD_KAFKA_CONF_OK && !strncmp(value, start, strlen(start));
}

/* The rights that every member of a group and every transactional producer needs. */
static void need_by_conf(struct rp_client *client, const rd_kafka_conf_t *conf)
{
        char value[256];
        size_t size = sizeof(value);

        memset(client->needs, 0, sizeof(client->needs));
        if (rd_kafka_conf_get(conf, "group.id", value, &size) == RD_KAFKA_CONF_OK)
                rp_client_needs(client, RP_RESOURCE_GROUP, "Read", value);
        size = sizeof(value);
        if (rd_kafka_conf_get(conf, "transactional.id", value, &size) == RD_KAFKA_CONF_OK)
                rp_client_needs(client, RP_RESOURCE_TRANSACTIONAL_ID, "Write", value);
        rp_client_needs(client, RP_RESOURCE_CLUSTER, "IdempotentWrite", NULL);
}

rp_err_t rp_client_open(struct rp_client *client, rd_kafka_type_t type, rd_kafka_conf_t *conf, struct rp_error *err)
{
        char text[256];

        *client->trouble = '\0';
        client->is_unwelcome = false;
        client->certificate_error = 0;
        need_by_conf(client, conf);
        client->is_secured = !conf_is(conf, "security.protocol", "plaintext");
        client->is_scram = conf_is(conf, "sasl.mechanisms", "SCRAM");
        rd_kafka_conf_set_opaque(conf, client);
        rd_kafka_conf_set_error_cb(conf, on_error);
        if (conf_is(conf, "enable.ssl.certificate.verification", "true"))
                rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_certificate);
        client->rk = rd_kafka_new(type, conf, text, sizeof(text));
        if (client->rk)
                return RP_OK;
        rd_kafka_conf_destroy(conf);
        return rp_fail(err, RP_ERR_USAGE, "librdkafka %s cannot make a client: %s", rd_kafka_version_str(), text);
}

enum { CLOSE_MS = 10000 };

static void destroy(void *rk)
{
        rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void leave(void *rk)
{
        (void)rk;
}

/* librdkafka 2.0.2 waits for ever for a consumer whose topic was deleted. Who closes it mostly has something to say still. */
void rp_client_close(struct rp_client *client)
{
        if (client->rk)
                rp_call_within(CLOSE_MS, destroy, leave, client->rk);
        client->rk = NULL;
}

void rp_client_serve(struct rp_client *client, int timeout_ms)
{
        rd_kafka_poll(client->rk, timeout_ms);
}

bool rp_is_refused(rd_kafka_resp_err_t kerr)
{
        switch (kerr) {
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                return true;
        default:
                return false;
        }
}

/* Codes of versions newer than the one that this is compiled against. */
enum { ERR_LOG_TRUNCATION = -139, ERR_DESTROY_BROKER = -137, ERR_UNKNOWN_TOPIC_ID = 100, ERR_INCONSISTENT_TOPIC_ID = 103 };

rp_err_t rp_err_from_kafka(rd_kafka_resp_err_t kerr)
{
        switch ((int)kerr) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
                return RP_OK;
        case RD_KAFKA_RESP_ERR__FENCED:
        case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
        case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
                return RP_ERR_FENCED;
        case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        case ERR_LOG_TRUNCATION:
                return RP_ERR_INCOMPLETE;
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        case RD_KAFKA_RESP_ERR__AUTHENTICATION:
        case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
                return RP_ERR_USAGE;
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
        case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        case RD_KAFKA_RESP_ERR__BAD_MSG:
                return RP_ERR_BAD_RECORD;
        case RD_KAFKA_RESP_ERR__TRANSPORT:
        case RD_KAFKA_RESP_ERR__DESTROY:
        case ERR_DESTROY_BROKER:
        case RD_KAFKA_RESP_ERR__UNKNOWN_BROKER:
        case RD_KAFKA_RESP_ERR__RESOLVE:
        case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
        case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
        case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
        case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
        case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
        case ERR_UNKNOWN_TOPIC_ID:
        case ERR_INCONSISTENT_TOPIC_ID:
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
        case RD_KAFKA_RESP_ERR__TIMED_OUT:
        case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
        case RD_KAFKA_RESP_ERR__WAIT_COORD:
        case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
        case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
        case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
        case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
        case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
        case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
        case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
        case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
        case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
        case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
        case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        case RD_KAFKA_RESP_ERR__QUEUE_FULL:
                return RP_ERR_RETRY;
        default:
                return RP_ERR_FATAL; /* unknown: never guess with someone's data */
        }
}

/* Errors behind which there is often a plainer reason, such as a refused connection. */
static bool is_connection_trouble(rd_kafka_resp_err_t kerr)
{
        return kerr == RD_KAFKA_RESP_ERR__TRANSPORT || kerr == RD_KAFKA_RESP_ERR__TIMED_OUT ||
               kerr == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || kerr == RD_KAFKA_RESP_ERR__WAIT_COORD ||
               kerr == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
}

static rp_err_t fail(struct rp_error *err, rp_err_t code, const struct rp_client *client, rd_kafka_resp_err_t kerr,
                     const char *text, const char *fmt, va_list args)
{
        char what[200];

        vsnprintf(what, sizeof(what), fmt, args);
        if (client && client->is_unwelcome && is_connection_trouble(kerr))
                return rp_fail(err, code, "%s: %s", what, client->trouble);
        if (client && *client->trouble && is_connection_trouble(kerr))
                return rp_fail(err, code, "%s: %s (%s)", what, text, client->trouble);
        rp_fail(err, code, "%s: %s", what, text);
        rp_client_append_right(client, kerr, err->text, sizeof(err->text));
        return code;
}

rp_err_t rp_fail_resp(struct rp_error *err, const struct rp_client *client, rd_kafka_resp_err_t kerr,
                      const char *fmt, ...)
{
        va_list args;
        rp_err_t code;

        va_start(args, fmt);
        code = fail(err, rp_err_from_kafka(kerr), client, kerr, rd_kafka_err2str(kerr), fmt, args);
        va_end(args);
        return code;
}

rp_err_t rp_fail_kafka(struct rp_error *err, const struct rp_client *client, rd_kafka_error_t *kerr, const char *fmt,
                       ...)
{
        rp_err_t code;
        va_list args;

        if (!kerr)
                return RP_OK;
        code = rp_err_from_kafka(rd_kafka_error_code(kerr));
        if (code == RP_ERR_FENCED || rp_is_refused(rd_kafka_error_code(kerr)))
                ; /* are fatal for librdkafka too, but tell more */
        else if (rd_kafka_error_is_fatal(kerr))
                code = RP_ERR_FATAL;
        else if (rd_kafka_error_txn_requires_abort(kerr))
                code = RP_ERR_ABORT_BATCH;
        else if (rd_kafka_error_is_retriable(kerr))
                code = RP_ERR_RETRY;
        va_start(args, fmt);
        fail(err, code, client, rd_kafka_error_code(kerr), rd_kafka_error_string(kerr), fmt, args);
        va_end(args);
        rd_kafka_error_destroy(kerr);
        return code;
}
