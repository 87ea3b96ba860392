/**
 * The topics that a job reads, as one row of partitions: those of the first topic, then those of the second, and so on.
 * Whatever reads, decides and counts goes by the place in that row; what is stored, shown or asked of a cluster goes by
 * topic and partition. The topics stand in the order of their names, so a job is the same in whichever order they are given.
 * Pure.
 *
 * A job of one topic needs no row: NULL stands for it, and its places are its partitions.
 */
#ifndef RP_TOPICS_H
#define RP_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_TOPICS_MAX = 64, RP_TOPICS_LABEL_SIZE = 256 };

struct rp_topics {
        int32_t topic_cnt;
        int32_t partition_cnt; /* of all together */
        char **names;          /* by rising name */
        int32_t *firsts;       /* place of each topic's partition 0; one more, the end */
        int32_t *owners;       /* by place: which topic */
};

/** @param partition_cnts  of each topic. The names may come in any order. false when out of memory. */
bool rp_topics_init(struct rp_topics *topics, const char *const *names, const int32_t *partition_cnts, int32_t topic_cnt);
void rp_topics_release(struct rp_topics *topics);

/** True when both have the same topics with as many partitions. */
bool rp_topics_equal(const struct rp_topics *a, const struct rp_topics *b);

/** @returns the place; -1 for a topic or a partition that is not in the row. @param only  the one topic's, for topics NULL */
int32_t rp_topics_find(const struct rp_topics *topics, const char *only, const char *name, int32_t partition);

/** The name of the topic at a place. @param only  the one topic's, for topics NULL */
static inline const char *rp_topics_name(const struct rp_topics *topics, const char *only, int32_t place)
{
        return topics ? topics->names[topics->owners[place]] : only;
}

/** The partition at a place, by its topic's own count. */
static inline int32_t rp_topics_partition(const struct rp_topics *topics, int32_t place)
{
        return topics ? place - topics->firsts[topics->owners[place]] : place;
}

/** How many partitions the topic at a place has. @param only  the one topic's, for topics NULL */
static inline int32_t rp_topics_count(const struct rp_topics *topics, int32_t only, int32_t place)
{
        if (!topics)
                return only;
        return topics->firsts[topics->owners[place] + 1] - topics->firsts[topics->owners[place]];
}

/** True when every topic has so many partitions. */
bool rp_topics_all_have(const struct rp_topics *topics, int32_t only, int32_t partition_cnt);

/**
 * The number of a place that may be stored: it stays when a topic gets more partitions, which moves the places behind it.
 * Of one topic it is the partition.
 */
static inline int64_t rp_topics_code(const struct rp_topics *topics, int32_t place)
{
        return topics ? (int64_t)rp_topics_partition(topics, place) * topics->topic_cnt + topics->owners[place] : place;
}

/** @returns the place of a stored number; -1: there is none. @param cnt  places in all */
int32_t rp_topics_place(const struct rp_topics *topics, int64_t code, int32_t cnt);

/**
 * What several topics are called together: their names with a plus between them, which no topic's name may hold; if that is
 * too long, the first with the number of the others and a digest of all. Of one topic it is the name.
 */
void rp_topics_label(char out[RP_TOPICS_LABEL_SIZE], const char *const *names, int32_t topic_cnt);

/** [{"topic": NAME, "partitions": N}, ...] by rising name: a new json_t of jansson's. */
struct json_t *rp_topics_json(const struct rp_topics *topics);

#endif
