/*
 * A process that holds two copies of librdkafka, as one with two bundled bindings does. Both load the plugin, each with
 * a hash function of its own, and send the same keys in turns. One line a key: the partition by the first copy, and by
 * the second.
 *
 * usage: two_copies LIBRARY HASH LIBRARY HASH BOOTSTRAP TOPIC PLUGIN KEY...
 */
#include <librdkafka/rdkafka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct copy {
        __typeof__(rd_kafka_conf_new) *conf_new;
        __typeof__(rd_kafka_conf_set) *conf_set;
        __typeof__(rd_kafka_conf_set_dr_msg_cb) *conf_set_dr_msg_cb;
        __typeof__(rd_kafka_new) *client_new;
        __typeof__(rd_kafka_producev) *producev;
        __typeof__(rd_kafka_flush) *flush;
        __typeof__(rd_kafka_destroy) *destroy;
        rd_kafka_t *rk;
};

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rec, void *opaque)
{
        (void)rk, (void)opaque;
        *(int *)rec->_private = rec->err ? (int)rec->err : (int)rec->partition;
}

static void *function(void *handle, const char *name)
{
        void *found = dlsym(handle, name);

        if (!found) {
                fprintf(stderr, "two_copies: %s\n", dlerror());
                exit(2);
        }
        return found;
}

static void open_copy(struct copy *copy, const char *path, const char *hash, char **rest)
{
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *properties[][2] = { { "bootstrap.servers", rest[0] },
                                        { "log_level", "7" },
                                        { "plugin.library.paths", rest[2] },
                                        { "keyroute.hash", hash } };
        rd_kafka_conf_t *conf;
        char text[512];

        if (!handle) {
                fprintf(stderr, "two_copies: %s\n", dlerror());
                exit(2);
        }
        *(void **)&copy->conf_new = function(handle, "rd_kafka_conf_new");
        *(void **)&copy->conf_set = function(handle, "rd_kafka_conf_set");
        *(void **)&copy->conf_set_dr_msg_cb = function(handle, "rd_kafka_conf_set_dr_msg_cb");
        *(void **)&copy->client_new = function(handle, "rd_kafka_new");
        *(void **)&copy->producev = function(handle, "rd_kafka_producev");
        *(void **)&copy->flush = function(handle, "rd_kafka_flush");
        *(void **)&copy->destroy = function(handle, "rd_kafka_destroy");
        conf = copy->conf_new();
        for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
                if (copy->conf_set(conf, properties[i][0], properties[i][1], text, sizeof(text)) != RD_KAFKA_CONF_OK) {
                        fprintf(stderr, "two_copies: %s\n", text);
                        exit(2);
                }
        copy->conf_set_dr_msg_cb(conf, on_delivery);
        copy->rk = copy->client_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!copy->rk) {
                fprintf(stderr, "two_copies: %s\n", text);
                exit(3);
        }
}

static int send_key(struct copy *copy, const char *topic, const char *key)
{
        int where = RD_KAFKA_RESP_ERR__FAIL;
        rd_kafka_resp_err_t err;

        err = copy->producev(copy->rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, strlen(key)),
                             RD_KAFKA_V_VALUE("v", 1), RD_KAFKA_V_OPAQUE(&where), RD_KAFKA_V_END);
        copy->flush(copy->rk, 60000);
        return err ? (int)err : where;
}

int main(int argc, char **argv)
{
        struct copy copies[2];

        if (argc < 9) {
                fprintf(stderr, "usage: two_copies LIBRARY HASH LIBRARY HASH BOOTSTRAP TOPIC PLUGIN KEY...\n");
                return 2;
        }
        open_copy(&copies[0], argv[1], argv[2], argv + 5);
        open_copy(&copies[1], argv[3], argv[4], argv + 5);
        for (int i = 8; i < argc; i++) {
                int first = send_key(&copies[0], argv[6], argv[i]), second = send_key(&copies[1], argv[6], argv[i]);

                printf("%d\t%d\n", first, second);
        }
        copies[0].destroy(copies[0].rk);
        copies[1].destroy(copies[1].rk);
        return 0;
}
