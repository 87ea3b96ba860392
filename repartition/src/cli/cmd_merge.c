/* repartition merge: one report out of the reports of parts that several machines read. */
#include "cli/command.h"
#include "cli/verify_part.h"
#include "io/text_file.h"

#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
};

static const struct rp_option options[] = {
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

typedef enum { PART_OF_NONE, PART_OF_VERIFY } kind_t;

static const char *const kind_names[] = { "nothing", "verify" };

static kind_t kind_of(json_t *document)
{
        const char *command = json_string_value(json_object_get(document, "command"));

        if (!json_is_object(json_object_get(document, "part")))
                return PART_OF_NONE;
        if (command && !strcmp(command, "verify"))
                return PART_OF_VERIFY;
        return PART_OF_NONE;
}

static rp_err_t load(struct rp_merge_input *inputs, size_t cnt, kind_t *kind, struct rp_error *err)
{
        for (size_t i = 0; i < cnt; i++) {
                kind_t found;

                if (rp_json_load(&inputs[i].document, inputs[i].path, "part", NULL, err) != RP_OK)
                        return err->code;
                found = kind_of(inputs[i].document);
                if (found == PART_OF_NONE)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: this is not the report of a part: it is what verify "
                                       "--partitions LIST --output json prints", inputs[i].path);
                if (i && found != *kind)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s is a part of %s, %.200s of %s: join one kind at a time",
                                       inputs[i].path, kind_names[found], inputs[0].path, kind_names[*kind]);
                *kind = found;
        }
        return RP_OK;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        size_t cnt = (size_t)operand_cnt;
        struct rp_merge_input *inputs = calloc(cnt, sizeof(*inputs));
        kind_t kind = PART_OF_NONE;
        struct rp_error err;
        int code;

        if (!inputs)
                abort();
        for (size_t i = 0; i < cnt; i++)
                inputs[i].path = operands[i];
        if (load(inputs, cnt, &kind, &err) == RP_OK)
                code = rp_merge_verify(inputs, cnt, rp_is_json(&args->common), stdout);
        else
                code = rp_die("merge", &err);
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
                "Takes the JSON reports of verify --partitions, which together hold every partition once, and tells what\n"
                "one verify of the whole would: whether content, places and order are equal. Needs no broker.\n\n"
                "Parts of other topics, other policies or other ranges are refused, and so are partitions that are there\n"
                "twice or not at all. The order of keys that live in several partitions of SRC needs a verify of the whole:\n"
                "the exit code is 3 then, unless the topics differ anyhow (1).",
        .examples = "  repartition verify orders orders.v2 -b localhost:9092 --partitions 0-99 --output json > part-1.json\n"
                    "  repartition merge part-1.json part-2.json\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = -1,
        .run = run,
};
