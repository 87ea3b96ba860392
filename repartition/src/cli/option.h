/**
 * Command-line options as rows of a table. One row feeds the parser, --help and the man page, so none can miss one.
 * A command's arguments are a plain struct; each row says where in it the value goes.
 */
#ifndef RP_OPTION_H
#define RP_OPTION_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
        RP_OPT_FLAG,     /* bool: given or not                                   */
        RP_OPT_TEXT,     /* const char *: the argument as it stands, not empty; max: most bytes, 0: any number */
        RP_OPT_TOPIC,    /* const char *: what can be a topic's name             */
        RP_OPT_CHOICE,   /* const char *: one of row.choices, the row's own text */
        RP_OPT_COUNT,    /* int64_t: a whole number in [min, max]                */
        RP_OPT_SIZE,     /* int64_t: such as 10M, in [min, max]; see quantity.h  */
        RP_OPT_DURATION, /* int64_t: ms, such as 8h, in [min, max]; quantity.h   */
        RP_OPT_LIST,     /* struct rp_list: may be given several times           */
        RP_OPT_INPUT,    /* const char *: a file that is read; - is standard input, held so that it can be opened */
        RP_OPT_INPUTS,   /* struct rp_list: the same, may be given several times */
        RP_OPT_STREAM,   /* const char *: a file that is read line by line; - is standard input, and stays "-" here */
        RP_OPT_OUTPUT,   /* const char *: a file that is written once, as a whole; - is standard output, and stays "-" */
        RP_OPT_PATH,     /* const char *: a name that must be one, such as a socket's; - is refused */
        RP_OPT_PATHS     /* struct rp_list: the same, may be given several times */
} rp_opt_type_t;

/** The arguments of an option that may be repeated, in order. The strings are the command line's own. */
struct rp_list {
        const char **items;
        size_t cnt;
};

struct rp_option {
        const char *name;   /* the long name without dashes; NULL ends a table */
        char letter;        /* the short form, or 0 */
        rp_opt_type_t type;
        size_t offset;      /* offsetof() the field in the command's argument struct */
        const char *arg;    /* what --help calls the argument, such as FILE; NULL for flags */
        const char *help;   /* one line, no full stop */
        const char *fallback; /* the default, as typed; NULL when there is none */
        int64_t min, max;     /* RP_OPT_COUNT, RP_OPT_SIZE, RP_OPT_DURATION; max: RP_OPT_TEXT as well */
        const char *const *choices; /* RP_OPT_CHOICE: NULL-terminated */
};

/** Several tables together, shared rows first written once. NULL-terminated. */
typedef const struct rp_option *const *rp_option_tables_t;

/**
 * Parses argv[1..] (argv[0] is the command's name) into args, which starts zeroed. Defaults are filled in first.
 * Options and operands may be mixed; everything after "--" is an operand. On success argv[*operand_at .. argc-1] are
 * the operands. Text stays the command line's own; the lists are released by rp_options_release().
 * @returns RP_OK, or RP_ERR_USAGE with *err naming the option and what was expected.
 */
rp_err_t rp_options_parse(rp_option_tables_t tables, void *args, int argc, char **argv, int *operand_at,
                          struct rp_error *err);

/** Frees what rp_options_parse() allocated inside args. */
void rp_options_release(rp_option_tables_t tables, void *args);

/**
 * Prints those of the named options that are not at their defaults, each behind a space, as they can be typed again: for the
 * command with which a job goes on. @param names  NULL-terminated
 */
void rp_options_print(rp_option_tables_t tables, const void *args, const char *const *names, FILE *out);

/** Prints the rows, aligned, for --help. */
void rp_options_help(rp_option_tables_t tables, FILE *out);

/** @returns the row's help with its default and what "-" is, for --help and the man page; the caller's to free(). */
char *rp_option_text(const struct rp_option *opt);

/** @returns the i-th row over all tables, or NULL past the end. For the man page and the shell's completion. */
const struct rp_option *rp_options_at(rp_option_tables_t tables, size_t i);

/**
 * For "did you mean": true when name could be a slip of the pen for word and is closer than *best, which starts as
 * SIZE_MAX and is then lowered.
 */
bool rp_is_close(const char *word, const char *name, size_t *best);

#endif
