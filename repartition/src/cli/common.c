#include "cli/command.h"
#include "io/kafka_source.h"
#include "io/standard.h"
#include "report/text.h"
#include "secret.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rp_output_choices[] = { "text", "json", NULL };
const char *const rp_progress_choices[] = { "auto", "always", "never", NULL };

bool rp_is_json(const struct rp_common *common)
{
        return !strcmp(common->output, "json");
}

bool rp_wants_progress(const struct rp_common *common)
{
        if (!strcmp(common->progress, "auto"))
                return !common->quiet && isatty(STDERR_FILENO);
        return !strcmp(common->progress, "always");
}

char *rp_client_args_text(const struct rp_client_args *client)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        const char *gap = "";

        if (!out)
                abort();
        if (client->bootstrap) {
                fputs("-b ", out);
                rp_text_shell_word(out, client->bootstrap);
                gap = " ";
        }
        if (client->config_file) {
                fprintf(out, "%s-F ", gap);
                rp_text_shell_word(out, client->config_file);
                gap = " ";
        }
        for (size_t i = 0; i < client->properties.cnt; i++) {
                const char *property = client->properties.items[i];
                const char *equals = strchr(property, '=');

                fprintf(out, "%s-X ", gap);
                gap = " ";
                if (equals && rp_secret_is(property, (size_t)(equals - property), equals + 1))
                        fprintf(out, "%.*s=...", (int)(equals - property), property);
                else
                        rp_text_shell_word(out, property);
        }
        fclose(out);
        return text;
}

bool rp_client_args_have_sides(const struct rp_client_args *client)
{
        for (size_t i = 0; i < client->properties.cnt; i++)
                if (!strncmp(client->properties.items[i], "source.", 7) || !strncmp(client->properties.items[i], "target.", 7))
                        return true;
        return client->config_file; /* which may have such lines */
}

rp_err_t rp_source_from_args(struct rp_source **source, const struct rp_client_args *client, const char *topic,
                             int timeout_ms, struct rp_error *err)
{
        struct rp_client_config config;
        struct rp_kafka_source_config source_config = { .client = &config, .topic = topic, .timeout_ms = timeout_ms };
        rp_err_t rc = rp_client_config_read(&config, client->config_file, client->properties.items,
                                            client->properties.cnt, client->bootstrap, err);

        if (rc != RP_OK)
                return rc;
        rc = rp_kafka_source_new(source, &source_config, err);
        rp_client_config_release(&config);
        return rc;
}

/* Input is quoted in messages as it is; what could drive a terminal is spelt out. */
static void print_message(const char *text, FILE *out)
{
        for (; *text; text++)
                if ((unsigned char)*text < ' ' || *text == 0x7f)
                        fprintf(out, "\\x%02x", (unsigned char)*text);
                else
                        fputc(*text, out);
}

int rp_die(const char *command, const struct rp_error *err)
{
        fflush(stdout);
        fprintf(stderr, "repartition %s: ", command);
        print_message(err->text, stderr);
        fputc('\n', stderr);
        return rp_exit_code(err->code);
}

rp_err_t rp_input_operands(char **operands, int cnt, struct rp_error *err)
{
        for (int i = 0; i < cnt; i++) {
                const char *path;

                if (!rp_is_standard(operands[i]))
                        continue;
                if (rp_standard_in_hold(&path, err) != RP_OK)
                        return err->code;
                operands[i] = (char *)path; /* which nobody writes to */
        }
        return RP_OK;
}

static void say(int level, const char *text, void *opaque)
{
        (void)level, (void)opaque;
        fprintf(stderr, "repartition: %s\n", text);
}

void rp_policy_judge(kr_policy_t *policy)
{
        kr_policy_be_strict(policy);
        kr_policy_start(policy, say, NULL);
}

kr_policy_t *rp_policy_from_args(const struct rp_policy_args *args, struct rp_error *err)
{
        struct kr_error kerr;
        kr_policy_t *policy;

        if (args->policy_file && args->hash) {
                rp_fail(err, RP_ERR_USAGE, "--policy and --hash exclude each other: the policy file names the hash");
                return NULL;
        }
        if (args->policy_file)
                policy = kr_policy_load(args->policy_file, &kerr);
        else
                policy = kr_policy_from_hash(args->hash ? args->hash : "murmur2", &kerr);
        if (!policy) {
                rp_fail(err, RP_ERR_USAGE, "%s%s", args->policy_file ? "" : "--hash: ", kerr.text);
                return NULL;
        }
        rp_policy_judge(policy);
        return policy;
}

const kr_rule_t *rp_rule_from_args(const struct rp_policy_args *args, const kr_policy_t *policy, const char *topic,
                                   struct rp_error *err)
{
        const kr_rule_t *rule = NULL;
        char list[200] = "";
        size_t used = 0;

        if (topic)
                rule = kr_policy_rule(policy, topic);
        else if (!kr_policy_rule_at(policy, 1))
                rule = kr_policy_rule_at(policy, 0);
        if (rule)
                return rule;
        for (size_t i = 0; (rule = kr_policy_rule_at(policy, i)) && used < sizeof(list) - 60; i++)
                used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.50s", i ? ", " : "",
                                         kr_rule_topic(rule));
        if (rule)
                snprintf(list + used, sizeof(list) - used, ", ...");
        if (topic)
                rp_fail(err, RP_ERR_USAGE, "%.100s: no rule for topic \"%.100s\"; it has rules for %s",
                        args->policy_file, topic, list);
        else
                rp_fail(err, RP_ERR_USAGE, "%.100s: it has several rules; choose one by --topic: %s",
                        args->policy_file, list);
        return NULL;
}

int32_t rp_partition_cnt_from_args(const struct rp_policy_args *args, const kr_rule_t *rule, int64_t given,
                                   struct rp_error *err)
{
        int32_t pinned = kr_rule_partitions(rule);

        if (!given && !pinned)
                rp_fail(err, RP_ERR_USAGE, "--partitions N is missing%s",
                        args->policy_file ? ": the policy does not pin the number" : "");
        else if (given && pinned && given != pinned)
                rp_fail(err, RP_ERR_USAGE,
                        "%.100s: topic \"%.100s\" is made for %" PRId32 " partitions, --partitions says %" PRId64,
                        args->policy_file, kr_rule_topic(rule), pinned, given);
        else
                return given ? (int32_t)given : pinned;
        return 0;
}
