#include "compiler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        PATH_PART_MAX = 16,
        WORK_MAX = 1 << 22,         /* a schema of the largest size, looked at a few times over */
        REFERENCE_DEPTH_MAX = 512   /* named types within named types; their data may nest 64 deep at most */
};

bool kr_compile_fail(struct kr_compiler *c, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(c->err->text, sizeof(c->err->text), fmt, args);
        va_end(args);
        return false;
}

bool kr_compile_work(struct kr_compiler *c, size_t cnt)
{
        c->work += cnt;
        return c->work <= WORK_MAX ||
               kr_compile_fail(c, "the schema is too large: to find the wanted fields in it takes too many steps");
}

bool kr_compile_own(struct kr_compiler *c, size_t len)
{
        c->owned += len;
        return c->owned <= KR_SCHEMA_OWNED_MAX ||
               kr_compile_fail(c, "the schema is too large: its plan would hold more than %d MiB of values",
                               KR_SCHEMA_OWNED_MAX >> 20);
}

/* ---- code ------------------------------------------------------------------------------------------------------ */

static bool emit(struct kr_compiler *c, kr_avro_op_t op, uint32_t arg)
{
        struct kr_avro_plan *plan = c->plan;

        if (plan->code_cnt == KR_SCHEMA_CODE_MAX)
                return kr_compile_fail(c, "the schema is too large: its plan would have more than %d steps", KR_SCHEMA_CODE_MAX);
        if (plan->code_cnt == c->code_cap) {
                size_t cap = c->code_cap ? 2 * c->code_cap : 64;
                struct kr_avro_code *grown = realloc(plan->code, cap * sizeof(*grown));

                if (!grown)
                        return kr_compile_fail(c, "out of memory for a plan");
                plan->code = grown;
                c->code_cap = cap;
        }
        plan->code[plan->code_cnt++] = (struct kr_avro_code){ op, arg };
        return true;
}

static uint32_t here(const struct kr_compiler *c)
{
        return (uint32_t)c->plan->code_cnt;
}

static bool names_type(struct kr_compiler *c, json_t *node, const char *space, struct kr_type *type)
{
        return kr_names_type(&c->writer_names, node, space, type, c->err);
}

/*
 * Whether data of such a type has no bytes at all. Such data is never walked: any number of items, or of records within
 * records, would cost time and no bytes. What is left takes a byte at least, or ends at the depth limit. A record that
 * is asked for while it is looked at contains itself, so it has no end and is not empty.
 */
static bool takes_no_bytes(struct kr_compiler *c, const struct kr_type *type, int depth, bool *empty)
{
        struct kr_type field;
        size_t i;
        json_t *element;

        *empty = type->kind == KR_T_NULL ||
                 (type->kind == KR_T_FIXED && json_integer_value(json_object_get(type->node, "size")) == 0);
        if (type->kind != KR_T_RECORD)
                return true;
        *empty = type->named->emptiness == KR_EMPTY;
        if (type->named->emptiness != KR_EMPTINESS_UNKNOWN)
                return true;
        if (depth > REFERENCE_DEPTH_MAX)
                return kr_compile_fail(c, "named types contain each other more than %d deep", REFERENCE_DEPTH_MAX);
        type->named->emptiness = KR_NOT_EMPTY;
        *empty = true;
        json_array_foreach(json_object_get(type->node, "fields"), i, element)
                if (!names_type(c, json_object_get(element, "type"), type->space, &field) ||
                    !takes_no_bytes(c, &field, depth + 1, empty))
                        return false;
                else if (!*empty)
                        return true;
        type->named->emptiness = KR_EMPTY;
        return true;
}

static bool emit_skip(struct kr_compiler *c, const struct kr_type *type);

static bool emit_call(struct kr_compiler *c, struct kr_named *record)
{
        if (c->call_cnt == c->call_cap) {
                size_t cap = c->call_cap ? 2 * c->call_cap : 16;
                uint32_t *calls = realloc(c->calls, cap * sizeof(*calls));
                struct kr_named **callees;

                if (calls)
                        c->calls = calls;
                callees = realloc(c->callees, cap * sizeof(*callees));
                if (callees)
                        c->callees = callees;
                if (!calls || !callees)
                        return kr_compile_fail(c, "out of memory for a plan");
                c->call_cap = cap;
        }
        c->calls[c->call_cnt] = here(c);
        c->callees[c->call_cnt++] = record;
        return emit(c, KR_AVRO_OP_CALL, 0);
}

/* Neighbouring pieces of fixed length become one step. No jump leads behind a SKIP, so none can miss its part. */
static bool emit_skip_len(struct kr_compiler *c, int64_t size)
{
        uint64_t len = size >= 0 && size <= UINT32_MAX ? (uint64_t)size : UINT32_MAX; /* longer than any key */
        struct kr_avro_code *last = c->plan->code_cnt ? &c->plan->code[c->plan->code_cnt - 1] : NULL;

        if (last && last->op == KR_AVRO_OP_SKIP && last->arg + len <= UINT32_MAX) {
                last->arg += (uint32_t)len;
                return true;
        }
        return emit(c, KR_AVRO_OP_SKIP, (uint32_t)len);
}

static bool emit_blocks(struct kr_compiler *c, const struct kr_type *type)
{
        bool is_map = type->kind == KR_T_MAP;
        uint32_t items = here(c);
        struct kr_type item;
        bool empty;

        if (!names_type(c, json_object_get(type->node, is_map ? "values" : "items"), type->space, &item) ||
            !takes_no_bytes(c, &item, 0, &empty))
                return false;
        if (!is_map && empty)
                return emit(c, KR_AVRO_OP_NOTHING, 0);
        if (!emit(c, KR_AVRO_OP_ITEMS, 0) || (is_map && !emit(c, KR_AVRO_OP_BYTES, 0)) || !emit_skip(c, &item) ||
            !emit(c, KR_AVRO_OP_NEXT, 0))
                return false;
        c->plan->code[items].arg = here(c);
        return true;
}

/* Emits UNION and its targets, then each branch by `branch`, then the jumps that bring them together. */
static bool emit_union(struct kr_compiler *c, const struct kr_type *type,
                       bool (*branch)(struct kr_compiler *, const struct kr_type *, void *), void *opaque)
{
        size_t cnt = json_array_size(type->node);
        uint32_t at = here(c);

        if (!emit(c, KR_AVRO_OP_UNION, (uint32_t)cnt))
                return false;
        for (size_t i = 0; i < cnt; i++)
                if (!emit(c, KR_AVRO_OP_JUMP, 0))
                        return false;
        for (size_t i = 0; i < cnt; i++) {
                struct kr_type member;

                c->plan->code[at + 1 + i].arg = here(c);
                /* The last word before a branch's end is its jump; where that leads is not known before all stand. */
                if (!names_type(c, json_array_get(type->node, i), type->space, &member) ||
                    !branch(c, &member, opaque) || !emit(c, KR_AVRO_OP_JUMP, 0))
                        return false;
        }
        for (size_t i = 0; i < cnt; i++) {
                uint32_t end = i + 1 < cnt ? c->plan->code[at + 2 + i].arg : here(c);

                c->plan->code[end - 1].arg = here(c);
        }
        return true;
}

static bool skip_branch(struct kr_compiler *c, const struct kr_type *type, void *opaque)
{
        (void)opaque;
        return emit_skip(c, type);
}

static bool emit_skip(struct kr_compiler *c, const struct kr_type *type)
{
        bool empty;

        switch (type->kind) {
        case KR_T_NULL:
                return true;
        case KR_T_BOOLEAN:
                return emit_skip_len(c, 1);
        case KR_T_FLOAT:
                return emit_skip_len(c, 4);
        case KR_T_DOUBLE:
                return emit_skip_len(c, 8);
        case KR_T_FIXED:
                return emit_skip_len(c, json_integer_value(json_object_get(type->node, "size")));
        case KR_T_INT:
        case KR_T_LONG:
        case KR_T_ENUM:
                return emit(c, KR_AVRO_OP_VARINT, 0);
        case KR_T_BYTES:
        case KR_T_STRING:
                return emit(c, KR_AVRO_OP_BYTES, 0);
        case KR_T_RECORD:
                return takes_no_bytes(c, type, 0, &empty) && (empty || emit_call(c, type->named));
        case KR_T_ARRAY:
        case KR_T_MAP:
                return emit_blocks(c, type);
        case KR_T_UNION:
                return emit_union(c, type, skip_branch, NULL);
        }
        return false;
}

/* Writes the skipping code of every record that is called; that may call for more. */
static bool emit_called(struct kr_compiler *c)
{
        for (size_t done = 0; done < c->call_cnt; done++) {
                struct kr_named *record = c->callees[done];
                size_t i;
                json_t *field;

                if (record->pc == UINT32_MAX) {
                        record->pc = here(c);
                        json_array_foreach(json_object_get(record->node, "fields"), i, field)
                        {
                                struct kr_type type;

                                if (!names_type(c, json_object_get(field, "type"), record->space, &type) ||
                                    !emit_skip(c, &type))
                                        return false;
                        }
                        if (!emit(c, KR_AVRO_OP_RETURN, 0))
                                return false;
                }
                c->plan->code[c->calls[done]].arg = record->pc;
        }
        return true;
}

/* Room for one more take; it counts once plan->take_cnt is raised. */
static struct kr_avro_take *new_take(struct kr_compiler *c)
{
        struct kr_avro_plan *plan = c->plan;

        if (!kr_compile_own(c, sizeof(*plan->takes)))
                return NULL;
        if (plan->take_cnt == c->take_cap) {
                size_t cap = c->take_cap ? 2 * c->take_cap : 8;
                struct kr_avro_take *grown = realloc(plan->takes, cap * sizeof(*grown));

                if (!grown) {
                        kr_compile_fail(c, "out of memory for a plan");
                        return NULL;
                }
                plan->takes = grown;
                c->take_cap = cap;
        }
        plan->takes[plan->take_cnt] = (struct kr_avro_take){ 0 };
        return &plan->takes[plan->take_cnt++];
}

static bool emit_take(struct kr_compiler *c, const struct kr_type *writer, const struct kr_want *want)
{
        struct kr_avro_take *take = new_take(c);

        c->reached |= 1u << want->slot;
        return take && kr_resolve_take(c, writer, want, take) &&
               emit(c, KR_AVRO_OP_TAKE, (uint32_t)(c->plan->take_cnt - 1));
}

/* What the writer lacks is found at once, at the place where it would stand. */
static bool emit_default(struct kr_compiler *c, const struct kr_want *want, json_t *value)
{
        struct kr_avro_take *take;
        struct kr_bytes literal = { NULL, 0 };

        c->reached |= 1u << want->slot;
        if (!kr_set_default(c, want, value, &literal))
                return false;
        if (!literal.data)
                return true;
        take = new_take(c);
        if (!take) {
                free((void *)literal.data);
                return false;
        }
        take->slot = want->slot;
        take->literal = literal;
        return emit(c, KR_AVRO_OP_TAKE, (uint32_t)(c->plan->take_cnt - 1));
}

/* ---- records on the path ---------------------------------------------------------------------------------------- */

/* Splits "customer.id" into its first part and the rest. */
bool kr_first_part(struct kr_compiler *c, const char *path, char *part, size_t size, const char **rest)
{
        size_t len = strcspn(path, ".");

        if (!len || len >= size || (path[len] && !path[len + 1]))
                return kr_compile_fail(c, "\"%.100s\" is no path of a field; expected names with dots between them", path);
        memcpy(part, path, len);
        part[len] = '\0';
        *rest = path[len] ? path + len + 1 : "";
        return true;
}

json_t *kr_find_field(json_t *record, const char *name)
{
        json_t *field, *fields = json_object_get(record, "fields");
        const char *candidate;
        size_t i;

        json_array_foreach(fields, i, field) {
                candidate = json_string_value(json_object_get(field, "name"));
                if (candidate && !strcmp(candidate, name))
                        return field;
        }
        return NULL;
}

static bool has_alias(json_t *field, const char *name)
{
        json_t *aliases = json_object_get(field, "aliases"), *alias;
        size_t i;

        json_array_foreach(aliases, i, alias)
                if (json_is_string(alias) && !strcmp(json_string_value(alias), name))
                        return true;
        return false;
}

/* *found is NULL when there is none. False when the schema has cost too much. */
static bool find_by_alias(struct kr_compiler *c, json_t *record, const char *name, json_t **found)
{
        json_t *field, *fields = json_object_get(record, "fields");
        size_t i;

        *found = NULL;
        json_array_foreach(fields, i, field)
        {
                if (!kr_compile_work(c, 1 + json_array_size(json_object_get(field, "aliases"))))
                        return false;
                if (has_alias(field, name)) {
                        *found = field;
                        break;
                }
        }
        return true;
}

/*
 * The writer's field for the reader's: of its name, else of one of its aliases. Without a reader's schema the policy's
 * path stands for it, and the writer's own aliases tell what a field was called before. *found is NULL when there is none.
 */
static bool find_writer_field(struct kr_compiler *c, json_t *record, const char *name, json_t *reader_field,
                              json_t **found)
{
        json_t *aliases = json_object_get(reader_field, "aliases"), *alias;
        size_t field_cnt = json_array_size(json_object_get(record, "fields")), i;

        if (!kr_compile_work(c, field_cnt))
                return false;
        *found = kr_find_field(record, name);
        if (*found)
                return true;
        if (!c->has_reader)
                return find_by_alias(c, record, name, found);
        json_array_foreach(aliases, i, alias)
        {
                if (!kr_compile_work(c, 1 + field_cnt))
                        return false;
                *found = json_is_string(alias) ? kr_find_field(record, json_string_value(alias)) : NULL;
                if (*found)
                        break;
        }
        return true;
}

/*
 * Through a union: the reader's record for the writer's, by full name, else by unqualified name, else the first. What is
 * no union stays as it is.
 */
static bool reader_record(struct kr_compiler *c, const struct kr_type *writer, struct kr_type *type)
{
        struct kr_type member, best = { 0 };
        kr_name_match_t best_match = KR_NO_MATCH;

        if (type->kind != KR_T_UNION)
                return true;
        for (size_t i = 0; i < json_array_size(type->node); i++) {
                kr_name_match_t match;

                if (!kr_compile_work(c, 1) || !kr_reader_type(c, json_array_get(type->node, i), type->space, &member))
                        return false;
                if (member.kind != KR_T_RECORD)
                        continue;
                if (!kr_compile_work(c, json_array_size(json_object_get(member.node, "aliases"))))
                        return false;
                match = kr_names_match(writer, &member);
                if (!best.node || match > best_match) {
                        best = member;
                        best_match = match;
                }
        }
        if (best.node)
                *type = best;
        return true;
}

struct step {
        const struct kr_want *wants;
        size_t want_cnt;
        int depth;
        bool outermost;
        bool one_of_several; /* records of a union: a field may be in another of them */
};

static bool emit_path(struct kr_compiler *c, const struct kr_type *type, const struct step *step);

static bool path_branch(struct kr_compiler *c, const struct kr_type *type, void *opaque)
{
        const struct step *step = opaque;

        /* A branch that is no record cannot hold the rest of the path: there the field is missing. */
        if (*step->wants[0].path && type->kind != KR_T_RECORD)
                return emit_skip(c, type);
        return emit_path(c, type, step);
}

typedef enum { STEP_FAILED, STEP_FOUND, STEP_DEFAULT, STEP_ABSENT } step_t;

/*
 * One wanted field steps down into this record: *inner is what is left of it, *field the writer's field, or the
 * reader's default. Absent when neither knows it; the error then says so.
 */
static step_t descend(struct kr_compiler *c, const struct kr_type *record, const struct kr_want *want,
                      struct kr_want *inner, json_t **field)
{
        struct kr_type reader = want->reader;
        json_t *reader_field = NULL;
        char name[256];

        if (!kr_first_part(c, want->path, name, sizeof(name), &inner->path) || !reader_record(c, record, &reader))
                return STEP_FAILED;
        inner->slot = want->slot;
        if (c->has_reader) {
                if (reader.kind != KR_T_RECORD)
                        return kr_compile_fail(c, "\"%s\": the reader's schema has no record there", name), STEP_FAILED;
                if (!kr_compile_work(c, json_array_size(json_object_get(reader.node, "fields"))))
                        return STEP_FAILED;
                reader_field = kr_find_field(reader.node, name);
                if (!reader_field && !find_by_alias(c, reader.node, name, &reader_field))
                        return STEP_FAILED;
                if (!reader_field)
                        return kr_compile_fail(c, "the reader's schema has no field \"%s\" in %s", name,
                                               reader.named->full), STEP_ABSENT;
                if (!kr_reader_type(c, json_object_get(reader_field, "type"), reader.space, &inner->reader))
                        return STEP_FAILED;
                snprintf(name, sizeof(name), "%.255s", json_string_value(json_object_get(reader_field, "name")));
        }
        if (!find_writer_field(c, record->node, name, reader_field, field))
                return STEP_FAILED;
        if (!*field) {
                *field = json_object_get(reader_field, "default");
                if (*field)
                        return STEP_DEFAULT;
                return kr_compile_fail(c, "%s has no field \"%s\"%s", record->named->full, name,
                                       reader_field ? ", and the reader's schema gives it no default" : ""),
                       STEP_ABSENT;
        }
        if (!c->has_reader && !names_type(c, json_object_get(*field, "type"), record->space, &inner->reader))
                return STEP_FAILED;
        return STEP_FOUND;
}

static bool emit_record(struct kr_compiler *c, const struct kr_type *record, const struct step *step)
{
        struct kr_want inner[KR_AVRO_SLOT_MAX];
        json_t *targets[KR_AVRO_SLOT_MAX] = { NULL };
        json_t *field;
        size_t left = 0, i;

        for (size_t w = 0; w < step->want_cnt; w++) {
                json_t *found = NULL;

                switch (descend(c, record, &step->wants[w], &inner[w], &found)) {
                case STEP_FOUND:
                        targets[w] = found;
                        left++;
                        break;
                case STEP_DEFAULT:
                        if (!emit_default(c, &inner[w], found))
                                return false;
                        break;
                case STEP_ABSENT:
                        if (step->one_of_several)
                                break;
                        return false;
                case STEP_FAILED:
                        return false;
                }
        }
        json_array_foreach(json_object_get(record->node, "fields"), i, field)
        {
                struct kr_want here_wants[KR_AVRO_SLOT_MAX];
                struct step down = { here_wants, 0, step->depth + 1, false, false };
                struct kr_type type;

                if (!left && step->outermost)
                        return emit(c, KR_AVRO_OP_DONE, 0); /* the rest of the datum does not matter */
                if (!kr_compile_work(c, 1) || !names_type(c, json_object_get(field, "type"), record->space, &type))
                        return false;
                for (size_t w = 0; w < step->want_cnt; w++)
                        if (targets[w] == field)
                                here_wants[down.want_cnt++] = inner[w];
                left -= down.want_cnt;
                if (!(down.want_cnt ? emit_path(c, &type, &down) : emit_skip(c, &type)))
                        return false;
        }
        return true;
}

/* A union that wanted fields lie in or at. Each of its records may hold them. */
static bool emit_path_union(struct kr_compiler *c, const struct kr_type *type, const struct step *step)
{
        struct step branch = *step;
        size_t records = 0;

        for (size_t i = 0; i < json_array_size(type->node); i++) {
                struct kr_type member;

                if (!kr_compile_work(c, 1) || !names_type(c, json_array_get(type->node, i), type->space, &member))
                        return false;
                records += member.kind == KR_T_RECORD;
        }
        branch.one_of_several = records > 1;
        return emit_union(c, type, path_branch, &branch);
}

/* A place that some wanted field lies in or at. */
static bool emit_path(struct kr_compiler *c, const struct kr_type *type, const struct step *step)
{
        bool at_field = !*step->wants[0].path;

        if (step->depth > PATH_PART_MAX)
                return kr_compile_fail(c, "a path has more than %d parts", PATH_PART_MAX);
        for (size_t w = 1; w < step->want_cnt; w++)
                if (at_field || !*step->wants[w].path)
                        return kr_compile_fail(c, "one wanted field is named twice, or lies inside another");
        if (type->kind == KR_T_UNION)
                return emit_path_union(c, type, step);
        if (at_field) {
                if (kr_is_leaf(type->kind))
                        return emit_take(c, type, &step->wants[0]);
                return kr_compile_fail(c, "a wanted field is %s; expected a plain value: name a field of a record, not a whole one",
                            type->kind == KR_T_RECORD ? "a record"
                            : type->kind == KR_T_MAP  ? "a map"
                                                      : "an array");
        }
        if (type->kind == KR_T_RECORD)
                return emit_record(c, type, step);
        return kr_compile_fail(c, "\"%.100s\": expected a record there, found %s", step->wants[0].path,
                    type->kind == KR_T_ARRAY || type->kind == KR_T_MAP ? "an array or map, whose elements cannot route"
                                                                       : "a plain value");
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static bool load_writer(struct kr_compiler *c, const char *writer, const char *const *texts, size_t cnt, json_t *docs,
                        json_t **main_doc)
{
        size_t total = strlen(writer);

        for (size_t i = 0; i < cnt; i++) {
                json_t *doc;

                total += strlen(texts[i]);
                if (total > KR_SCHEMA_TEXT_MAX)
                        return kr_compile_fail(c, "the schema with its references is longer than %d bytes", KR_SCHEMA_TEXT_MAX);
                doc = kr_schema_load(c, texts[i], "referenced");
                if (!doc)
                        return false;
                if (json_array_append_new(docs, doc) || !kr_names_collect(&c->writer_names, doc, "", 0, c->err))
                        return false;
        }
        *main_doc = kr_schema_load(c, writer, "writer's");
        return *main_doc && kr_names_collect(&c->writer_names, *main_doc, "", 0, c->err) &&
               kr_schema_judge(c, *main_doc, docs, "writer's");
}

static bool emit_all(struct kr_compiler *c, const struct kr_type *writer, const struct kr_type *reader)
{
        const struct kr_avro_projection *projection = c->projection;
        struct kr_want wants[KR_AVRO_SLOT_MAX];
        struct step step = { wants, projection->path_cnt ? projection->path_cnt : 1, 0, true, false };

        if (projection->path_cnt > KR_AVRO_SLOT_MAX)
                return kr_compile_fail(c, "a key routes by at most %d fields", KR_AVRO_SLOT_MAX);
        for (size_t w = 0; w < step.want_cnt; w++)
                wants[w] = (struct kr_want){ (uint32_t)w, projection->path_cnt ? projection->paths[w] : "", *reader };
        c->plan->slot_cnt = step.want_cnt;
        c->plan->form = projection->form;
        if (!emit_path(c, writer, &step) || !emit(c, KR_AVRO_OP_DONE, 0) || !emit_called(c))
                return false;
        for (size_t w = 0; w < step.want_cnt; w++)
                if (!(c->reached >> w & 1))
                        return kr_compile_fail(c, "no record has a field \"%.100s\"", wants[w].path);
        return true;
}

struct kr_avro_plan *kr_schema_compile(const char *writer, const char *const *references, size_t reference_cnt,
                                       const struct kr_avro_projection *projection, struct kr_error *err)
{
        struct kr_compiler c = { .projection = projection, .has_reader = projection->reader != NULL, .err = err };
        json_t *docs = json_array(), *main_doc = NULL, *reader_doc = NULL;
        struct kr_type writer_type, reader_root;
        bool ok = false;

        c.plan = calloc(1, sizeof(*c.plan));
        if (!c.plan || !docs) {
                kr_compile_fail(&c, "out of memory for a plan");
                goto out;
        }
        if (!kr_names_init(&c.writer_names, err) || !kr_names_init(&c.reader_names, err) ||
            !load_writer(&c, writer, references, reference_cnt, docs, &main_doc) ||
            !names_type(&c, main_doc, "", &writer_type))
                goto out;
        reader_root = writer_type;
        if (c.has_reader) {
                reader_doc = kr_schema_load(&c, projection->reader, "reader's");
                if (!reader_doc || !kr_names_collect(&c.reader_names, reader_doc, "", 0, err) ||
                    !kr_schema_judge(&c, reader_doc, NULL, "reader's") || !kr_reader_type(&c, reader_doc, "", &reader_root))
                        goto out;
        }
        ok = emit_all(&c, &writer_type, &reader_root);
out:
        kr_names_release(&c.writer_names);
        kr_names_release(&c.reader_names);
        json_decref(docs);
        json_decref(main_doc);
        json_decref(reader_doc);
        free(c.calls);
        free(c.callees);
        if (ok)
                return c.plan;
        kr_avro_plan_free(c.plan);
        return NULL;
}
