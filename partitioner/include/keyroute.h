/**
 * Keyroute's routing core: which partition a Kafka record belongs in, by one pinned policy.
 *
 * Everything here is a pure function of (policy, topic, key bytes, partition count). No broker, clock or lock;
 * files are read by kr_policy_load() alone. A loaded policy never changes, so threads share it freely.
 *
 *   struct kr_error err;
 *   kr_policy_t *policy = kr_policy_load("keyroute.json", &err);
 *   const kr_rule_t *rule = kr_policy_rule(policy, "orders");
 *   int32_t p = kr_rule_partition(rule, key, key_len, partition_cnt);
 */
#ifndef KEYROUTE_H
#define KEYROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KR_VERSION "0.1.0"

#if defined(__GNUC__)
#define KR_API __attribute__((visibility("default")))
#else
#define KR_API
#endif

/** Why a call failed. text is one line, ready to print: what, where, what was expected. Lives on the caller's stack. */
struct kr_error {
        char text[512];
};

/** @returns the version of the library that is linked, such as "0.1.0". Static storage. */
KR_API const char *kr_version(void);

/* ---- hash functions ------------------------------------------------------------------------------------------ */

/** A hash function as one family of clients uses it, sign handling included. Static storage, never freed. */
typedef struct kr_hash kr_hash_t;

/** What a client does with a record that has no bytes to hash. */
typedef enum {
        KR_SPREAD, /**< spread over partitions by the client (sticky, random or round robin): no fixed partition */
        KR_HASHED, /**< hashed like any other key: one fixed partition                                           */
        KR_FIRST,  /**< always partition 0                                                                       */
        KR_REFUSED /**< the client fails                                                                         */
} kr_keyless_t;

/** @returns the hash function of that exact name, or NULL. */
KR_API const kr_hash_t *kr_hash_find(const char *name);

/** @returns the i-th hash function in table order, or NULL past the end. */
KR_API const kr_hash_t *kr_hash_at(size_t i);

KR_API const char *kr_hash_name(const kr_hash_t *hash);

/** @returns whether Kafka clients place records by this function; false for the functions of other stores. */
KR_API bool kr_hash_is_client(const kr_hash_t *hash);

/**
 * @returns the clients whose default this is, one line for people, such as "Java, Kafka Streams, kafkajs 2"; for the
 * function of a store, which one and how the value is to be read.
 */
KR_API const char *kr_hash_clients(const kr_hash_t *hash);

/** @returns what a user of these clients sets to route as Java does, one line. */
KR_API const char *kr_hash_fix(const kr_hash_t *hash);

/** @returns what those clients do with a NULL key. */
KR_API kr_keyless_t kr_hash_null_key(const kr_hash_t *hash);

/** @returns what those clients do with an empty key (length 0, not NULL). */
KR_API kr_keyless_t kr_hash_empty_key(const kr_hash_t *hash);

/**
 * The hash value after the client's own sign handling (mask, absolute value or unsigned), so that
 * `value % partition_cnt` is the client's partition.
 *
 * @param key      bytes at any alignment; may be NULL when key_len is 0
 * @returns the value. Cannot fail, allocates nothing, safe from any thread.
 */
KR_API uint64_t kr_hash_value(const kr_hash_t *hash, const void *key, size_t key_len);

/* ---- policies ------------------------------------------------------------------------------------------------- */

/** A loaded policy: which topic is routed by which rule. Immutable. */
typedef struct kr_policy kr_policy_t;

/** One topic's rule inside a policy. Borrowed: lives as long as its policy. */
typedef struct kr_rule kr_rule_t;

/**
 * Reads a policy file (format: docs/policy.md).
 * @returns a policy, the caller's to kr_policy_free(); or NULL with *err naming file, line or JSON path, and what was
 *          expected there.
 */
KR_API kr_policy_t *kr_policy_load(const char *path, struct kr_error *err);

/** The same from memory; `name` stands for the file name in messages. Files that the policy names need full paths. */
KR_API kr_policy_t *kr_policy_parse(const char *json, size_t len, const char *name, struct kr_error *err);

/** The same as if the text stood in the file `path`: files that the policy names are looked for from there. */
KR_API kr_policy_t *kr_policy_parse_at(const char *json, size_t len, const char *path, struct kr_error *err);

/** A policy that routes every topic by this hash, modulo its partition count. NULL with *err for an unknown name. */
KR_API kr_policy_t *kr_policy_from_hash(const char *hash_name, struct kr_error *err);

/**
 * Reads a policy file and writes the same policy with everything spelled out: weights become the owner of each slot, a
 * ring becomes its ranges, so that any language can route by it with a hash and an array. The result is a valid policy
 * and has the same fingerprints; comments and locations stay.
 *
 * @param current  the policy in force, or NULL. With one, topics whose slots go by weight start from its table, and the
 *                 fewest slots move; the fingerprints are then those of the new table
 * @param expand   write the owner of every slot, not runs of them
 * @returns JSON text, the caller's to free(); or NULL with *err
 */
KR_API char *kr_policy_compile(const char *path, const kr_policy_t *current, bool expand, struct kr_error *err);

/** The same for text that is not in a file yet; `path` stands for it in messages, and files it names are sought from there. */
KR_API char *kr_policy_compile_text(const char *json, size_t len, const char *path, const kr_policy_t *current,
                                    bool expand, struct kr_error *err);

/** One line about what happens in the background. Levels are those of syslog. Called from other threads. */
typedef void kr_log_fn(int level, const char *text, void *opaque);

/**
 * Starts what a policy may do in the background: subjects of schema registries are read ahead, so that the first keys
 * need not wait for them. Optional, and of no effect on policies without registries: a policy routes without it.
 *
 * @param log  gets a line when a registry does not answer, answers again, or answers with what cannot be used, once each;
 *             earlier lines come at once. NULL: nobody gets lines from now on; no call is under way when this returns
 */
KR_API void kr_policy_start(const kr_policy_t *policy, kr_log_fn *log, void *opaque);

/**
 * For programs that judge or move what others wrote, and must not take a registry's absence for a fact about the key:
 * from now on a key whose schema cannot be had is refused, also where the policy routes it whole, and the first key of a
 * schema waits until the registry's tries are used up. Before the first key. Of no effect on policies without registries.
 */
KR_API void kr_policy_be_strict(kr_policy_t *policy);

/** Frees; NULL is allowed. Threads that kr_policy_start() or routing began have ended when this returns. */
KR_API void kr_policy_free(kr_policy_t *policy);

/**
 * The rule for a topic: its exact name first, else the matching pattern with the most literal characters.
 * @returns the rule, or NULL when the policy does not name the topic. Allocates nothing.
 */
KR_API const kr_rule_t *kr_policy_rule(const kr_policy_t *policy, const char *topic);

/** @returns the i-th rule (exact names first), or NULL past the end. */
KR_API const kr_rule_t *kr_policy_rule_at(const kr_policy_t *policy, size_t i);

/** @returns the topic name or pattern as written in the policy. */
KR_API const char *kr_rule_topic(const kr_rule_t *rule);

/** @returns the partition count that the rule is pinned to, or 0 when any count is accepted. */
KR_API int32_t kr_rule_partitions(const kr_rule_t *rule);

/** @returns the rule's hash function. */
KR_API const kr_hash_t *kr_rule_hash(const kr_rule_t *rule);

/** @returns the kind of the rule's map, such as "slots". Static storage. */
KR_API const char *kr_rule_map(const kr_rule_t *rule);

/** @returns which bytes of a key route, such as "bytes" or "field"; the outermost step. Static storage. */
KR_API const char *kr_rule_key_use(const kr_rule_t *rule);

/** @returns 16 hex digits over all that routes and nothing else (not names, locations, comments or key order). */
KR_API const char *kr_rule_fingerprint(const kr_rule_t *rule);

/** @returns a short description for logs, such as "murmur2 modulo". Borrowed from the rule. */
KR_API const char *kr_rule_describe(const kr_rule_t *rule);

/** @returns the bytes of memory that the rule holds: its map, tables and locations. */
KR_API size_t kr_rule_memory_bytes(const kr_rule_t *rule);

/* ---- routing -------------------------------------------------------------------------------------------------- */

/** Negative results of routing: the record must be refused, never placed somewhere else. */
enum {
        KR_ERR_PARTITION_COUNT = -1, /**< the topic's count differs from the pinned one, or is not positive */
        KR_ERR_KEY_REJECTED = -2,    /**< the policy says to reject a key it cannot take apart             */
        KR_ERR_KEY_UNRESOLVED = -3   /**< likewise one whose schema could not be had from the registry     */
};

/**
 * The partition of a keyed record. This is the one function that computes a partition; the plugin, the tool and the
 * tests all call it. A record whose key is NULL is a different question and is never asked here.
 *
 * @param key            bytes at any alignment; may be NULL when key_len is 0, which means the empty key
 * @param partition_cnt  all partitions of the topic, also those without a leader
 * @returns 0 .. partition_cnt - 1, or a KR_ERR_ value. Allocates nothing, takes no lock, safe from any thread. Two
 *          exceptions: the key use json allocates; and where the policy takes schemas from a registry, the first key of
 *          each schema may wait for the registry, as long as the policy allows.
 */
KR_API int32_t kr_rule_partition(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt);

/** What became of the step that takes the routing bytes out of the key. */
typedef enum {
        KR_KEY_PROJECTED, /**< the bytes that the policy names route                                          */
        KR_KEY_UNFRAMED,  /**< no registry frame was there to remove; the bytes routed as they are             */
        KR_KEY_MISSING,   /**< the key could not be taken apart: its whole bytes route, or it is refused       */
        KR_KEY_UNRESOLVED /**< its schema could not be had from the registry: likewise, by its own choice      */
} kr_key_outcome_t;

/** One routing decision in full, for people, counters and reports. */
struct kr_routing {
        int32_t partition;    /**< as kr_rule_partition()                                         */
        kr_key_outcome_t outcome;
        uint64_t hash;        /**< the value that the map took, 0 where it takes none              */
        const char *location; /**< where that partition lives, borrowed from the rule; or NULL     */
};

/** The same decision as kr_rule_partition(), told in full. */
KR_API void kr_rule_route(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt,
                          struct kr_routing *routing);

/**
 * The bytes of a key that route: what the map or the hash is given. For people and tests; routing does not copy them.
 * @param out  gets the first `room` of them; may be NULL when room is 0
 * @param len  how many there are, also when that is more than `room`
 */
KR_API kr_key_outcome_t kr_rule_routing_bytes(const kr_rule_t *rule, const void *key, size_t key_len, void *out,
                                              size_t room, size_t *len);

/** @returns how the rule takes keys apart, in lines for people, the caller's to free(); NULL when memory is out. */
KR_API char *kr_rule_key_plan(const kr_rule_t *rule);

/**
 * The same for keys of one schema, by a rule whose schemas a registry gives. Asks the registry, in this thread and now.
 * @param schema  its id, such as "7", or its GUID
 * @returns NULL with *err when there is no answer, or one by which no key can be taken apart
 */
KR_API char *kr_rule_schema_plan(const kr_rule_t *rule, const char *schema, struct kr_error *err);

/**
 * The partitions that can hold a key whose first part is this one: what a query for all such keys has to read. Maps that
 * split the key (two-level, and table with a delimiter) keep these together; by any other map they may be anywhere.
 *
 * @param first  the first part of the routing bytes, without the delimiter; may be NULL when first_len is 0
 * @param out    the partitions, for two-level by rising offset; the caller's, with room for `room`
 * @returns how many there are, also when that is more than `room`; or KR_ERR_PARTITION_COUNT. Allocates nothing.
 */
KR_API int32_t kr_rule_partitions_of_prefix(const kr_rule_t *rule, const void *first, size_t first_len,
                                            int32_t partition_cnt, int32_t *out, int32_t room);

/** @returns the location of a partition by the rule, borrowed; or NULL when the rule names none for it. */
KR_API const char *kr_rule_location(const kr_rule_t *rule, int32_t partition);

/* ---- comparing rules ------------------------------------------------------------------------------------------ */

/** How a share was come by. */
typedef enum {
        KR_EXACT,       /**< by arithmetic on the maps, over whole periods of the hash                              */
        KR_SAMPLED,     /**< counted on a million random keys, always the same ones                                 */
        KR_INDEPENDENT, /**< computed for hashes of different bytes, which have nothing to do with each other       */
        KR_UNKNOWN      /**< depends on which keys there are, such as for a map by the order of keys                */
} kr_basis_t;

/**
 * What share of all hashes each partition gets. Keys that a table pins are not counted: they are so many keys, not a
 * share of them.
 * @param shares  partition_cnt elements, the caller's; their sum is 1, or all are 0 when the basis is KR_UNKNOWN
 */
KR_API kr_basis_t kr_rule_shares(const kr_rule_t *rule, int32_t partition_cnt, double *shares);

/** Keys that go to one partition by one rule and to another by the other rule. */
struct kr_flow {
        int32_t from, to;
        double share; /**< of all keys */
};

/** Keys from `start` up to `end` that do, by the order of their bytes. Borrowed from the rules. */
struct kr_key_range {
        const void *start, *end; /**< start may be NULL when start_len is 0; end is NULL where there is none */
        size_t start_len, end_len;
        int32_t from, to;
};

/** How two rules differ. */
struct kr_comparison {
        kr_basis_t basis;
        double moved;           /**< share of keys with another partition; 0 when the basis is KR_UNKNOWN */
        struct kr_flow *flows;  /**< where they go, by falling share; then by partition */
        size_t flow_cnt;
        struct kr_key_range *ranges; /**< for two maps of kind range: the ranges whose partition differs */
        size_t range_cnt;
        uint64_t pins_same, pins_changed; /**< keys that both pin */
        uint64_t pins_removed, pins_added; /**< keys that only the first pins, and only the second */
};

/**
 * Compares where two rules put the keys of a topic with `a_cnt` partitions by the first and `b_cnt` by the second.
 * @returns true and *out, the caller's to kr_comparison_release(); or false with *err: a count that a rule refuses, or no
 *          memory.
 */
KR_API bool kr_rule_compare(const kr_rule_t *a, int32_t a_cnt, const kr_rule_t *b, int32_t b_cnt,
                            struct kr_comparison *out, struct kr_error *err);
KR_API void kr_comparison_release(struct kr_comparison *comparison);

/* ---- locations ------------------------------------------------------------------------------------------------ */

/** Where partitions live, from a file of its own, such as {"0-11": "site-a", "12-23": "site-b"}. Immutable. */
typedef struct kr_locations kr_locations_t;

/**
 * Reads a location file: the same object that a policy's rule has as "locations".
 * @param partition_cnt  partitions of the topic, or 0 when it is not known
 * @returns the locations, the caller's to kr_locations_free(); or NULL with *err naming file, place and what was
 *          expected there.
 */
KR_API kr_locations_t *kr_locations_load(const char *path, int32_t partition_cnt, struct kr_error *err);

/** @returns the partition's location, borrowed; or NULL when the file names none for it. */
KR_API const char *kr_locations_name(const kr_locations_t *locations, int32_t partition);

/** Frees; NULL is allowed. */
KR_API void kr_locations_free(kr_locations_t *locations);

/**
 * Shares a topic's partitions out among locations of unequal capacity, moving as few as possible.
 *
 * Without weights each location gets its quota by largest remainder, so it is within one partition of its due share, and
 * exactly those partitions move that somebody has too much. Among equal remainders the one who holds more keeps it.
 *
 * With weights the shares of the total weight count. Whoever is homeless goes first, heaviest first, to the location that
 * lacks most; then partitions move from locations that have too much to those that lack. Afterwards every location is
 * above its due by less than its lightest partition, and below it by less than the lightest partition of any location
 * that is above. (To do better is to solve bin packing; the number of moves is small, not proven smallest.)
 *
 * @param capacities  of each location, in any unit; each at most 10^12, not all 0; 0 empties a location
 * @param weights     of each partition, such as its records; their sum fits 63 bits. NULL or all 0: they count alike
 * @param owners      in: the index of the location that each partition has, or -1; out: the one it shall have
 * @returns false when memory is out. The same input gives the same answer everywhere.
 */
KR_API bool kr_place(const uint64_t *capacities, size_t location_cnt, const uint64_t *weights, int32_t *owners,
                     size_t partition_cnt);

/**
 * Reads a capacity or a weight exactly, as policies write them in quotes: "2", "1.5", "0.000001". Digits, at most six of
 * them after the point; no sign, no blanks, no exponent.
 * @param most  the largest number that is allowed, whole; at most 10^12
 * @returns false, and *millionths as it was, for anything else.
 */
KR_API bool kr_decimal_parse(const char *text, uint64_t most, uint64_t *millionths);

/** @returns one line that tells why a negative result was given, for this rule and count. Static per code. */
KR_API const char *kr_strerror(int32_t err);

/* ---- other stores ---------------------------------------------------------------------------------------------- */

/** The rule by which another store places keys, its parameters settled. Immutable. */
typedef struct kr_preset kr_preset_t;

/** A parameter of a preset, given as NAME:PARAM=VALUE. */
struct kr_preset_param {
        const char *name;           /**< NULL ends the list                                        */
        const char *fallback;       /**< the value when none is given; NULL: it must be given      */
        int64_t min, max;           /**< a whole number in this range, when max is not 0           */
        const char *const *choices; /**< one of these, NULL-terminated; or NULL. Neither: any text */
        const char *help;           /**< one line, no full stop                                    */
};

/** What there is to know about a preset before it is used. Static storage. */
struct kr_preset_info {
        const char *name;
        const char *store;  /**< such as "Redis Cluster, Valkey"                            */
        const char *prints; /**< the names of a placement's fields, such as "slot"          */
        const char *source; /**< where the rule stands, and what ours was compared with     */
        const struct kr_preset_param *params;
};

/** @returns the i-th preset in the order of their names, or NULL past the end. */
KR_API const struct kr_preset_info *kr_preset_info_at(size_t i);

/**
 * @param spec      NAME or NAME:PARAM=VALUE[,PARAM=VALUE...], such as "elasticsearch:shards=8"
 * @param key_type  what the keys are, as the parameter `type` of some presets would say it ("number", "uuid"): used
 *                  where the preset has that choice and the spec says nothing. NULL: text.
 * @returns a preset, the caller's to kr_preset_free(); or NULL with *err.
 */
KR_API kr_preset_t *kr_preset_new(const char *spec, const char *key_type, struct kr_error *err);

/** Frees; NULL is allowed. */
KR_API void kr_preset_free(kr_preset_t *preset);

/** @returns the preset's parameter `type` ("text", "number", ...), or NULL when it has none. Borrowed. */
KR_API const char *kr_preset_type(const kr_preset_t *preset);

/** @returns how many buckets (slots, shards, nodes) the store has; 0 when it knows only places on a ring. */
KR_API int32_t kr_preset_buckets(const kr_preset_t *preset);

enum { KR_PLACEMENT_FIELD_MAX = 4 };

/** Where a store puts one key: the answer first, then what it was made from. */
struct kr_placement {
        int32_t bucket; /**< 0 .. kr_preset_buckets() - 1, or -1 when there are none */
        size_t field_cnt;
        struct kr_placement_field {
                const char *name; /**< static                                              */
                bool is_text;     /**< a name or a number beyond 64 bits; else a JSON number */
                char text[128];
        } fields[KR_PLACEMENT_FIELD_MAX];
};

/**
 * @param key  as a Kafka serializer writes it: text in UTF-8, numbers big-endian, a UUID as 16 bytes
 * @returns false with *err when the key is not of the preset's type. Allocates nothing, safe from any thread.
 */
KR_API bool kr_preset_place(const kr_preset_t *preset, const void *key, size_t key_len, struct kr_placement *placement,
                            struct kr_error *err);

#ifdef __cplusplus
}
#endif
#endif
