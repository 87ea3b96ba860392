/**
 * Where other stores put a key. A preset is data on top of the routing core: it names a projection, a hash and a map,
 * and the store's slot, shard or token is what kr_rule_route() says of a topic with as many partitions as the store has
 * buckets. So `route --preset` and a policy that lines a topic up with the store cannot disagree.
 *
 * One row a preset; the rows stand by the shape of their map: modulo.c, range.c, elasticsearch.c, ketama.c, jump.c.
 */
#ifndef KR_PRESET_H
#define KR_PRESET_H

#include "../policy/policy.h"

enum { KR_PRESET_PARAM_MAX = 6 };

struct kr_preset_kind {
        struct kr_preset_info info;
        const char *refusal; /* the store's rule cannot be offered, and why; nothing else of the row is used then */
        bool own_map;        /* a policy may give a map of its own over the hash: the store's layout is not a rule */
        /*
         * Checks what the parameters say together and sets bucket_cnt: the partitions of a topic that has one for each
         * of the store's buckets; or is_ring.
         */
        bool (*settle)(struct kr_preset *preset, struct kr_error *err);
        /*
         * The members of a policy's rule for a topic of that many partitions; a new reference. Called with bucket_cnt,
         * and from a policy with its own count: NULL and *err when these do not go together. NULL: see place.
         */
        json_t *(*rule)(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err);
        /* Says in the store's words what the rule found. */
        void (*print)(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                      struct kr_placement *placement);
        /* Instead of rule and print, for what no policy can say. */
        bool (*place)(const struct kr_preset *preset, struct kr_bytes key, struct kr_placement *placement,
                      struct kr_error *err);
};

struct kr_preset_node;

struct kr_preset {
        const struct kr_preset_kind *kind;
        char *spec; /* the texts of the values lie in it */
        struct kr_preset_value {
                const char *text; /* NULL: a number */
                int64_t number;
        } values[KR_PRESET_PARAM_MAX]; /* in the order of info.params */
        int32_t bucket_cnt;
        bool is_ring; /* no buckets, only places on a ring: bucket_cnt is 1 then */
        kr_policy_t *policy; /* one rule, of bucket_cnt partitions; NULL where the kind places */
        const kr_rule_t *rule;
        struct kr_preset_node *nodes; /* ketama: owned; their names lie in the spec */
        bool takes_id;                /* elasticsearch with routing_partition_size: the key holds routing and _id */
};

extern const struct kr_preset_kind kr_preset_redis_cluster, kr_preset_couchbase, kr_preset_postgres, kr_preset_flink,
        kr_preset_pulsar, kr_preset_pinot, kr_preset_cockroachdb, kr_preset_smartclient, kr_preset_consumer_offsets;
extern const struct kr_preset_kind kr_preset_cassandra, kr_preset_scylla, kr_preset_citus, kr_preset_mongodb,
        kr_preset_yugabytedb, kr_preset_kinesis;
extern const struct kr_preset_kind kr_preset_elasticsearch, kr_preset_opensearch, kr_preset_elasticsearch_new;
extern const struct kr_preset_kind kr_preset_ketama, kr_preset_jump;

/** Whether the preset's value of parameter i is this word. */
bool kr_preset_is(const struct kr_preset *preset, size_t i, const char *word);

/** Adds a field; text longer than a field holds is cut. */
void kr_placement_add(struct kr_placement *placement, const char *name, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
void kr_placement_add_text(struct kr_placement *placement, const char *name, const char *text);

/** Sets *err to "preset NAME: message" and returns false. */
bool kr_preset_fail(const struct kr_preset *preset, struct kr_error *err, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/** A rule by hash and modulo; partition_cnt must be the store's number of buckets. */
json_t *kr_preset_modulo(const struct kr_preset *preset, const char *hash, int32_t partition_cnt, struct kr_error *err);

/** NULL with *err: the topic's count differs from the buckets, and the store knows no layout of fewer nodes. */
json_t *kr_preset_wrong_count(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err);

/** A rule by hash and a table of slots, of which `owner` tells the partition. */
json_t *kr_preset_slots(const char *hash, uint32_t slot_cnt,
                        int32_t (*owner)(const struct kr_preset *preset, uint32_t slot, int32_t partition_cnt),
                        const struct kr_preset *preset, int32_t partition_cnt);

/** A stretch of hash values that starts here and ends where the next one starts. */
struct kr_preset_range {
        uint64_t start;
        int32_t partition;
};

/** A rule by hash and ranges; the first starts at 0, and they rise. */
json_t *kr_preset_ranges(const char *hash, const struct kr_preset_range *ranges, size_t cnt, int32_t partition_cnt);

/**
 * A policy's rule with its "preset" replaced by what it stands for: key, hash, map and, where the rule has none,
 * partitions. The rule may keep a key of its own where the preset names none, and a map where the store leaves the
 * layout to people.
 * @returns a new reference; or NULL with *err
 */
json_t *kr_preset_expand(const struct kr_json *rule, struct kr_error *err);

#endif
