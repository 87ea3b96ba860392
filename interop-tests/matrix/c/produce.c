/*
 * Produces the job on stdin with librdkafka, each record where librdkafka's own partitioner puts it.
 *
 * usage: produce VERSION PARTITIONER BOOTSTRAP TAG < JOB
 *        VERSION: the librdkafka that must be in use, else the row of the matrix would tell of another one
 *        PARTITIONER: librdkafka's name of one, or "default" to leave it alone
 */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t delivered;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rec, void *opaque)
{
        (void)rk, (void)opaque;
        if (rec->err)
                fprintf(stderr, "produce: %s\n", rd_kafka_message_errstr(rec));
        else
                delivered++;
}

static void die(const char *text)
{
        fprintf(stderr, "produce: %s\n", text);
        exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char text[512];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
                die(text);
}

/* Decodes in place. @returns the length. */
static size_t hex_decode(char *text)
{
        size_t len = strlen(text);

        if (len % 2)
                die("half a byte in the job");
        for (size_t i = 0; i < len / 2; i++) {
                unsigned byte;

                if (sscanf(text + 2 * i, "%2x", &byte) != 1)
                        die("no hex in the job");
                text[i] = (char)byte;
        }
        return len / 2;
}

int main(int argc, char **argv)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[512], *line = NULL;
        size_t size = 0, sent = 0;
        rd_kafka_t *rk;

        if (argc != 5)
                die("usage: produce VERSION PARTITIONER BOOTSTRAP TAG < JOB");
        if (strcmp(argv[1], rd_kafka_version_str()))
                die("this is another version of librdkafka than was asked for");
        if (strcmp(argv[2], "default"))
                set(conf, "partitioner", argv[2]);
        set(conf, "bootstrap.servers", argv[3]);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk)
                die(text);
        while (getline(&line, &size, stdin) > 0) {
                char *key = strchr(line, '\t'), value[256];
                size_t key_len;
                int keyless;
                rd_kafka_resp_err_t err;

                if (!key)
                        die("a line of the job has no tab");
                *key++ = '\0';
                key[strcspn(key, "\n")] = '\0';
                keyless = !strcmp(key, "-");
                key_len = keyless ? 0 : hex_decode(key);
                snprintf(value, sizeof(value), "%s\t%zu", argv[4], sent);
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(line), RD_KAFKA_V_KEY(keyless ? NULL : key, key_len),
                                        RD_KAFKA_V_VALUE(value, strlen(value)), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                        RD_KAFKA_V_END);
                if (err)
                        die(rd_kafka_err2str(err));
                sent++;
                rd_kafka_poll(rk, 0);
        }
        free(line);
        rd_kafka_flush(rk, 60 * 1000);
        rd_kafka_destroy(rk);
        if (delivered != sent) {
                fprintf(stderr, "produce: %zu of %zu records were delivered\n", delivered, sent);
                return 1;
        }
        return 0;
}
