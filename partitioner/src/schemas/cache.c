#include "cache.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

bool kr_cache_init(struct kr_cache *cache, size_t plan_max)
{
        *cache = (struct kr_cache){ .plan_max = plan_max };
        /* Bad ids and the digests of evicted schemas are small and worth remembering beyond the plans. */
        cache->entry_max = 4 * plan_max + 1024;
        cache->bucket_cnt = 1024;
        while (cache->bucket_cnt < cache->entry_max)
                cache->bucket_cnt *= 2;
        cache->buckets = calloc(cache->bucket_cnt, sizeof(*cache->buckets));
        return cache->buckets && !pthread_mutex_init(&cache->reclaiming, NULL);
}

/* ---- readers --------------------------------------------------------------------------------------------------- */

unsigned kr_cache_enter(struct kr_cache *cache)
{
        /* Threads are told apart by where their control blocks lie; a shared counter would be passed between cores. */
        uint64_t thread = (uint64_t)(uintptr_t)pthread_self() * 0x9e3779b97f4a7c15u;
        unsigned stripe = (unsigned)(thread >> 60);
        unsigned group = atomic_load(&cache->group) & 1;

        atomic_fetch_add(&cache->readers[stripe].cnt[group], 1);
        return stripe << 1 | group;
}

void kr_cache_leave(struct kr_cache *cache, unsigned ticket)
{
        atomic_fetch_sub_explicit(&cache->readers[ticket >> 1].cnt[ticket & 1], 1, memory_order_release);
}

static void await_empty(struct kr_cache *cache, unsigned group)
{
        static const struct timespec pause = { 0, 200000 };

        for (unsigned stripe = 0; stripe < KR_READER_STRIPES; stripe++)
                while (atomic_load(&cache->readers[stripe].cnt[group]))
                        nanosleep(&pause, NULL);
}

/* ---- lookups --------------------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct kr_cache *cache, const struct kr_cache_key *key)
{
        uint64_t hash = (uint64_t)(uintptr_t)key->view ^ (uint64_t)key->id ^ (uint64_t)key->kind << 56;
        uint64_t halves[2];

        memcpy(halves, key->guid, sizeof(halves));
        hash = (hash ^ halves[0] ^ (halves[1] << 1)) * 0x9e3779b97f4a7c15u;
        return (size_t)(hash ^ hash >> 32) & (cache->bucket_cnt - 1);
}

static bool same_key(const struct kr_cache_key *a, const struct kr_cache_key *b)
{
        return a->view == b->view && a->id == b->id && a->kind == b->kind && !memcmp(a->guid, b->guid, sizeof(a->guid));
}

struct kr_entry *kr_cache_find(const struct kr_cache *cache, const struct kr_cache_key *key)
{
        struct kr_entry *entry = atomic_load(&cache->buckets[bucket_of(cache, key)]);

        while (entry && !same_key(&entry->key, key))
                entry = atomic_load(&entry->next);
        return entry;
}

/* ---- what the owner does -------------------------------------------------------------------------------------- */

static void unlink_entry(struct kr_cache *cache, struct kr_entry *entry)
{
        _Atomic(struct kr_entry *) *at = &cache->buckets[bucket_of(cache, &entry->key)];

        while (atomic_load(at) != entry)
                at = &atomic_load(at)->next;
        /* Its own `next` stays: a reader may stand on it. */
        atomic_store(at, atomic_load(&entry->next));
        if (entry->ring_next == entry) {
                cache->hand = NULL;
        } else {
                entry->ring_prev->ring_next = entry->ring_next;
                entry->ring_next->ring_prev = entry->ring_prev;
                if (cache->hand == entry)
                        cache->hand = entry->ring_next;
        }
        cache->entry_cnt--;
        entry->retired_next = cache->retired_entries;
        cache->retired_entries = entry;
}

static void drop_plan(struct kr_cache *cache, struct kr_entry *entry)
{
        struct kr_shared_plan *plan = atomic_load(&entry->plan);
        struct kr_shared_plan **at = &cache->plans;

        atomic_store(&entry->plan, NULL);
        atomic_store(&entry->quiet_until, 0);
        entry->state = KR_ENTRY_NEW;
        cache->planned_cnt--;
        if (--plan->user_cnt)
                return;
        while (*at != plan)
                at = &(*at)->next;
        *at = plan->next;
        plan->next = cache->retired_plans;
        cache->retired_plans = plan;
}

/* The hand goes round: who was used since it last passed is spared once. At most two rounds. */
static bool evict_plan(struct kr_cache *cache)
{
        for (size_t left = 2 * cache->entry_cnt; left && cache->hand; left--) {
                struct kr_entry *entry = cache->hand;

                cache->hand = entry->ring_next;
                if (entry->is_pinned || entry->waiter_cnt || !atomic_load(&entry->plan) ||
                    atomic_exchange(&entry->used, false))
                        continue;
                drop_plan(cache, entry);
                cache->eviction_cnt++;
                return true;
        }
        return false;
}

/* Takes one entry out: one that holds no plan, if there is any. */
static bool evict_entry(struct kr_cache *cache)
{
        for (int with_plan = 0; with_plan < 2; with_plan++)
                for (size_t left = 2 * cache->entry_cnt; left && cache->hand; left--) {
                        struct kr_entry *entry = cache->hand;

                        cache->hand = entry->ring_next;
                        if (entry->is_pinned || entry->waiter_cnt || entry->is_queued || entry->is_running ||
                            (!with_plan && atomic_load(&entry->plan)) || atomic_exchange(&entry->used, false))
                                continue;
                        if (atomic_load(&entry->plan)) {
                                drop_plan(cache, entry);
                                cache->eviction_cnt++;
                        }
                        unlink_entry(cache, entry);
                        return true;
                }
        return false;
}

struct kr_entry *kr_cache_insert(struct kr_cache *cache, const struct kr_cache_key *key)
{
        _Atomic(struct kr_entry *) *bucket = &cache->buckets[bucket_of(cache, key)];
        struct kr_entry *entry;

        if (cache->entry_cnt >= cache->entry_max && !evict_entry(cache))
                return NULL;
        entry = calloc(1, sizeof(*entry));
        if (!entry)
                return NULL;
        entry->key = *key;
        if (cache->hand) { /* behind the hand: the last that it comes to */
                entry->ring_next = cache->hand;
                entry->ring_prev = cache->hand->ring_prev;
                entry->ring_prev->ring_next = entry->ring_next->ring_prev = entry;
        } else {
                cache->hand = entry->ring_next = entry->ring_prev = entry;
        }
        cache->entry_cnt++;
        atomic_store(&entry->next, atomic_load(bucket));
        atomic_store(bucket, entry);
        return entry;
}

struct kr_shared_plan *kr_cache_shared(struct kr_cache *cache, const void *view, const unsigned char *digest)
{
        struct kr_shared_plan *plan = cache->plans;

        while (plan && (plan->view != view || memcmp(plan->digest, digest, sizeof(plan->digest))))
                plan = plan->next;
        return plan;
}

void kr_cache_share(struct kr_cache *cache, struct kr_shared_plan *plan)
{
        plan->next = cache->plans;
        cache->plans = plan;
}

void kr_cache_publish(struct kr_cache *cache, struct kr_entry *entry, struct kr_shared_plan *plan)
{
        plan->user_cnt++; /* first, so that the eviction below cannot take this very plan */
        /* Those that records wait for are spared, so that for a moment there may be more than the limit. */
        while (cache->planned_cnt >= cache->plan_max && evict_plan(cache))
                ;
        cache->planned_cnt++;
        entry->state = KR_ENTRY_READY;
        atomic_store(&entry->used, true);
        atomic_store(&entry->plan, plan);
}

/* ---- the end of what was taken out --------------------------------------------------------------------------- */

static void free_retired(struct kr_entry *entries, struct kr_shared_plan *plans)
{
        while (entries) {
                struct kr_entry *next = entries->retired_next;

                free(entries);
                entries = next;
        }
        while (plans) {
                struct kr_shared_plan *next = plans->next;

                kr_avro_plan_free(plans->plan);
                free(plans);
                plans = next;
        }
}

void kr_cache_reclaim(struct kr_cache *cache, pthread_mutex_t *lock)
{
        struct kr_entry *entries;
        struct kr_shared_plan *plans;

        pthread_mutex_lock(&cache->reclaiming);
        pthread_mutex_lock(lock);
        entries = cache->retired_entries;
        plans = cache->retired_plans;
        cache->retired_entries = NULL;
        cache->retired_plans = NULL;
        pthread_mutex_unlock(lock);
        if (entries || plans) {
                /* Each group is left alone once, and seen empty. */
                for (int i = 0; i < 2; i++)
                        await_empty(cache, atomic_fetch_xor(&cache->group, 1) & 1);
                free_retired(entries, plans);
        }
        pthread_mutex_unlock(&cache->reclaiming);
}

void kr_cache_release(struct kr_cache *cache)
{
        if (!cache->buckets)
                return;
        while (cache->hand) {
                struct kr_entry *entry = cache->hand;

                if (atomic_load(&entry->plan))
                        drop_plan(cache, entry);
                unlink_entry(cache, entry);
        }
        free_retired(cache->retired_entries, cache->retired_plans);
        free_retired(NULL, cache->plans); /* a plan that no entry came to use */
        free(cache->buckets);
        pthread_mutex_destroy(&cache->reclaiming);
}
