/**
 * How to take some fields out of Avro bytes of one schema: a flat program, made once a schema and walked once a key.
 *
 * The walk is bounded by the bytes (every step that repeats consumes some), by a depth limit, and by nothing else of
 * the data: no recursion, no allocation, no length believed before it is checked. Formulas: Apache Avro 1.11
 * specification, "Binary encoding" and "Schema resolution".
 */
#ifndef KR_AVRO_PLAN_H
#define KR_AVRO_PLAN_H

#include "key.h"

#include <stdio.h>

enum {
        KR_AVRO_DEPTH_MAX = 64, /* nested blocks and named types, in the data */
        KR_AVRO_SLOT_MAX = 16   /* fields that a policy may name */
};

typedef enum {
        KR_AVRO_NULL,
        KR_AVRO_BOOLEAN,
        KR_AVRO_INT,
        KR_AVRO_LONG,
        KR_AVRO_FLOAT,
        KR_AVRO_DOUBLE,
        KR_AVRO_BYTES,
        KR_AVRO_STRING,
        KR_AVRO_FIXED,
        KR_AVRO_ENUM
} kr_avro_type_t;

/** How routing bytes are spelled. */
typedef enum {
        KR_AVRO_AS_JAVA, /* one field, as Kafka's serializer of its type writes it */
        KR_AVRO_AS_AVRO  /* the fields' Avro encodings, one after the other        */
} kr_avro_form_t;

typedef enum {
        KR_AVRO_OP_DONE,    /* every wanted field was seen or cannot come any more */
        KR_AVRO_OP_VARINT,  /* skip an int, a long or an enum                      */
        KR_AVRO_OP_SKIP,    /* skip arg bytes                                      */
        KR_AVRO_OP_BYTES,   /* skip bytes or a string                              */
        KR_AVRO_OP_UNION,   /* read a branch below arg; the targets stand in the arg code words that follow */
        KR_AVRO_OP_JUMP,    /* go on at arg                                        */
        KR_AVRO_OP_ITEMS,   /* blocks of an array or map: the body follows, up to its NEXT; behind it at arg */
        KR_AVRO_OP_NEXT,    /* end of a body                                       */
        KR_AVRO_OP_NOTHING, /* blocks of items that take no bytes                  */
        KR_AVRO_OP_CALL,    /* a named type that contains itself, at arg           */
        KR_AVRO_OP_RETURN,
        KR_AVRO_OP_TAKE     /* a wanted field: takes[arg]                          */
} kr_avro_op_t;

struct kr_avro_code {
        uint32_t op; /* kr_avro_op_t; in the words behind a UNION the target */
        uint32_t arg;
};

/** One way in which a wanted field occurs in the writer's data, and what becomes of it. */
struct kr_avro_take {
        uint32_t slot;
        kr_avro_type_t writer, reader;
        uint32_t size;             /* FIXED: bytes */
        bool unresolvable;         /* the reader's schema cannot hold this: the key counts as missing */
        unsigned char prefix[5];   /* AS_AVRO: the reader's union branch, encoded beforehand */
        size_t prefix_len;
        struct kr_bytes *symbols;  /* ENUM: the output for each of the writer's symbols; data NULL: none. Owned with their bytes */
        size_t symbol_cnt;
        struct kr_bytes literal;   /* the writer lacks the field: the whole output, prefix included. Else data NULL. Owned */
};

struct kr_avro_plan {
        struct kr_avro_code *code;
        size_t code_cnt;
        struct kr_avro_take *takes;
        size_t take_cnt;
        size_t slot_cnt;
        kr_avro_form_t form;
};

/** Frees a plan with all that it owns; NULL is allowed. */
void kr_avro_plan_free(struct kr_avro_plan *plan);

/**
 * Narrows *bytes, one datum of the plan's schema, to the routing bytes of its fields.
 * @returns KR_KEY_PROJECTED, or KR_KEY_MISSING for bytes that are no such datum, or lack a wanted field. Allocates
 *          nothing, takes no lock, safe from any thread. A field of one piece is a view into the key, else the scratch.
 */
kr_key_outcome_t kr_avro_plan_project(const struct kr_avro_plan *plan, struct kr_bytes *bytes,
                                      struct kr_scratch *scratch);

/**
 * Prints the plan in words, a numbered line a step.
 * @param paths  of the wanted fields by slot; NULL when the datum itself is wanted
 */
void kr_avro_plan_print(const struct kr_avro_plan *plan, const char *const *paths, FILE *out);

/** Zigzag and varint, as Avro writes int and long. out has room for 10 bytes. @returns how many were written. */
size_t kr_avro_write_long(int64_t value, unsigned char *out);

#endif
