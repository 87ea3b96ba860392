/**
 * Does a program's serializer make the bytes that Kafka's own make? Numbers, texts and UUIDs go in, bytes come out; where
 * they differ, the known other encodings are tried. Two services with different serializers never meet in one partition,
 * whatever they hash. Pure.
 */
#ifndef RP_SERIALS_H
#define RP_SERIALS_H

#include <stdbool.h>
#include <stddef.h>

/** The kinds of values, NULL-terminated, for option rows: strings, ints, longs, uuids. */
extern const char *const rp_serial_kinds[];

enum { RP_SERIAL_MAX = 128 };

struct rp_serial_bytes {
        size_t len;
        unsigned char data[RP_SERIAL_MAX];
};

/** @returns the i-th value of a kind as text, or NULL past the last. Static storage. No text holds a line end. */
const char *rp_serial_value(const char *kind, size_t i);

/** What Kafka's StringSerializer, IntegerSerializer, LongSerializer and UUIDSerializer make of the value. */
void rp_serial_encode(const char *kind, const char *value, struct rp_serial_bytes *out);

/**
 * Names what a program does: the known encoding that gives most of its answers.
 * @param answers  one a value, in their order
 * @param agree    how many of the answers that encoding gives
 * @returns "Kafka's own" when all are right; NULL when no known encoding gives even half of them. Static storage.
 */
const char *rp_serial_name(const char *kind, const struct rp_serial_bytes *answers, size_t cnt, size_t *agree);

#endif
