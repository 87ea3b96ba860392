/**
 * Numbers, times and tables for people. One way to write each, so that every command's report reads alike.
 * Values come back inside a small struct, so that they can be used in the argument list of a printf:
 *
 *   printf("%s records, %s\n", rp_text_count(n).s, rp_text_percent(moved, n).s);
 *
 * Pure but for the functions that take a FILE; safe from any thread.
 */
#ifndef RP_TEXT_H
#define RP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct rp_text {
        char s[64];
};

/** 1234567 is "1,234,567". */
struct rp_text rp_text_count(uint64_t count);

/**
 * "46.2 %". 0 % and 100 % are kept for exactly nothing and exactly all: one record in a million is "<0.1 %", all but
 * one ">99.9 %". A whole of 0 gives "0.0 %".
 */
struct rp_text rp_text_percent(uint64_t part, uint64_t whole);

/** The same for a share between 0 and 1. */
struct rp_text rp_text_share(double share);

/** Decimal units: 999 is "999 B", 1234567 is "1.2 MB". */
struct rp_text rp_text_bytes(uint64_t bytes);

/** "850 ms", "12.3 s", "4 min 05 s", "2 h 07 min", "3 d 04 h". */
struct rp_text rp_text_duration(int64_t ms);

/** RFC 3339 in UTC, whole seconds: "2026-11-29T21:40:00Z". "no time" when negative (Kafka's "none"). */
struct rp_text rp_text_time(int64_t ms);

/** The same with milliseconds, for JSON: "2026-11-29T21:40:00.000Z". */
struct rp_text rp_text_time_ms(int64_t ms);

/** Columns on a terminal: characters, not bytes, of UTF-8 text. */
size_t rp_text_width(const char *text);

/**
 * One bar a value, the tallest for the largest: "▃▅▂█". More values than columns are folded, the largest of each fold
 * shows. A zero value is the lowest bar.
 */
void rp_text_bars(FILE *out, const uint64_t *values, size_t cnt, size_t columns);

/** Prints an operand so that a shell reads it back as it is; quotes only where needed. */
void rp_text_shell_word(FILE *out, const char *word);

/**
 * Prints a key for people: as it is when printable, in hex after "0x" otherwise; cut after max bytes, "…" then tells.
 */
void rp_text_key(FILE *out, const void *key, size_t len, size_t max);

/* ---- tables --------------------------------------------------------------------------------------------------- */

/** A table whose columns are as wide as they need to be. Cells are copied. */
struct rp_table;

/**
 * @param alignment  one character a column: 'l' left, 'r' right
 * @returns a table, the caller's to rp_table_free()
 */
struct rp_table *rp_table_new(const char *alignment);

/** Adds the next cell, row by row from the left. */
void rp_table_cell(struct rp_table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Prints the rows: indent spaces, then the cells with gap spaces between them, no blanks at the end of a line. */
void rp_table_print(const struct rp_table *table, FILE *out, size_t indent, size_t gap);

void rp_table_free(struct rp_table *table);

#endif
