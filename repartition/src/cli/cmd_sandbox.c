/* repartition sandbox: an embedded Kafka to try things on. */
#include "cli/command.h"
#include "io/file.h"
#include "io/sandbox.h"
#include "io/standard.h"
#include "topic_name.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_list topics;
        int64_t brokers;
        int64_t for_s;
        const char *address_file;
};

static const struct rp_option options[] = {
        { "topic", 't', RP_OPT_LIST, offsetof(struct args, topics), "NAME:PARTITIONS",
          "a topic to begin with; may be repeated", NULL, 0, 0, NULL },
        { "brokers", 0, RP_OPT_COUNT, offsetof(struct args, brokers), "N", "brokers in the cluster", "1", 1, 20, NULL },
        { "address-file", 0, RP_OPT_OUTPUT, offsetof(struct args, address_file), "FILE",
          "write the bootstrap address there too, once it can be used", NULL, 0, 0, NULL },
        { "for", 0, RP_OPT_COUNT, offsetof(struct args, for_s), "SECONDS", "stop by itself after that time", NULL, 1,
          30 * 24 * 3600, NULL },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { TOPIC_LEN_MAX = 249, PARTITION_CNT_MAX = 10000 };

/* Takes "orders:12" apart. */
static rp_err_t parse_topic(const char *text, char name[TOPIC_LEN_MAX + 1], int32_t *partition_cnt,
                            struct rp_error *err)
{
        size_t len = strcspn(text, ":");
        char *end;
        long long cnt;

        if (len <= TOPIC_LEN_MAX)
                snprintf(name, TOPIC_LEN_MAX + 1, "%.*s", (int)len, text);
        if (len > TOPIC_LEN_MAX || text[len] != ':' || !rp_topic_name_is_legal(name))
                return rp_fail(err, RP_ERR_USAGE,
                               "--topic: expected NAME:PARTITIONS such as orders:12, got \"%.100s\"", text);
        errno = 0;
        cnt = strtoll(text + len + 1, &end, 10);
        if (text[len + 1] < '0' || text[len + 1] > '9' || *end || errno || cnt < 1 || cnt > PARTITION_CNT_MAX)
                return rp_fail(err, RP_ERR_USAGE, "--topic: expected 1 to %d partitions, got \"%.100s\"",
                               PARTITION_CNT_MAX, text);
        *partition_cnt = (int32_t)cnt;
        return RP_OK;
}

static rp_err_t start(const struct args *args, struct rp_sandbox **sandbox, struct rp_error *err)
{
        char name[TOPIC_LEN_MAX + 1];
        int32_t partition_cnt;

        /* All of it is read before anything starts. */
        for (size_t i = 0; i < args->topics.cnt; i++)
                if (parse_topic(args->topics.items[i], name, &partition_cnt, err) != RP_OK)
                        return err->code;
        *sandbox = rp_sandbox_new((int)args->brokers, err);
        if (!*sandbox)
                return err->code;
        for (size_t i = 0; i < args->topics.cnt; i++)
                if (parse_topic(args->topics.items[i], name, &partition_cnt, err) != RP_OK ||
                    rp_sandbox_create_topic(*sandbox, name, partition_cnt, err) != RP_OK)
                        return err->code;
        return RP_OK;
}

/* Whoever waits for the file must never read half an address: it appears with all of its content. */
static rp_err_t write_address(const char *path, const char *address, struct rp_error *err)
{
        char line[4096];
        int len = snprintf(line, sizeof(line), "%s\n", address);

        return rp_file_replace(path, line, (size_t)len, NULL, NULL, err);
}

/* What is no file of ours, such as standard output or a device, stays. */
static void remove_address(const char *path)
{
        struct stat st;

        if (!rp_is_standard(path) && !lstat(path, &st) && S_ISREG(st.st_mode))
                unlink(path);
}

static void print_hints(const struct args *args, const char *address)
{
        char topic[TOPIC_LEN_MAX + 1] = "orders";
        struct rp_error ignored;
        int32_t cnt;

        if (args->topics.cnt)
                parse_topic(args->topics.items[0], topic, &cnt, &ignored); /* was parsed before: cannot fail */
        fprintf(stderr,
                "A sandbox Kafka runs at %s until Ctrl-C.\n"
                "  write   echo 'customer-42|hello' | kcat -P -b %s -t %s -K '|'\n"
                "  read    kcat -C -b %s -t %s -e -f '%%p %%o %%k %%s\\n'\n"
                "  judge   repartition audit %s -b %s\n"
                "It holds at most %d MiB a partition, in memory, and drops the oldest beyond that. Other topics get\n"
                "%d partitions when first used. Transactions are accepted but hide nothing, offsets committed in them\n"
                "are dropped, and admin requests are not known: enough to try things, not to prove them.\n",
                address, address, topic, address, topic, topic, address, RP_SANDBOX_RETAINED_MIB,
                RP_SANDBOX_PARTITION_CNT);
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct rp_sandbox *sandbox = NULL;
        struct rp_error err;
        sigset_t signals;
        int rc = RP_EXIT_CLEAN;

        (void)operands;
        (void)operand_cnt;
        /* Blocked before the first thread starts, so that they wait here and nowhere else. */
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        if (start(args, &sandbox, &err) != RP_OK ||
            (args->address_file && write_address(args->address_file, rp_sandbox_bootstrap(sandbox), &err) != RP_OK)) {
                rc = rp_die("sandbox", &err);
                goto out;
        }
        if (rp_is_json(&args->common))
                printf("{\"bootstrap\": \"%s\"}\n", rp_sandbox_bootstrap(sandbox));
        else
                puts(rp_sandbox_bootstrap(sandbox));
        fflush(stdout);
        if (!args->common.quiet)
                print_hints(args, rp_sandbox_bootstrap(sandbox));
        if (args->for_s) {
                struct timespec limit = { .tv_sec = (time_t)args->for_s };

                while (sigtimedwait(&signals, NULL, &limit) < 0 && errno == EINTR)
                        ;
        } else {
                int number;

                sigwait(&signals, &number);
        }
        if (args->address_file)
                remove_address(args->address_file);
out:
        rp_sandbox_free(sandbox);
        return rc;
}

const struct rp_command rp_cmd_sandbox = {
        .name = "sandbox",
        .operands = "",
        .summary = "Runs an embedded Kafka on this machine, to try things",
        .description =
                "Hosts librdkafka's mock cluster on loopback ports that are free, prints the bootstrap address on standard\n"
                "output and runs until SIGINT or SIGTERM. Any client of this machine can write to it and read from it:\n"
                "kcat, repartition, your own producers.\n\n"
                "It is no broker to prove things on: at most 5 MiB a partition are kept, in memory; unknown topics get 4\n"
                "partitions when first used; transactions hide nothing from read_committed; offsets committed in a\n"
                "transaction are dropped; admin requests (create topic, describe configuration) are not known.",
        .examples = "  repartition sandbox --topic orders:12 --topic orders.v2:12\n"
                    "  repartition sandbox --topic orders:12 --address-file address --for 600 --quiet &\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .run = run,
};
