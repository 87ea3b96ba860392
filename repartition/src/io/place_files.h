/**
 * What a placement is made from, out of files and options. Every complaint is one line: file, line or JSON path, and what
 * was expected there.
 */
#ifndef RP_PLACE_FILES_H
#define RP_PLACE_FILES_H

#include "assignment.h"

/* ---- capacities and racks --------------------------------------------------------------------------------------- */

/** The largest capacity, in units; capacities are held in millionths of one. */
#define RP_CAPACITY_MAX 1000000u
#define RP_CAPACITY_ONE 1000000u

/** A name (a location, or a broker's number) with a capacity in millionths, or with a rack. */
struct rp_named {
        char *name;
        uint64_t capacity;
        char *rack;
};

struct rp_named_list {
        struct rp_named *items;
        size_t cnt;
};

/** The item of that name, or NULL. */
const struct rp_named *rp_named_find(const struct rp_named_list *list, const char *name);
void rp_named_release(struct rp_named_list *list);

/**
 * Adds what an option says, such as "site-a=6,site-b=1.5"; the last "=" divides, so a name may hold one.
 * @param option  such as "--capacity", for messages
 */
rp_err_t rp_capacities_parse(struct rp_named_list *list, const char *text, const char *option, struct rp_error *err);

/** The same for "1=rack-a,2=rack-b". */
rp_err_t rp_racks_parse(struct rp_named_list *list, const char *text, const char *option, struct rp_error *err);

/** A broker's number from its name. false when it is none. */
bool rp_broker_id_parse(const char *text, int32_t *id);

/** Entry of a capacity file that stands for every broker without one of its own. */
#define RP_DEFAULT_BROKER "-1"

/**
 * Reads Cruise Control's capacity.json. A disk capacity by log directory is added up. What it tells about CPU, and any
 * other field, is passed over. Units do not matter, only proportions: the file's largest value is scaled down when it is
 * beyond RP_CAPACITY_MAX.
 *
 * @param resource  "DISK", "NW_IN" or "NW_OUT"
 */
rp_err_t rp_capacity_file_load(struct rp_named_list *list, const char *path, const char *resource, struct rp_error *err);

/* ---- assignments ------------------------------------------------------------------------------------------------ */

/**
 * Reads {"version": 1, "partitions": [{"topic", "partition", "replicas"}]}, alone, or as kafka-reassign-partitions
 * --generate prints it, where the first of the two objects is what the cluster has now.
 * @param topics  only these; topic_cnt 0: all
 * @returns RP_OK and a sorted assignment, the caller's to rp_assignment_release().
 */
rp_err_t rp_assignment_load(struct rp_assignment *assignment, const char *path, char *const *topics, size_t topic_cnt,
                            struct rp_error *err);

/* ---- loads ------------------------------------------------------------------------------------------------------ */

/** What a partition weighs. */
struct rp_load {
        char *topic; /* NULL: the file does not say */
        int32_t partition;
        uint64_t weight;
};

struct rp_loads {
        struct rp_load *items;
        size_t cnt;
        const char *unit; /* "bytes", "records" or "weight"; static */
};

/**
 * Adds what a file tells: the JSON of an audit (bytes, or records where it has no bytes), the output of Kafka's
 * kafka-log-dirs --describe (bytes on disk, of the largest replica), or lines of [TOPIC<TAB>]PARTITION<TAB>WEIGHT.
 * Several files must measure in the same unit.
 */
rp_err_t rp_loads_load(struct rp_loads *loads, const char *path, struct rp_error *err);
void rp_loads_release(struct rp_loads *loads);

#endif
