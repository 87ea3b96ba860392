/**
 * A program that uses librdkafka and knows nothing of Keyroute: it only sets properties. Shared by the plugin's tests,
 * as a header because the other tests are linked without librdkafka. Partitions are read from delivery reports.
 */
#ifndef KR_PLUGIN_HOST_H
#define KR_PLUGIN_HOST_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- an embedded cluster, which every test of a program shares ---------------------------------------------- */

static rd_kafka_t *cluster_owner;
static rd_kafka_mock_cluster_t *cluster;

static inline void cluster_start(void)
{
        char errstr[512];

        unsetenv("KEYROUTE_POLICY");
        unsetenv("KEYROUTE_HASH");
        unsetenv("KEYROUTE_WITNESS");
        cluster_owner = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), errstr, sizeof(errstr));
        assert_non_null(cluster_owner);
        cluster = rd_kafka_mock_cluster_new(cluster_owner, 1);
        assert_non_null(cluster);
}

static inline void cluster_topic(const char *topic, int partition_cnt)
{
        assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, partition_cnt, 1), 0);
}

static inline void cluster_stop(void)
{
        rd_kafka_mock_cluster_destroy(cluster);
        rd_kafka_destroy(cluster_owner);
}

/* ---- files and log lines ------------------------------------------------------------------------------------ */

/* Writes a policy to a new file; *path is then its name, to be unlinked. */
static inline void policy_write(char path[64], const char *text)
{
        FILE *file;
        int fd;

        strcpy(path, "/tmp/keyroute-test-XXXXXX");
        fd = mkstemp(path);
        assert_true(fd >= 0);
        file = fdopen(fd, "w");
        fputs(text, file);
        fclose(file);
}

static int stderr_saved = -1;
static FILE *stderr_file;

/* librdkafka logs to stderr: from here on it goes to a file. */
static inline void log_capture(void)
{
        fflush(stderr);
        stderr_file = tmpfile();
        stderr_saved = dup(2);
        dup2(fileno(stderr_file), 2);
}

/* @returns what was logged, good until the next call. */
static inline const char *log_captured(void)
{
        static char text[1 << 16];
        size_t len;

        fflush(stderr);
        dup2(stderr_saved, 2);
        close(stderr_saved);
        stderr_saved = -1;
        rewind(stderr_file);
        len = fread(text, 1, sizeof(text) - 1, stderr_file);
        fclose(stderr_file);
        text[len] = '\0';
        fputs(text, stderr);
        return text;
}

/* After a test that failed half-way: shows what went to the file, cmocka's complaint among it. */
static inline int log_release(void **state)
{
        (void)state;
        if (stderr_saved >= 0)
                log_captured();
        return 0;
}

#define log_test(test) cmocka_unit_test_teardown(test, log_release)

static inline size_t count_of(const char *text, const char *part)
{
        size_t cnt = 0;

        for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
                cnt++;
        return cnt;
}

/* ---- configurations and producers --------------------------------------------------------------------------- */

static inline const char *plugin_path(void)
{
        static _Thread_local char path[512];
        const char *build = getenv("KEYROUTE_BUILD");

        /* A name with a slash, so that the loader looks nowhere else. */
        snprintf(path, sizeof(path), "%s%s/keyroute.so", build && *build == '/' ? "" : "./", build ? build : "build");
        return path;
}

static inline void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char errstr[512] = "";

        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK)
                fail_msg("%s=%s: %s", name, value ? value : "", errstr);
}

/* Expects a setting to fail. @returns the message, good until the next call. */
static inline const char *set_fails(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        static char errstr[512];

        *errstr = '\0';
        assert_int_not_equal(rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)), RD_KAFKA_CONF_OK);
        return errstr;
}

#define assert_says(text, part)                                                \
        do {                                                                   \
                const char *whole = (text);                                    \
                                                                               \
                if (!strstr(whole, (part)))                                    \
                        fail_msg("\"%s\" does not say \"%s\"", whole, (part)); \
        } while (0)

static inline rd_kafka_conf_t *conf_with_plugin(void)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();

        set(conf, "plugin.library.paths", plugin_path());
        return conf;
}

/* Where a record ended up: a partition, or an error, which is negative. */
static inline void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rec, void *opaque)
{
        (void)rk, (void)opaque;
        *(int32_t *)rec->_private = rec->err ? (int32_t)rec->err : rec->partition;
}

/* A producer that knows no broker yet. Takes the configuration over. */
static inline rd_kafka_t *producer_new_unconnected(rd_kafka_conf_t *conf)
{
        char errstr[512] = "";
        rd_kafka_t *rk;

        set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        if (!rk)
                fail_msg("no producer: %s", errstr);
        return rk;
}

/* Connected: a record that meets an open connection is not kept until librdkafka's next look, a second later. */
static inline rd_kafka_t *producer_new(rd_kafka_conf_t *conf)
{
        const struct rd_kafka_metadata *metadata;
        rd_kafka_t *rk;

        set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster));
        rk = producer_new_unconnected(conf);
        assert_int_equal(rd_kafka_metadata(rk, 0, NULL, &metadata, 20000), 0);
        rd_kafka_metadata_destroy(metadata);
        return rk;
}

/* Hands a record over without waiting; *where is set when it is delivered, or at once when it is refused. */
static inline void send_start(rd_kafka_t *rk, const char *topic, const void *key, size_t key_len, size_t payload_len,
                              int32_t *where)
{
        static const char payload[16];
        rd_kafka_resp_err_t err;

        err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                RD_KAFKA_V_KEY(key, key_len), RD_KAFKA_V_VALUE((void *)payload, payload_len),
                                RD_KAFKA_V_OPAQUE(where), RD_KAFKA_V_END);
        if (err)
                *where = (int32_t)err;
}

/* @returns the partition where the record was delivered, or an error. */
static inline int32_t send_to(rd_kafka_t *rk, const char *topic, const void *key, size_t key_len)
{
        int32_t where = RD_KAFKA_RESP_ERR__FAIL;

        send_start(rk, topic, key, key_len, 1, &where);
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        return where;
}

static inline int32_t send_text(rd_kafka_t *rk, const char *topic, const char *key)
{
        return send_to(rk, topic, key, strlen(key));
}

/* ---- what librdkafka itself says: an oracle that shares no line with us ------------------------------------- */

static inline int32_t by_murmur2(const char *key, int32_t partition_cnt)
{
        return rd_kafka_msg_partitioner_murmur2(NULL, key, strlen(key), partition_cnt, NULL, NULL);
}

static inline int32_t by_crc32(const char *key, int32_t partition_cnt)
{
        return rd_kafka_msg_partitioner_consistent(NULL, key, strlen(key), partition_cnt, NULL, NULL);
}

static inline int32_t by_fnv1a(const char *key, int32_t partition_cnt)
{
        return rd_kafka_msg_partitioner_fnv1a(NULL, key, strlen(key), partition_cnt, NULL, NULL);
}

/* Keys for which the three functions differ pairwise modulo 12, checked by the first test that uses them. */
static const char *const keys[] = { "order-42", "order-43", "TT0124", "240717C6P0LS-483553", "\xc3\xa9t\xc3\xa9", "a" };

enum { KEY_CNT = sizeof(keys) / sizeof(keys[0]) };

#define assert_routed(rk, topic, oracle, partition_cnt)                                                      \
        do {                                                                                                 \
                for (size_t nth = 0; nth < KEY_CNT; nth++)                                                   \
                        assert_int_equal(send_text(rk, topic, keys[nth]), oracle(keys[nth], partition_cnt)); \
        } while (0)

#endif
