/* repartition merge: one report out of the reports of parts that several machines read. */
#include "cli/command.h"
#include "cli/merge_audit.h"
#include "cli/verify_part.h"
#include "io/text_file.h"

#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_policy_args policy;
        bool show_keys;
};

static const struct rp_option options[] = {
        RP_POLICY_OPTIONS(struct args),
        { "show-keys", 0, RP_OPT_FLAG, offsetof(struct args, show_keys), NULL,
          "show the heaviest keys of an audit; they may be personal data", NULL, 0, 0, NULL },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

typedef enum { PART_OF_NONE, PART_OF_VERIFY, PART_OF_AUDIT } kind_t;

static const char *const kind_names[] = { "nothing", "verify", "audit" };

static kind_t kind_of(json_t *document)
{
        const char *command = json_string_value(json_object_get(document, "command"));

        if (!json_is_object(json_object_get(document, "part")))
                return PART_OF_NONE;
        if (command && !strcmp(command, "verify"))
                return PART_OF_VERIFY;
        return !command && json_object_get(document, "topic") ? PART_OF_AUDIT : PART_OF_NONE;
}

static rp_err_t load(struct rp_merge_input *inputs, size_t cnt, kind_t *kind, struct rp_error *err)
{
        for (size_t i = 0; i < cnt; i++) {
                kind_t found;

                if (rp_json_load(&inputs[i].document, inputs[i].path, "part", NULL, err) != RP_OK)
                        return err->code;
                found = kind_of(inputs[i].document);
                if (found == PART_OF_NONE)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: this is not the report of a part: that is what audit or "
                                       "verify print with --partitions LIST --output json", inputs[i].path);
                if (i && found != *kind)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s is a part of %s, %.200s of %s: join one kind at a time",
                                       inputs[i].path, kind_names[found], inputs[0].path, kind_names[*kind]);
                *kind = found;
        }
        return RP_OK;
}

/* The policy that an audit's keys are explained by; a verify says itself by which one it was judged. */
static int merge_audit(const struct args *args, const struct rp_merge_input *inputs, size_t cnt)
{
        struct rp_error err;
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        struct rp_merge_audit merge = { .policy_args = &args->policy, .policy = policy, .show_keys = args->show_keys };
        int code;

        if (!policy)
                return rp_die("merge", &err);
        code = rp_merge_audit(&merge, inputs, cnt, rp_is_json(&args->common), stdout);
        kr_policy_free(policy);
        return code;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        size_t cnt = (size_t)operand_cnt;
        struct rp_merge_input *inputs = calloc(cnt, sizeof(*inputs));
        kind_t kind = PART_OF_NONE;
        struct rp_error err;
        rp_err_t rc;
        int code;

        if (!inputs)
                abort();
        rc = rp_input_operands(operands, operand_cnt, &err);
        for (size_t i = 0; i < cnt; i++)
                inputs[i].path = operands[i];
        if (rc != RP_OK || load(inputs, cnt, &kind, &err) != RP_OK)
                code = rp_die("merge", &err);
        else if (kind == PART_OF_AUDIT)
                code = merge_audit(args, inputs, cnt);
        else
                code = rp_merge_verify(inputs, cnt, rp_is_json(&args->common), stdout);
        for (size_t i = 0; i < cnt; i++)
                json_decref(inputs[i].document);
        free(inputs);
        return code;
}

const struct rp_command rp_cmd_merge = {
        .name = "merge",
        .operands = "PART.json...",
        .summary = "Joins the reports of parts that several machines have read",
        .description =
                "Takes the JSON reports of audit --partitions, or of verify --partitions, which together hold every\n"
                "partition once, and reports what one reading of the whole would have. Needs no broker. Parts of other\n"
                "topics, other policies or other ranges are refused, and so are partitions that are there twice or not at\n"
                "all.\n\n"
                "Of an audit everything is told, who misplaced the records included; --policy or --hash must be the ones that\n"
                "the parts were judged by. Of a verify it is told whether content, places and order are equal. The order\n"
                "of keys that live in several partitions of SRC needs a verify of the whole: the exit code is 3 then,\n"
                "unless the topics differ anyhow (1). - is standard input.",
        .examples = "  repartition audit orders -b localhost:9092 --partitions 0-99 --output json > part-1.json\n"
                    "  repartition merge part-1.json part-2.json\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = -1,
        .run = run,
};
