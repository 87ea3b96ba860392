/*
 * A C program as a host of the plugin. It knows nothing of Keyroute: properties come from its command line, are set in
 * that order, and the first that fails ends it. Then each line of stdin is a key in hexadecimal (an empty line is the
 * empty key, "-" is none), and for each one line goes to stdout once the record is delivered: its partition, or the
 * name of the error. So whoever feeds it can change the world between two records.
 *
 * usage: c_host TOPIC [NAME=VALUE...]
 */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rec, void *opaque)
{
        (void)rk, (void)opaque;
        if (rec->err)
                printf("%s\n", rd_kafka_err2name(rec->err));
        else
                printf("%d\n", (int)rec->partition);
}

static int usage(const char *text)
{
        fprintf(stderr, "c_host: %s\n", text);
        return 2;
}

/* Decodes in place. @returns the length, or -1. */
static long hex_decode(char *text)
{
        size_t len = strcspn(text, "\r\n");

        if (len % 2)
                return -1;
        for (size_t i = 0; i < len / 2; i++) {
                unsigned byte;

                if (sscanf(text + 2 * i, "%2x", &byte) != 1)
                        return -1;
                text[i] = (char)byte;
        }
        return (long)(len / 2);
}

int main(int argc, char **argv)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char *line = NULL;
        size_t size = 0;
        char text[512];
        rd_kafka_t *rk;

        if (argc < 2)
                return usage("usage: c_host TOPIC [NAME=VALUE...]");
        for (int i = 2; i < argc; i++) {
                char *value = strchr(argv[i], '=');

                if (!value)
                        return usage(argv[i]);
                *value++ = '\0';
                if (rd_kafka_conf_set(conf, argv[i], value, text, sizeof(text)) != RD_KAFKA_CONF_OK) {
                        rd_kafka_conf_destroy(conf);
                        return usage(text);
                }
        }
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk) {
                usage(text);
                rd_kafka_conf_destroy(conf);
                return 3;
        }
        while (getline(&line, &size, stdin) > 0) {
                int keyless = !strcmp(line, "-\n");
                long key_len = keyless ? 0 : hex_decode(line);
                rd_kafka_resp_err_t err;

                if (key_len < 0)
                        return usage("expected a key in hexadecimal");
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(argv[1]), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                        RD_KAFKA_V_KEY(keyless ? NULL : line, (size_t)key_len),
                                        RD_KAFKA_V_VALUE("v", 1), RD_KAFKA_V_END);
                if (err)
                        printf("%s\n", rd_kafka_err2name(err));
                else
                        rd_kafka_flush(rk, 60000);
                fflush(stdout);
        }
        free(line);
        rd_kafka_destroy(rk);
        return 0;
}
