/**
 * What can be known before a rewrite begins, and what speaks against beginning. Pure: facts in, findings out.
 */
#ifndef RP_PREFLIGHT_H
#define RP_PREFLIGHT_H

#include "decide/survey.h"
#include "mark.h"

/** Settings of a topic that decide whether copies survive. RP_UNKNOWN (or NULL) where the cluster did not tell. */
#define RP_UNKNOWN INT64_MIN

struct rp_topic_facts {
        const char *name;
        bool exists;
        int32_t partition_cnt;
        int32_t replication_factor;
        int32_t leaderless_cnt;
        int32_t in_sync_cnt;        /* replicas in sync now, of the partition that has the fewest */
        const char *compression_type; /* a codec, "producer" or "uncompressed" */
        const char *timestamp_type; /* CreateTime, LogAppendTime */
        const char *cleanup_policy;
        int64_t retention_ms, retention_bytes; /* -1: unlimited */
        int64_t max_message_bytes;
        int64_t min_insync_replicas;
        int64_t before_max_ms, after_max_ms; /* how far a record's time may be from the present */
};

struct rp_facts {
        const struct rp_topic_facts *sources; /* borrowed */
        int32_t source_cnt;
        const char *source;            /* what they are called together, see rp_topics_label() */
        struct rp_topic_facts target;  /* as it is, or as it would be created */
        int32_t broker_cnt;
        int32_t wanted_cnt;            /* partitions asked for */
        int32_t policy_pin;            /* count the policy is pinned to; 0: any */
        bool refuses_split_keys;       /* --order refuse; the survey has counted all keys then */
        bool is_apart;                 /* source and target are two clusters, so they may have one name */
        bool settings_are_known;       /* the cluster answered admin requests */
        bool target_has_records;
        const char *job;               /* the name that progress is stored under */
        bool has_progress;             /* something is stored under that name */
        bool progress_is_foreign;      /* ... but not by a rewrite */
        const char *other_job;         /* ... but by a rewrite of other topics, another count or policy: which; else NULL */
        const char *follow_job;        /* the group of follow by its default name, for the same topics; NULL: not looked at */
        const struct rp_progress *progress, *followed; /* ... by source partition: what the job has stored, and what that
                                          group has; NULL: not told to this user */
        int32_t hidden_partition_cnt;  /* of the source, which open transactions keep from being read to their ends */
        uint64_t hidden_offsets;       /* ... and how much of them all */
        const char *hidden_topic;      /* ... the topic of the one that has the most, its number there, and from where on */
        int32_t hidden_partition;
        int64_t hidden_from;
        const char *codecs;            /* what the librdkafka in use can decompress, separated by commas; NULL: not known */
        const char *create_error;      /* why the cluster would not create the target; NULL when it would, or was not asked */
        const char *denials[6];        /* rights that are missing, ready to print; the rest NULL */
        bool rights_are_unknown;       /* a secured cluster that did not tell all */
        uint32_t library;              /* librdkafka's version, as in RD_KAFKA_VERSION; 0: do not judge it */
        const char *library_name;      /* ... as people write it */
        bool library_is_allowed;       /* --allow-librdkafka */
        const struct rp_survey *survey;
        int64_t now_ms;                /* wall clock */
};

typedef enum {
        RP_FINDING_NOTE,   /* good to know                          */
        RP_FINDING_WARNING,/* the copy may not be what is expected  */
        RP_FINDING_REFUSAL /* the job does not begin                */
} rp_severity_t;

struct rp_finding {
        rp_severity_t severity;
        const char *id; /* a fixed word for scripts */
        char text[400]; /* what, and what to do */
};

struct rp_findings {
        struct rp_finding items[24];
        size_t cnt;
        size_t refusal_cnt;
};

/** Adds one; what is too much for the list is dropped. `id` is static. */
void rp_findings_add(struct rp_findings *findings, rp_severity_t severity, const char *id, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/**
 * What is known against this librdkafka, the fatal first; 0: it is not judged.
 * @param uses  RP_LIBRARY_..., see decide/library.h
 */
void rp_preflight_library(uint32_t library, const char *name, unsigned uses, bool is_allowed,
                          struct rp_findings *findings);

void rp_preflight(const struct rp_facts *facts, struct rp_findings *findings);

#endif
