/**
 * The golden vectors (format: interop-tests/vectors/README.md), read and put to an implementation. Shared by the tests
 * of our own functions and by those of wrong ones, so that both face the same questions.
 */
#ifndef KR_TEST_VECTORS_H
#define KR_TEST_VECTORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector_answer {
        int32_t partition_cnt, partition;
};

struct vector {
        int id;
        const char *group, *comment;
        const char *client; /* who was seen to do that, or NULL */
        unsigned char *key; /* NULL when empty */
        size_t key_len;
        bool invalid;   /* a wrong client's answers: a right implementation gives none of them, and value is not set */
        uint64_t value; /* after the sign handling */
        uint32_t raw;   /* before it; of an invalid one, that of the right vector with its key */
        struct vector_answer *answers;
        size_t answer_cnt;
};

struct vectors {
        json_t *document;
        const char *reduction; /* how values come from raw hashes, by the file's name for it */
        struct vector *at;
        size_t cnt;
};

/** Reads interop-tests/vectors/HASH.json; fails the test when that is not possible. */
struct vectors *vectors_load(const char *hash_name);
void vectors_free(struct vectors *vectors);

/** What is put to the test. The functions get a key at any alignment, with foreign bytes around it. */
struct implementation {
        const void *self;
        uint64_t (*value)(const void *self, const void *key, size_t key_len); /* NULL: not asked */
        int32_t (*partition)(const void *self, const void *key, size_t key_len, int32_t partition_cnt);
};

struct verdict {
        size_t asked;    /* answers looked at */
        size_t failed;   /* vectors with at least one wrong answer */
        char first[512]; /* the first wrong answer in words */
};

/** Whether an implementation gives what one vector wants. Safe from any thread. */
bool vector_passes(const struct vector *vector, const struct implementation *impl);

/**
 * Asks for every vector, with its key at the offsets 0 .. alignment_cnt - 1 of a word. After a wrong answer the rest of
 * that vector is left out. Safe from any thread.
 * @param wanted  which answers to look at; NULL for all
 */
struct verdict vectors_check(const struct vectors *vectors, const struct implementation *impl, size_t alignment_cnt,
                             bool (*wanted)(const struct vector *vector, int32_t partition_cnt));

#endif
