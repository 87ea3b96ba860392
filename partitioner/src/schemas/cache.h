/**
 * The cache of plans, by what a frame says. Looking up takes no lock and allocates nothing; all else is done under the
 * one lock of whoever owns the cache ("the owner's lock" below), which no lookup needs.
 *
 * A reader counts itself in one of two groups while it holds a plan. What was taken out of the cache is freed once each
 * group was seen empty: then whoever might still have held it has left, and whoever came later cannot have found it. New
 * readers are sent to the other group meanwhile, so that the first becomes empty however busy the cache is.
 */
#ifndef KR_CACHE_H
#define KR_CACHE_H

#include "../hash/md5.h"
#include "../key/avro_plan.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum {
        KR_KEY_BY_ID,
        KR_KEY_BY_GUID,
        KR_KEY_BY_SUBJECT, /* the one that the view names */
        KR_KEY_AHEAD       /* no schema: the errand to read a subject ahead */
} kr_cache_kind_t;

struct kr_cache_key {
        const void *view;
        kr_cache_kind_t kind;
        int64_t id;             /* 0 but for BY_ID */
        unsigned char guid[16]; /* zero but for BY_GUID */
};

/** A plan, shared by all entries of one view whose schemas are the same. Never changes. */
struct kr_shared_plan {
        struct kr_avro_plan *plan; /* NULL: no field can be taken out of this schema's data */
        const void *view;
        unsigned char digest[KR_MD5_SIZE]; /* of the schema */
        size_t user_cnt;                   /* entries; under the owner's lock */
        struct kr_shared_plan *next;       /* of the list of all, or of the retired ones */
};

typedef enum {
        KR_ENTRY_NEW,     /* to be asked for, or evicted since */
        KR_ENTRY_PENDING, /* queued or being asked for */
        KR_ENTRY_READY,   /* has a plan */
        KR_ENTRY_BAD      /* there was no answer that helps; may be asked for again once quiet_until is over */
} kr_entry_state_t;

struct kr_entry {
        /* For lookups. */
        _Atomic(struct kr_entry *) next; /* of the bucket */
        struct kr_cache_key key;
        _Atomic(struct kr_shared_plan *) plan;
        _Atomic int64_t quiet_until; /* monotonic ns: before, a record without a plan needs not come to the lock */
        atomic_bool used;            /* since the evicting hand last passed */

        /* Under the owner's lock. */
        kr_entry_state_t state;
        bool is_pinned; /* never evicted */
        bool is_queued, is_running;
        bool has_digest, has_lied, was_told;
        unsigned char digest[KR_MD5_SIZE]; /* of the first schema that came for this key: the only one that is taken */
        unsigned attempt_cnt;
        unsigned waiter_cnt;
        int64_t wait_until, due; /* monotonic ns */
        struct kr_entry *queue_next;
        struct kr_entry *ring_next, *ring_prev; /* of all entries */
        struct kr_entry *retired_next;
};

enum { KR_READER_STRIPES = 16 };

struct kr_cache {
        _Atomic(struct kr_entry *) *buckets;
        size_t bucket_cnt; /* a power of two */
        size_t plan_max, entry_max;

        /* The readers. */
        struct {
                _Alignas(64) atomic_ulong cnt[2];
        } readers[KR_READER_STRIPES];
        atomic_uint group;

        /* Under the owner's lock. */
        struct kr_entry *hand; /* in the ring of entries; NULL when there are none */
        struct kr_shared_plan *plans;
        size_t entry_cnt, planned_cnt;
        uint64_t eviction_cnt;
        struct kr_entry *retired_entries;
        struct kr_shared_plan *retired_plans;

        pthread_mutex_t reclaiming; /* one at a time */
};

bool kr_cache_init(struct kr_cache *cache, size_t plan_max);

/** No reader may be left. */
void kr_cache_release(struct kr_cache *cache);

/** Between these two a plan that was found stays. @returns what the end is to be told. */
unsigned kr_cache_enter(struct kr_cache *cache);
void kr_cache_leave(struct kr_cache *cache, unsigned ticket);

/** @returns the entry, or NULL. As a reader, or under the owner's lock. */
struct kr_entry *kr_cache_find(const struct kr_cache *cache, const struct kr_cache_key *key);

/* ---- under the owner's lock --------------------------------------------------------------------------------- */

/** A new entry; an old one may have to go. NULL when none can, or memory is out. */
struct kr_entry *kr_cache_insert(struct kr_cache *cache, const struct kr_cache_key *key);

/** The plan that this view made of the schema of this digest already, or NULL. */
struct kr_shared_plan *kr_cache_shared(struct kr_cache *cache, const void *view, const unsigned char *digest);

/** Takes a new plan into the list of all, with no user yet. */
void kr_cache_share(struct kr_cache *cache, struct kr_shared_plan *plan);

/** Gives an entry its plan. Another entry's plan may have to go. */
void kr_cache_publish(struct kr_cache *cache, struct kr_entry *entry, struct kr_shared_plan *plan);

/* ---- without it ------------------------------------------------------------------------------------------------ */

/** Frees what was taken out, waiting for the readers that may hold it. `lock` is the owner's, not held. */
void kr_cache_reclaim(struct kr_cache *cache, pthread_mutex_t *lock);

#endif
