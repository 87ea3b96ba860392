#include "avro_plan.h"

#include <stdlib.h>
#include <string.h>

/* What is left to read. */
struct cursor {
        const unsigned char *at, *end;
};

/* Where a wanted field was found. */
struct found {
        const struct kr_avro_take *take; /* NULL: not yet */
        struct kr_bytes raw;             /* its bytes as the writer wrote them */
};

struct frame {
        uint32_t back;      /* where to go on */
        uint32_t body;      /* of ITEMS */
        uint64_t remaining; /* items of this block; 0 for a CALL */
};

static bool read_more_of_long(struct cursor *in, int64_t *out)
{
        uint64_t raw = 0;

        for (unsigned shift = 0; shift < 64; shift += 7) {
                unsigned char byte;

                if (in->at == in->end)
                        return false;
                byte = *in->at++;
                if (shift == 63 && byte > 1)
                        return false; /* more than 64 bits */
                raw |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80)) {
                        *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
                        return true;
                }
        }
        return false;
}

/* Most numbers and lengths have one byte. */
static inline bool read_long(struct cursor *in, int64_t *out)
{
        if (in->at < in->end && *in->at < 0x80) {
                unsigned raw = *in->at++;

                *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
                return true;
        }
        return read_more_of_long(in, out);
}

static inline bool skip(struct cursor *in, uint64_t len)
{
        if (len > (uint64_t)(in->end - in->at))
                return false;
        in->at += len;
        return true;
}

static bool skip_bytes(struct cursor *in)
{
        int64_t len;

        return read_long(in, &len) && len >= 0 && skip(in, (uint64_t)len);
}

/* The count of the next block that must be walked; blocks that tell their size are passed over. 0: no more. */
static bool next_block(struct cursor *in, uint64_t *cnt)
{
        int64_t value, len;

        for (;;) {
                if (!read_long(in, &value))
                        return false;
                if (value >= 0) {
                        *cnt = (uint64_t)value;
                        return true;
                }
                if (!read_long(in, &len) || len < 0 || !skip(in, (uint64_t)len))
                        return false;
        }
}

static bool skip_nothing(struct cursor *in)
{
        uint64_t cnt;

        do
                if (!next_block(in, &cnt))
                        return false;
        while (cnt);
        return true;
}

static bool skip_taken(struct cursor *in, const struct kr_avro_take *take)
{
        int64_t value;

        if (take->literal.data)
                return true;
        switch (take->writer) {
        case KR_AVRO_NULL:
                return true;
        case KR_AVRO_BOOLEAN:
                return skip(in, 1);
        case KR_AVRO_INT:
                return read_long(in, &value) && value >= INT32_MIN && value <= INT32_MAX;
        case KR_AVRO_LONG:
                return read_long(in, &value);
        case KR_AVRO_ENUM:
                return read_long(in, &value) && value >= 0 && (uint64_t)value < take->symbol_cnt;
        case KR_AVRO_FLOAT:
                return skip(in, 4);
        case KR_AVRO_DOUBLE:
                return skip(in, 8);
        case KR_AVRO_BYTES:
        case KR_AVRO_STRING:
                return skip_bytes(in);
        case KR_AVRO_FIXED:
                return skip(in, take->size);
        }
        return false;
}

/* Runs the program. True when it came to its end over well-formed bytes. */
static bool walk(const struct kr_avro_plan *plan, struct cursor in, struct found *found)
{
        struct frame stack[KR_AVRO_DEPTH_MAX];
        size_t depth = 0;
        int64_t value;
        uint64_t cnt;

        for (uint32_t pc = 0;;) {
                struct kr_avro_code code = plan->code[pc];

                pc++;
                switch ((kr_avro_op_t)code.op) {
                case KR_AVRO_OP_DONE:
                        return true;
                case KR_AVRO_OP_VARINT:
                        if (!read_long(&in, &value))
                                return false;
                        break;
                case KR_AVRO_OP_SKIP:
                        if (!skip(&in, code.arg))
                                return false;
                        break;
                case KR_AVRO_OP_BYTES:
                        if (!skip_bytes(&in))
                                return false;
                        break;
                case KR_AVRO_OP_UNION:
                        if (!read_long(&in, &value) || value < 0 || value >= (int64_t)code.arg)
                                return false;
                        pc = plan->code[pc + (uint32_t)value].arg;
                        break;
                case KR_AVRO_OP_JUMP:
                        pc = code.arg;
                        break;
                case KR_AVRO_OP_ITEMS:
                        if (!next_block(&in, &cnt))
                                return false;
                        if (!cnt) {
                                pc = code.arg;
                                break;
                        }
                        if (depth == KR_AVRO_DEPTH_MAX)
                                return false;
                        stack[depth++] = (struct frame){ code.arg, pc, cnt };
                        break;
                case KR_AVRO_OP_NEXT: {
                        struct frame *top = &stack[depth - 1];

                        if (!--top->remaining && !next_block(&in, &top->remaining))
                                return false;
                        pc = top->remaining ? top->body : top->back;
                        depth -= !top->remaining;
                        break;
                }
                case KR_AVRO_OP_NOTHING:
                        if (!skip_nothing(&in))
                                return false;
                        break;
                case KR_AVRO_OP_CALL:
                        if (depth == KR_AVRO_DEPTH_MAX)
                                return false;
                        stack[depth++] = (struct frame){ pc, 0, 0 };
                        pc = code.arg;
                        break;
                case KR_AVRO_OP_RETURN:
                        pc = stack[--depth].back;
                        break;
                case KR_AVRO_OP_TAKE: {
                        const struct kr_avro_take *take = &plan->takes[code.arg];
                        const unsigned char *start = in.at;

                        if (take->unresolvable || !skip_taken(&in, take))
                                return false;
                        found[take->slot] = (struct found){ take, { start, (size_t)(in.at - start) } };
                        break;
                }
                default:
                        return false;
                }
        }
}

size_t kr_avro_write_long(int64_t value, unsigned char *out)
{
        uint64_t raw = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
        size_t len = 0;

        for (; raw > 0x7f; raw >>= 7)
                out[len++] = (unsigned char)(raw | 0x80);
        out[len++] = (unsigned char)raw;
        return len;
}

static uint64_t load_little(const unsigned char *from, size_t len)
{
        uint64_t value = 0;

        while (len-- > 0)
                value = value << 8 | from[len];
        return value;
}

static void store(unsigned char *to, uint64_t value, size_t len, bool big)
{
        for (size_t i = 0; i < len; i++)
                to[i] = (unsigned char)(value >> 8 * (big ? len - 1 - i : i));
}

/* A number of any of the writer's types as the reader's. Integers come back in *integer, the others in *real. */
static void promote(const struct found *field, int64_t *integer, double *real, float *single)
{
        struct cursor in = { field->raw.data, field->raw.data + field->raw.len };

        *integer = 0;
        *real = 0;
        *single = 0;
        switch (field->take->writer) {
        case KR_AVRO_INT:
        case KR_AVRO_LONG:
                read_long(&in, integer); /* was read once before: cannot fail */
                *real = (double)*integer;
                *single = (float)*integer;
                break;
        case KR_AVRO_FLOAT: {
                uint32_t bits = (uint32_t)load_little(field->raw.data, 4);

                memcpy(single, &bits, sizeof(bits));
                *real = (double)*single;
                break;
        }
        default: {
                uint64_t bits = load_little(field->raw.data, 8);

                memcpy(real, &bits, sizeof(bits));
        }
        }
}

/* A field that Avro writes as a length and that many bytes: the bytes alone. */
static struct kr_bytes content(struct kr_bytes raw)
{
        struct cursor in = { raw.data, raw.data + raw.len };
        int64_t len = 0;

        read_long(&in, &len);
        return (struct kr_bytes){ in.at, (size_t)len };
}

static bool add_number(const struct found *field, bool java, struct kr_scratch *scratch)
{
        unsigned char out[10];
        int64_t integer;
        double real;
        float single;
        uint64_t bits = 0;
        size_t len;

        promote(field, &integer, &real, &single);
        switch (field->take->reader) {
        case KR_AVRO_INT:
        case KR_AVRO_LONG:
                len = field->take->reader == KR_AVRO_INT ? 4 : 8;
                if (!java)
                        len = kr_avro_write_long(integer, out);
                else
                        store(out, (uint64_t)integer, len, true);
                break;
        case KR_AVRO_FLOAT:
                len = sizeof(single);
                memcpy(&bits, &single, sizeof(single));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                bits >>= 32;
#endif
                store(out, bits, len, java);
                break;
        default:
                len = sizeof(real);
                memcpy(&bits, &real, sizeof(real));
                store(out, bits, len, java);
        }
        return kr_scratch_add(scratch, out, len);
}

/* Adds one field's output to the scratch. */
static bool add_field(const struct kr_avro_plan *plan, const struct found *field, struct kr_scratch *scratch)
{
        const struct kr_avro_take *take = field->take;
        bool java = plan->form == KR_AVRO_AS_JAVA;
        unsigned char out[10];

        if (take->literal.data)
                return kr_scratch_add(scratch, take->literal.data, take->literal.len);
        if (!java && !kr_scratch_add(scratch, take->prefix, take->prefix_len))
                return false;
        switch (take->writer) {
        case KR_AVRO_NULL:
                return !java; /* no serializer writes null; in Avro it takes no bytes */
        case KR_AVRO_BOOLEAN:
                out[0] = field->raw.data[0] == 1;
                return kr_scratch_add(scratch, out, 1);
        case KR_AVRO_INT:
        case KR_AVRO_LONG:
        case KR_AVRO_FLOAT:
        case KR_AVRO_DOUBLE:
                return add_number(field, java, scratch);
        case KR_AVRO_BYTES:
        case KR_AVRO_STRING: {
                struct kr_bytes text = content(field->raw);

                /* The length is written anew: a writer may have spelled it longer than it need be. */
                return (java || kr_scratch_add(scratch, out, kr_avro_write_long((int64_t)text.len, out))) &&
                       kr_scratch_add(scratch, text.data, text.len);
        }
        case KR_AVRO_FIXED:
                return kr_scratch_add(scratch, field->raw.data, field->raw.len);
        case KR_AVRO_ENUM: {
                struct cursor in = { field->raw.data, field->raw.data + field->raw.len };
                int64_t index = 0;

                read_long(&in, &index);
                return take->symbols[index].data &&
                       kr_scratch_add(scratch, take->symbols[index].data, take->symbols[index].len);
        }
        }
        return false;
}

kr_key_outcome_t kr_avro_plan_project(const struct kr_avro_plan *plan, struct kr_bytes *bytes,
                                      struct kr_scratch *scratch)
{
        struct cursor in = { bytes->data, bytes->len ? bytes->data + bytes->len : bytes->data };
        struct found found[KR_AVRO_SLOT_MAX];
        size_t start = scratch->used;

        for (size_t i = 0; i < plan->slot_cnt; i++)
                found[i].take = NULL;
        if (!walk(plan, in, found))
                return KR_KEY_MISSING;
        /* The most common case needs no copy, and so no limit to the length either. */
        if (plan->slot_cnt == 1 && plan->form == KR_AVRO_AS_JAVA && found[0].take) {
                kr_avro_type_t type = found[0].take->literal.data ? KR_AVRO_NULL : found[0].take->writer;

                if (type == KR_AVRO_STRING || type == KR_AVRO_BYTES) {
                        *bytes = content(found[0].raw);
                        return KR_KEY_PROJECTED;
                }
                if (type == KR_AVRO_FIXED) {
                        *bytes = found[0].raw;
                        return KR_KEY_PROJECTED;
                }
        }
        for (size_t i = 0; i < plan->slot_cnt; i++)
                if (!found[i].take || !add_field(plan, &found[i], scratch))
                        return KR_KEY_MISSING;
        *bytes = (struct kr_bytes){ scratch->data + start, scratch->used - start };
        return KR_KEY_PROJECTED;
}

void kr_avro_plan_free(struct kr_avro_plan *plan)
{
        if (!plan)
                return;
        for (size_t i = 0; i < plan->take_cnt; i++) {
                for (size_t s = 0; plan->takes[i].symbols && s < plan->takes[i].symbol_cnt; s++)
                        free((void *)plan->takes[i].symbols[s].data);
                free(plan->takes[i].symbols);
                free((void *)plan->takes[i].literal.data);
        }
        free(plan->takes);
        free(plan->code);
        free(plan);
}
