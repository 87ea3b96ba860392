/* repartition conform: does a program, or a real producer, route as the policy does? */
#include "cli/command.h"
#include "decide/conform.h"
#include "decide/serials.h"
#include "io/file.h"
#include "io/kafka_source.h"
#include "io/program.h"
#include "io/reader.h"
#include "report/conform.h"
#include "report/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        const char *topic, *keys, *junit, *tap;
        int64_t partitions, max_key, timeout_ms;
        bool print_keys;
};

static const struct rp_option options[] = {
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC",
          "whose rule in the policy judges; with -b the topic that a real producer wrote the golden keys to", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "partitions of the topic; needed unless the policy pins them or the topic is read", NULL, 1, 1000000, NULL },
        { "keys", 0, RP_OPT_CHOICE, offsetof(struct args, keys), "KIND",
          "check the serializer instead: strings, ints, longs or uuids", NULL, 0, 0, rp_serial_kinds },
        { "print-keys", 0, RP_OPT_FLAG, offsetof(struct args, print_keys), NULL,
          "print the golden keys, one a line in hexadecimal, for a producer to write", NULL, 0, 0, NULL },
        { "max-key", 0, RP_OPT_COUNT, offsetof(struct args, max_key), "BYTES",
          "leave longer keys out; the longest needs a higher message.max.bytes than the default", "65537", 1, 1048576, NULL },
        { "junit", 0, RP_OPT_OUTPUT, offsetof(struct args, junit), "FILE", "write JUnit XML there as well", NULL, 0, 0, NULL },
        { "tap", 0, RP_OPT_OUTPUT, offsetof(struct args, tap), "FILE", "write TAP there as well", NULL, 0, 0, NULL },
        { "timeout-ms", 0, RP_OPT_COUNT, offsetof(struct args, timeout_ms), "MS",
          "longest time that COMMAND may take, and longest wait for brokers that do not answer", "60000", 1000, 3600000, NULL },
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* ---- the golden keys, and the answers of a program --------------------------------------------------------------------- */

static void print_keys(const struct rp_vectors *vectors, bool is_reversed, FILE *out)
{
        for (size_t i = 0; i < vectors->cnt; i++) {
                const struct rp_vector *vector = &vectors->list[is_reversed ? vectors->cnt - 1 - i : i];

                for (size_t b = 0; b < vector->key_len; b++)
                        fprintf(out, "%02x", vector->key[b]);
                fputc('\n', out);
        }
}

static rp_err_t parse_answer(const char *line, size_t number, int64_t *answer, struct rp_error *err)
{
        char *end;

        while (isspace((unsigned char)*line))
                line++;
        errno = 0;
        *answer = strtoll(line, &end, 10);
        if (*line == '-' && !line[1 + strspn(line + 1, " \t")]) {
                *answer = RP_ANSWER_NONE;
                return RP_OK;
        }
        if (errno || end == line || end[strspn(end, " \t")])
                return rp_fail(err, RP_ERR_USAGE, "answer %zu is \"%.60s\": expected a partition, or - for a key that it would "
                               "spread", number, line);
        if (*answer < 0)
                *answer = RP_ANSWER_NEGATIVE;
        return RP_OK;
}

static rp_err_t wrong_count(const char *name, size_t got, size_t wanted, struct rp_error *err)
{
        if (!got)
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" printed nothing; expected one answer a line, for %zu lines", name,
                               wanted);
        return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" answered %zu of %zu lines; expected one answer a line, and an empty line "
                       "is the empty key", name, got, wanted);
}

/* What the program answers, in the order of the vectors, whatever order it is asked in. */
static rp_err_t ask_program(int64_t *answers, const struct rp_vectors *vectors, bool is_reversed, const struct args *args,
                            char **command, struct rp_error *err)
{
        struct rp_program_output output = { 0 };
        char *input = NULL;
        size_t len = 0;
        FILE *memory = open_memstream(&input, &len);
        rp_err_t rc;

        if (memory)
                print_keys(vectors, is_reversed, memory);
        if (!memory || fclose(memory))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_program_run(command, input, len, (int)args->timeout_ms, &output, err);
        if (rc == RP_OK && output.line_cnt != vectors->cnt)
                rc = wrong_count(command[0], output.line_cnt, vectors->cnt, err);
        for (size_t i = 0; rc == RP_OK && i < vectors->cnt; i++)
                rc = parse_answer(output.lines[i], i + 1, &answers[is_reversed ? vectors->cnt - 1 - i : i], err);
        rp_program_output_release(&output);
        free(input);
        return rc;
}

/* ---- the answers of a real producer -------------------------------------------------------------------------------------- */

static rp_err_t read_answers(struct rp_conform *conform, const struct rp_vectors *vectors, struct rp_source *source,
                             uint64_t *strangers, struct rp_error *err)
{
        struct rp_range *ranges = calloc((size_t)source->partition_cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(source, RP_READ_ANY);
        struct rp_run run = { 0 };
        rp_err_t rc = ranges && reader ? source->ops->bounds(source, ranges, err)
                                       : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (rc == RP_OK)
                rc = rp_reader_start(reader, ranges, err);
        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, 100, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++) {
                        const struct rp_record *rec = &run.records[i];
                        const struct rp_vector *vector = rec->key ? rp_vectors_find(vectors, rec->key, rec->key_len) : NULL;

                        if (vector)
                                conform->cases[vector - vectors->list].answer = rec->partition;
                        else
                                ++*strangers;
                }
        }
        rp_reader_free(reader);
        free(ranges);
        return rc;
}

/* ---- serializers ------------------------------------------------------------------------------------------------------------ */

static rp_err_t parse_bytes(const char *line, size_t number, struct rp_serial_bytes *bytes, struct rp_error *err)
{
        size_t len = strlen(line);

        bytes->len = 0;
        if (len % 2 || len / 2 > sizeof(bytes->data) || strspn(line, "0123456789abcdefABCDEF") != len)
                return rp_fail(err, RP_ERR_USAGE, "answer %zu is \"%.60s\": expected the key's bytes in hexadecimal, at most %d",
                               number, line, RP_SERIAL_MAX);
        for (size_t i = 0; i < len / 2; i++) {
                unsigned byte;

                sscanf(line + 2 * i, "%2x", &byte);
                bytes->data[bytes->len++] = (unsigned char)byte;
        }
        return RP_OK;
}

static void set_bytes(json_t *object, const char *name, const struct rp_serial_bytes *bytes)
{
        char text[2 * RP_SERIAL_MAX + 1];

        for (size_t i = 0; i < bytes->len; i++)
                snprintf(text + 2 * i, 3, "%02x", bytes->data[i]);
        text[2 * bytes->len] = '\0';
        json_object_set_new(object, name, json_string(text));
}

static int report_serializer(const struct args *args, const char *subject, const struct rp_serial_bytes *answers, size_t cnt)
{
        json_t *object = json_object(), *failures = json_array();
        size_t agree, failed = 0;
        const char *name = rp_serial_name(args->keys, answers, cnt, &agree);

        for (size_t i = 0; i < cnt; i++) {
                struct rp_serial_bytes right = { 0 };

                rp_serial_encode(args->keys, rp_serial_value(args->keys, i), &right);
                if (right.len == answers[i].len && !memcmp(right.data, answers[i].data, right.len))
                        continue;
                failed++;
                if (rp_is_json(&args->common)) {
                        json_t *failure = json_object();

                        json_object_set_new(failure, "value", json_string(rp_serial_value(args->keys, i)));
                        set_bytes(failure, "expected", &right);
                        set_bytes(failure, "answer", &answers[i]);
                        json_array_append_new(failures, failure);
                } else {
                        printf("  \"%s\": ", rp_serial_value(args->keys, i));
                        for (size_t b = 0; b < answers[i].len; b++)
                                printf("%02x", answers[i].data[b]);
                        printf(", expected ");
                        for (size_t b = 0; b < right.len; b++)
                                printf("%02x", right.data[b]);
                        putchar('\n');
                }
        }
        if (rp_is_json(&args->common)) {
                json_object_set_new(object, "subject", json_string(subject));
                json_object_set_new(object, "keys", json_string(args->keys));
                json_object_set_new(object, "values", json_integer((json_int_t)cnt));
                json_object_set_new(object, "failed", json_integer((json_int_t)failed));
                json_object_set_new(object, "conforms", json_boolean(!failed));
                json_object_set_new(object, "encoding", name ? json_string(name) : json_null());
                json_object_set_new(object, "failures", failures);
                rp_json_print(object, stdout);
        } else {
                json_decref(object);
                json_decref(failures);
                printf("%s   %zu of %zu %s serialized as Kafka's own serializer does\n", subject, cnt - failed, cnt, args->keys);
                if (failed)
                        printf("verdict   %s%s\nwhat to do  use Kafka's encoding for keys that other programs write as well\n",
                               name ? "serializes as " : "no known encoding", name ? name : "");
        }
        return failed ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
}

static int check_serializer(const struct args *args, char **command)
{
        struct rp_program_output output = { 0 };
        struct rp_serial_bytes answers[32];
        struct rp_error err;
        char *input = NULL;
        size_t len = 0, cnt = 0;
        FILE *memory = open_memstream(&input, &len);
        rp_err_t rc = memory ? RP_OK : rp_fail(&err, RP_ERR_FATAL, "out of memory");
        int code;

        for (; memory && cnt < sizeof(answers) / sizeof(answers[0]) && rp_serial_value(args->keys, cnt); cnt++)
                fprintf(memory, "%s\n", rp_serial_value(args->keys, cnt));
        if (memory && fclose(memory))
                rc = rp_fail(&err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = rp_program_run(command, input, len, (int)args->timeout_ms, &output, &err);
        if (rc == RP_OK && output.line_cnt != cnt)
                rc = wrong_count(command[0], output.line_cnt, cnt, &err);
        for (size_t i = 0; rc == RP_OK && i < cnt; i++)
                rc = parse_bytes(output.lines[i], i + 1, &answers[i], &err);
        code = rc == RP_OK ? report_serializer(args, command[0], answers, cnt) : rp_die("conform", &err);
        rp_program_output_release(&output);
        free(input);
        return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------------------- */

static rp_err_t write_file(const char *path, void (*print)(const struct rp_conform_report *, FILE *),
                           const struct rp_conform_report *report, struct rp_error *err)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = path ? open_memstream(&text, &len) : NULL;
        rp_err_t rc = RP_OK;

        if (!path)
                return RP_OK;
        if (out)
                print(report, out);
        if (!out || fclose(out))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else
                rc = rp_file_replace(path, text, len, NULL, NULL, err);
        free(text);
        return rc;
}

/* A program that nothing explains is asked twice: one that goes by turns or chance cannot hide that. */
static void ask_again(struct rp_conform *conform, const struct rp_vectors *vectors, const struct args *args, char **command)
{
        int64_t *answers = calloc(vectors->cnt, sizeof(*answers));
        struct rp_error ignored; /* it has answered once, and that is judged */

        if (answers && ask_program(answers, vectors, true, args, command, &ignored) == RP_OK)
                rp_conform_ask_again(conform, answers);
        free(answers);
}

/* The command is the program that can be asked again; NULL: there is none. */
static int judge(const struct args *args, struct rp_conform *conform, const struct rp_vectors *vectors, const char *subject,
                 char **command)
{
        struct rp_conform_report report = { subject, args->policy.policy_file, conform, vectors };
        struct rp_ways ways = { 0 };
        struct rp_error err;
        rp_err_t rc = rp_ways_init(&ways, conform->rule, conform->partition_cnt, &err);
        int code;

        if (rc == RP_OK)
                rp_conform_judge(conform, &ways);
        if (rc == RP_OK && conform->is_unknown && command)
                ask_again(conform, vectors, args, command);
        if (rc == RP_OK)
                rc = write_file(args->junit, rp_conform_report_junit, &report, &err);
        if (rc == RP_OK)
                rc = write_file(args->tap, rp_conform_report_tap, &report, &err);
        if (rc != RP_OK) {
                code = rp_die("conform", &err);
        } else {
                if (rp_is_json(&args->common))
                        rp_conform_report_json(&report, stdout);
                else
                        rp_conform_report_text(&report, stdout);
                code = conform->failed_cnt ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
        }
        rp_ways_release(&ways);
        return code;
}

static int check_program(const struct args *args, const struct rp_vectors *vectors, const kr_rule_t *rule, char **command)
{
        struct rp_conform conform = { 0 };
        struct rp_error err;
        int32_t cnt = rp_partition_cnt_from_args(&args->policy, rule, args->partitions, &err);
        int64_t *answers = calloc(vectors->cnt, sizeof(*answers));
        char number[16];
        int code;

        if (!answers)
                abort();
        snprintf(number, sizeof(number), "%" PRId32, cnt);
        setenv("KEYROUTE_PARTITIONS", number, 1);
        if (args->topic)
                setenv("KEYROUTE_TOPIC", args->topic, 1);
        if (cnt && rp_conform_init(&conform, rule, cnt, vectors, &err) == RP_OK &&
            ask_program(answers, vectors, false, args, command, &err) == RP_OK) {
                for (size_t i = 0; i < conform.case_cnt; i++)
                        conform.cases[i].answer = answers[i];
                code = judge(args, &conform, vectors, command[0], command);
        } else {
                code = rp_die("conform", &err);
        }
        free(answers);
        rp_conform_release(&conform);
        return code;
}

static int check_producer(const struct args *args, const struct rp_vectors *vectors, const kr_rule_t *rule)
{
        struct rp_source *source = NULL;
        struct rp_conform conform = { 0 };
        struct rp_error err;
        uint64_t strangers = 0;
        int code;

        if (rp_source_from_args(&source, &args->client, args->topic, (int)args->timeout_ms, &err) != RP_OK)
                return rp_die("conform", &err);
        if (kr_rule_partitions(rule) && kr_rule_partitions(rule) != source->partition_cnt) {
                rp_fail(&err, RP_ERR_USAGE, "topic \"%.100s\" has %" PRId32 " partitions, the policy is made for %" PRId32,
                        args->topic, source->partition_cnt, kr_rule_partitions(rule));
                code = rp_die("conform", &err);
        } else if (rp_conform_init(&conform, rule, source->partition_cnt, vectors, &err) != RP_OK ||
                   read_answers(&conform, vectors, source, &strangers, &err) != RP_OK) {
                code = rp_die("conform", &err);
        } else {
                if (strangers && !args->common.quiet)
                        fprintf(stderr, "repartition conform: %" PRIu64 " records have no golden key, or none at all: does a "
                                "serializer change the keys?\n", strangers);
                code = judge(args, &conform, vectors, args->topic, NULL);
        }
        rp_conform_release(&conform);
        source->ops->free(source);
        return code;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct rp_vectors vectors = { 0 };
        kr_policy_t *policy = NULL;
        const kr_rule_t *rule = NULL;
        struct rp_error err;
        bool reads = args->client.bootstrap || args->client.config_file;
        char **command = NULL;
        int code;

        if (operand_cnt) {
                command = calloc((size_t)operand_cnt + 1, sizeof(*command));
                if (command)
                        memcpy(command, operands, (size_t)operand_cnt * sizeof(*command));
        }
        if (!args->print_keys && !operand_cnt == !reads) {
                rp_fail(&err, RP_ERR_USAGE, operand_cnt ? "a COMMAND and -b at once: give the one that is to be checked"
                                                        : "nothing to check: give -- COMMAND, or -b and --topic of what a "
                                                          "producer wrote");
                code = rp_die("conform", &err);
        } else if (args->keys && !command) {
                rp_fail(&err, RP_ERR_USAGE, "--keys checks a COMMAND");
                code = rp_die("conform", &err);
        } else if (reads && !args->topic) {
                rp_fail(&err, RP_ERR_USAGE, "--topic is missing: where the producer wrote the golden keys");
                code = rp_die("conform", &err);
        } else if (args->keys) {
                code = check_serializer(args, command);
        } else if (rp_vectors_read(&vectors, (size_t)args->max_key, &err) != RP_OK) {
                code = rp_die("conform", &err);
        } else if (args->print_keys) {
                print_keys(&vectors, false, stdout);
                code = RP_EXIT_CLEAN;
        } else {
                policy = rp_policy_from_args(&args->policy, &err);
                rule = policy ? rp_rule_from_args(&args->policy, policy, args->topic, &err) : NULL;
                code = !rule ? rp_die("conform", &err) : command ? check_program(args, &vectors, rule, command) :
                                                                   check_producer(args, &vectors, rule);
        }
        kr_policy_free(policy);
        rp_vectors_release(&vectors);
        free(command);
        return code;
}

const struct rp_command rp_cmd_conform = {
        .name = "conform",
        .operands = "[-- COMMAND [ARG...]]",
        .summary = "Checks whether a program or a producer routes as the policy does, for anyone's CI",
        .description =
                "Starts COMMAND, writes the golden keys to its standard input, one a line in hexadecimal (an empty line is\n"
                "the empty key), reads one partition a line from its standard output (- for a key that it would spread),\n"
                "and compares. Where they differ it says which known function the program behaves as, over which form of\n"
                "the key and with how many partitions, and what to change. COMMAND finds the partition count in the\n"
                "environment as KEYROUTE_PARTITIONS, the topic as KEYROUTE_TOPIC.\n\n"
                "With -b and --topic it checks what a real producer did: let yours write the keys of --print-keys to a\n"
                "scratch topic, then run this on it.\n\n"
                "With --keys it checks a serializer instead: values go in, one a line, and the key's bytes in hexadecimal\n"
                "are expected, as Kafka's StringSerializer, IntegerSerializer, LongSerializer and UUIDSerializer make\n"
                "them.\n\n"
                "The rule is Java's (murmur2) unless --policy or --hash says otherwise. The exit code is 0 when every key\n"
                "is right, 1 when some are not, 2 when COMMAND does not work.",
        .examples = "  repartition conform --partitions 12 -- python3 mine.py\n"
                    "  repartition conform --policy keyroute.json --topic orders --junit report.xml -- ./mine\n"
                    "  repartition conform --print-keys | my-producer --hex scratch\n"
                    "  repartition conform -b localhost:9092 --topic scratch\n"
                    "  repartition conform --keys longs -- node serializer.mjs\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 0,
        .operand_max = -1,
        .run = run,
};
