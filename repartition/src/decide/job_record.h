/**
 * The records of jobs: one compacted topic in the target's cluster, keyed by the job and what is said of it.
 *
 *         JOB                          what the job is: a descriptor, rewritten by each run
 *         JOB|progress|TOPIC|P         how far it has come in partition P of TOPIC: only where source and target are two
 *                                      clusters; in one, the offsets of the job's consumer group say it
 *         JOB|checkpoint|SHARD.SEQ     a full checkpoint of one of the job's producers, see decide/checkpoint.h
 *         JOB|checkpoint|SHARD.dN      a delta. N goes round, so that compaction keeps the last RP_CHECKPOINT_SLOTS of them:
 *                                      the near past in steps of one transaction, all before in steps of 64
 *         JOB|waypoint|P.SLOT          of a job that never ends: see decide/waypoint.h
 *         JOB|done|WHAT                of a job that mends a topic in place: how much of each class it has written so far.
 *                                      WHAT: "copies", "tombstones", or the partition that they are copies from
 *         JOB|judged|WHAT              the offsets that its last pass was about; WHAT likewise
 *         JOB|tombstones               a descriptor, of what the same job wrote as tombstones later
 *
 * All but the descriptor's meaning to people is written in the very transaction that it speaks of. Pure.
 */
#ifndef RP_JOB_RECORD_H
#define RP_JOB_RECORD_H

#include "decide/note.h"
#include "decide/repair.h"
#include "decide/topics.h"
#include "mark.h"

#include <keyroute.h>

/** Of jobs in place: what is mended later goes by a word of its own. */
#define RP_KIND_TOMBSTONES "tombstones"
#define RP_DONE_COPIES "copies"
#define RP_DONE_TOMBSTONES "tombstones"

enum { RP_CHECKPOINT_SLOTS = 4096, RP_TOPIC_ID_SIZE = 32, RP_CLUSTER_ID_SIZE = 64, RP_JOB_KEY_SIZE = 960 };

/** One end of a job. */
struct rp_job_end {
        char topic[256];
        char id[RP_TOPIC_ID_SIZE];        /* the topic's id; "" where librdkafka or the brokers do not tell it */
        char cluster[RP_CLUSTER_ID_SIZE]; /* "" when not known */
        int32_t partition_cnt;
};

struct rp_job_descriptor {
        char kind[16];                  /* the command: rewrite, repair, ... */
        char identity[RP_NOTE_JOB_SIZE];/* see rp_job_identity() */
        char fingerprint[80];           /* of the policy's rule ... */
        char rule[96];                  /* ... and what it is in words; "" in descriptions of earlier versions */
        struct rp_job_end sources[RP_TOPICS_MAX]; /* by name */
        int32_t source_cnt;
        struct rp_job_end target;
        char include[64];               /* in place: the classes that are copied, as --include takes them; "" elsewhere */
        bool marks;                     /* in place: copies name their origin */
        char by[RP_NOTE_BY_SIZE];       /* the run that wrote it last */
        char version[32];               /* of the tool */
        int64_t since_ms;               /* when the job began, wall clock: its epoch. Begins anew when its progress is gone */
};

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_job_descriptor_print(const struct rp_job_descriptor *descriptor);
/** @returns false when the text is none. */
bool rp_job_descriptor_parse(struct rp_job_descriptor *descriptor, const char *text);

void rp_job_descriptor_set_rule(struct rp_job_descriptor *descriptor, const kr_rule_t *rule);

/** Why a job must not go on with these ends. @returns what changed, such as "the source topic \"a\" ...", in out; false when nothing did. */
bool rp_job_descriptor_differs(const struct rp_job_descriptor *stored, const struct rp_job_descriptor *now, char *out,
                               size_t size);

/** @returns the text of a stored position, the caller's to free(); NULL when out of memory. note: JSON, see decide/note.h. */
char *rp_job_progress_print(int64_t next, const char *note);

void rp_job_progress_key(char out[RP_JOB_KEY_SIZE], const char *job, const char *topic, int32_t partition);
void rp_job_checkpoint_key(char out[RP_JOB_KEY_SIZE], const char *job, int shard, int64_t seq, bool is_full);
void rp_job_waypoint_key(char out[RP_JOB_KEY_SIZE], const char *job, int32_t partition, int32_t slot);

/** False when a job of that name cannot be told from what is said of it. */
bool rp_job_name_is_legal(const char *job);
/** Says so. @returns RP_ERR_USAGE. */
rp_err_t rp_job_fail_name(const char *job, struct rp_error *err);

/* ---- what a job in place has done ---------------------------------------------------------------------------------------- */

/** So far, by all runs of one epoch; copies or tombstones that are committed. */
struct rp_job_done {
        int64_t since_ms;                   /* the epoch, see struct rp_job_descriptor */
        uint64_t records[RP_CLASS_CNT];     /* by the class of what was misplaced */
        uint64_t bytes;                     /* of their keys and values */
        bool is_finished;                   /* the last run came to its end. Never of a job that has none */
};

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_job_done_print(const struct rp_job_done *done);
/** @returns false when the text is none. */
bool rp_job_done_parse(struct rp_job_done *done, const char *text);
/** The same as a json_t of jansson's, for texts that hold it beside others. */
struct json_t *rp_job_done_json(const struct rp_job_done *done);
bool rp_job_done_read(struct rp_job_done *done, const struct json_t *json);
void rp_job_done_add(struct rp_job_done *sum, const struct rp_job_done *one);
/** @returns how many records of all classes. */
uint64_t rp_job_done_records(const struct rp_job_done *done);

/** @returns the text of ranges by partition, the caller's to free(); NULL when out of memory. */
char *rp_job_judged_print(const struct rp_range *ranges, int32_t cnt);
/** Fills the first `cnt` ranges, those that the text does not tell with -1. false when the text is none. */
bool rp_job_judged_parse(struct rp_range *ranges, int32_t cnt, const char *text);

/** @param kind  "done" or "judged" */
void rp_job_saying_key(char out[RP_JOB_KEY_SIZE], const char *job, const char *kind, const char *what);

/* ---- everything that is said of one job ------------------------------------------------------------------------------ */

struct rp_job_checkpoint {
        int shard;
        char *text;
};

struct rp_job_waypoint {
        char *text;                            /* NULL: another one took its slot since */
        int32_t partition, slot;
};

struct rp_job_fold {
        char *job;
        bool is_brief;                         /* what cutover computes from is left aside. The caller's to set */
        const struct rp_topics *topics;        /* that the job reads, NULL: one. The caller's to set; borrowed */
        char *descriptor;                      /* the last one; NULL: none */
        struct rp_job_position {
                char *topic;
                int32_t partition;
                int64_t next;
                char *note;
        } *positions;
        size_t position_cnt;
        struct rp_job_checkpoint *checkpoints; /* in the order of the topic */
        size_t checkpoint_cnt, checkpoint_cap;
        int64_t next_seq;                      /* above all numbers seen, of any shard */
        int shard_cnt;                         /* one more than the highest shard seen */
        struct rp_job_waypoint *waypoints;     /* in the order of the topic */
        size_t waypoint_cnt, waypoint_cap;
        size_t **waypoint_slots;               /* by partition, by slot: 1 + the index of the one that is there, 0: none */
        int32_t waypoint_partition_cnt;
        struct rp_job_saying {
                char *key;                     /* behind "JOB|" */
                char *text;                    /* the last one; NULL: taken back */
        } *sayings;                            /* of all other kinds */
        size_t saying_cnt;
        int64_t read_to;                       /* where the next reading of the topic begins; for whoever reads */
};

bool rp_job_fold_init(struct rp_job_fold *fold, const char *job);
void rp_job_fold_release(struct rp_job_fold *fold);

/** Takes a record of the topic, in its order; others' are left aside. value NULL: a tombstone. false when out of memory. */
bool rp_job_fold_add(struct rp_job_fold *fold, const void *key, size_t key_len, const void *value, size_t value_len);

/** @returns the last text of a key of another kind, such as "done|copies"; NULL: there is none. Borrowed. */
const char *rp_job_fold_said(const struct rp_job_fold *fold, const char *key);

/** @returns the epoch of the job as described, 0 when it is not. */
int64_t rp_job_fold_epoch(const struct rp_job_fold *fold);

/** Sets the marks of that topic, or of the fold's topics; others stay as they are. false when out of memory. */
bool rp_job_fold_progress(const struct rp_job_fold *fold, const char *topic, struct rp_progress *progress);

#endif
