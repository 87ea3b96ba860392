/* A plan in words, for people who want to know what becomes of their keys. */
#include "avro_plan.h"

#include <stdio.h>

static const char *type_name(kr_avro_type_t type)
{
        static const char *const names[] = { "null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed",
                                             "enum" };

        return names[type];
}

static const char *spelling(const struct kr_avro_take *take, kr_avro_form_t form)
{
        if (form == KR_AVRO_AS_AVRO)
                return "as Avro writes it";
        switch (take->writer) {
        case KR_AVRO_NULL:
                return "which no serializer writes: missing";
        case KR_AVRO_INT:
        case KR_AVRO_LONG:
        case KR_AVRO_FLOAT:
        case KR_AVRO_DOUBLE:
                return "big-endian";
        case KR_AVRO_ENUM:
                return "its symbol";
        default:
                return "its bytes";
        }
}

static void print_take(const struct kr_avro_plan *plan, const struct kr_avro_take *take, const char *const *paths, FILE *out)
{
        const char *path = paths ? paths[take->slot] : "the datum itself";

        if (take->literal.data)
                fprintf(out, "take  %s: the reader's default, %zu bytes", path, take->literal.len);
        else if (take->unresolvable)
                fprintf(out, "stop  %s: %s is nothing that the reader's schema can hold; the key is missing", path,
                        type_name(take->writer));
        else if (take->reader != take->writer)
                fprintf(out, "take  %s: %s as %s, %s", path, type_name(take->writer), type_name(take->reader),
                        spelling(take, plan->form));
        else
                fprintf(out, "take  %s: %s, %s", path, type_name(take->writer), spelling(take, plan->form));
}

void kr_avro_plan_print(const struct kr_avro_plan *plan, const char *const *paths, FILE *out)
{
        static const char *const words[] = {
                [KR_AVRO_OP_DONE] = "done", [KR_AVRO_OP_VARINT] = "skip  a number",
                [KR_AVRO_OP_BYTES] = "skip  a string or bytes", [KR_AVRO_OP_NEXT] = "next  item or block",
                [KR_AVRO_OP_NOTHING] = "skip  an array whose items have no bytes", [KR_AVRO_OP_RETURN] = "end   of the record",
        };

        for (size_t pc = 0; pc < plan->code_cnt; pc++) {
                struct kr_avro_code code = plan->code[pc];

                fprintf(out, "%6zu  ", pc);
                switch ((kr_avro_op_t)code.op) {
                case KR_AVRO_OP_SKIP:
                        fprintf(out, "skip  %u byte%s", code.arg, code.arg == 1 ? "" : "s");
                        break;
                case KR_AVRO_OP_UNION:
                        fprintf(out, "union of %u: go to", code.arg);
                        for (uint32_t i = 0; i < code.arg; i++)
                                fprintf(out, "%s %u", i ? "," : "", plan->code[++pc].arg);
                        break;
                case KR_AVRO_OP_JUMP:
                        fprintf(out, "go to %u", code.arg);
                        break;
                case KR_AVRO_OP_ITEMS:
                        fprintf(out, "items of an array or map, up to %u", code.arg);
                        break;
                case KR_AVRO_OP_CALL:
                        fprintf(out, "skip  the record at %u", code.arg);
                        break;
                case KR_AVRO_OP_TAKE:
                        print_take(plan, &plan->takes[code.arg], paths, out);
                        break;
                default:
                        fputs(words[code.op], out);
                }
                fputc('\n', out);
        }
}
