/*
 * A C producer that leaves its topics without a configuration of their own: two properties route it, and nothing else in
 * it knows of Keyroute.
 *
 *   cc -o configured configured.c $(pkg-config --cflags --libs rdkafka)
 *   ./configured BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
 *
 * KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
 */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed_cnt;

static void count_failure(rd_kafka_resp_err_t err)
{
        failed_cnt++;
        fprintf(stderr, "configured: not delivered: %s\n", rd_kafka_err2str(err));
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
        (void)rk, (void)opaque;
        if (message->err)
                count_failure(message->err);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char text[512];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text))) {
                fprintf(stderr, "configured: %s\n", text);
                exit(2);
        }
}

static void produce(rd_kafka_t *rk, const char *topic, char *line)
{
        char *tab = strchr(line, '\t');
        char *value = tab ? tab + 1 : line;
        rd_kafka_resp_err_t err;

        do {
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                        RD_KAFKA_V_KEY(tab ? line : NULL, tab ? (size_t)(tab - line) : 0),
                                        RD_KAFKA_V_VALUE(value, strlen(value)), RD_KAFKA_V_END);
                rd_kafka_poll(rk, err == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
        } while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
        if (err)
                count_failure(err); /* a refused record, once the topic is known: nothing was sent anywhere */
}

int main(int argc, char **argv)
{
        const char *plugin = getenv("KEYROUTE_PLUGIN");
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[512], *line = NULL;
        size_t size = 0;
        ssize_t len;
        rd_kafka_t *rk;

        if (argc != 4) {
                fprintf(stderr, "usage: configured BOOTSTRAP TOPIC POLICY < LINES\n");
                return 2;
        }
        set(conf, "bootstrap.servers", argv[1]);
        set(conf, "plugin.library.paths", plugin ? plugin : "keyroute"); /* before its own properties */
        set(conf, "keyroute.policy", argv[3]);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk) {
                fprintf(stderr, "configured: %s\n", text);
                return 2;
        }
        while ((len = getline(&line, &size, stdin)) >= 0) {
                if (len && line[len - 1] == '\n')
                        line[len - 1] = '\0';
                produce(rk, argv[2], line);
        }
        rd_kafka_flush(rk, 30000);
        failed_cnt += rd_kafka_outq_len(rk);
        free(line);
        rd_kafka_destroy(rk);
        return failed_cnt != 0;
}
