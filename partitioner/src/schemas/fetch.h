/**
 * Questions to a registry by the Confluent API (which Apicurio, Karapace, Redpanda and others speak too), and what their
 * answers mean. Formats: Confluent's "Schema Registry API Reference", checked against Apicurio Registry 2.6.
 */
#ifndef KR_FETCH_H
#define KR_FETCH_H

#include "../hash/md5.h"
#include "http.h"

enum {
        KR_REFERENCE_MAX = 64,       /* schemas that one may refer to, directly or not */
        KR_REFERENCE_DEPTH_MAX = 16, /* references of references */
        KR_VERSION_MAX = 16          /* newest versions of a subject that are read ahead */
};

typedef enum {
        KR_FETCH_OK,
        KR_FETCH_ABSENT,   /* the registry answers that there is none                                    */
        KR_FETCH_FOREIGN,  /* it has one, which is not Avro or not sane: asking again would not change it */
        KR_FETCH_BAD,      /* no usable answer to this question: others may fare better                   */
        KR_FETCH_DOWN,     /* nobody answers, or asks for a pause: others need not be asked now           */
        KR_FETCH_CANCELLED
} kr_fetch_t;

/** A registry with what is remembered between requests. Several threads may ask at once. */
struct kr_endpoint {
        const struct kr_registry_conf *conf;
        atomic_size_t preferred; /* the base URL that answered last */
        atomic_ullong request_cnt;
};

/** What came. */
struct kr_fetched {
        int64_t id;             /* as the answer says, or -1 */
        bool has_guid;
        unsigned char guid[16];
        char *schema;           /* compact JSON with sorted members, so that its layout does not matter */
        char **references;      /* the same, each before those that use it */
        size_t reference_cnt;
        unsigned char digest[KR_MD5_SIZE]; /* over all of these texts */
        int64_t retry_after_ms; /* DOWN: 0 when it did not say */
};

/** Reads 32 hex digits, with dashes or without. False for anything else, NULL too. */
bool kr_guid_parse(const char *text, unsigned char guid[16]);

void kr_fetched_release(struct kr_fetched *fetched);

/**
 * Asks for a schema with all that it refers to, at each base URL until one answers.
 * @param path  below the base URL, such as "/schemas/ids/7"
 * @returns KR_FETCH_OK and *fetched, to be released; else *err, one line that names registry and URL.
 */
kr_fetch_t kr_fetch_schema(struct kr_http *http, struct kr_endpoint *endpoint, const char *path,
                           struct kr_fetched *fetched, struct kr_error *err);

/** The newest versions of a subject, rising. */
kr_fetch_t kr_fetch_versions(struct kr_http *http, struct kr_endpoint *endpoint, const char *path,
                             int64_t versions[KR_VERSION_MAX], size_t *cnt, int64_t *retry_after_ms,
                             struct kr_error *err);

#endif
