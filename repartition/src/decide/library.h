/**
 * What is known against versions of librdkafka, as far as it concerns a tool that moves the only copy of someone's data.
 * Pure: a version number in, reasons out. Sources: librdkafka's changelog and issues, named in each row.
 */
#ifndef RP_LIBRARY_H
#define RP_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/** What the tool is about to do with it. */
enum rp_library_use {
        RP_LIBRARY_WRITE = 1, /* transactions */
        RP_LIBRARY_GROUP = 2  /* membership in a consumer group */
};

struct rp_library_flaw {
        uint32_t since, fixed; /* versions as in RD_KAFKA_VERSION, from the first bad one to the first good one */
        unsigned uses;         /* RP_LIBRARY_...: whom it concerns */
        int is_fatal;          /* records can be lost or doubled, whatever we do: refused */
        const char *source;    /* where it is told */
        const char *reason;    /* what it does, and what we do about it or the user can */
};

/**
 * @param version  as rd_kafka_version() gives it
 * @param uses     RP_LIBRARY_..., one or several
 * @param out      rows, borrowed, the fatal ones first
 * @returns how many; at most max.
 */
size_t rp_library_flaws(uint32_t version, unsigned uses, const struct rp_library_flaw **out, size_t max);

#endif
