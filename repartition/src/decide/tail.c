#include "decide/tail.h"

#include "decide/digest.h"
#include "decide/misplaced.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 1024 };

/* A record, of a right partition or of the past of a wrong one. Chained with others of its key, the latest told first. */
struct entry {
        uint64_t key, content; /* content: without our mark */
        int64_t time_ms;
        int64_t offset;        /* where it is (past), or where it was copied from by its mark; -1: not known */
        int32_t partition;     /* likewise */
        uint32_t next;         /* index + 1 */
};

struct table {
        struct entry *entries;
        uint32_t cnt, cap;
        uint32_t *slots;       /* index + 1 of a chain's first; a power of two */
        uint32_t slot_cnt;
};

struct rp_tail {
        const char *topic;
        struct table closed, open, past;
};

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static void table_clear(struct table *table)
{
        if (table->cnt)
                memset(table->slots, 0, table->slot_cnt * sizeof(*table->slots));
        table->cnt = 0;
}

static bool table_grow(struct table *table)
{
        uint32_t cap = table->cap ? 2 * table->cap : SLOTS_MIN / 2;
        struct entry *entries = realloc(table->entries, cap * sizeof(*entries));
        uint32_t *slots;

        if (!entries)
                return false;
        table->entries = entries;
        slots = calloc((size_t)2 * cap, sizeof(*slots));
        if (!slots)
                return false;
        free(table->slots);
        table->slots = slots;
        table->slot_cnt = 2 * cap;
        table->cap = cap;
        for (uint32_t i = 0; i < table->cnt; i++) {
                uint32_t *slot = &slots[entries[i].key & (table->slot_cnt - 1)];

                entries[i].next = *slot;
                *slot = i + 1;
        }
        return true;
}

static bool table_add(struct table *table, const struct entry *entry)
{
        uint32_t *slot;

        if (table->cnt == table->cap && !table_grow(table))
                return false;
        slot = &table->slots[entry->key & (table->slot_cnt - 1)];
        table->entries[table->cnt] = *entry;
        table->entries[table->cnt].next = *slot;
        *slot = ++table->cnt;
        return true;
}

/* The next entry of that key; begin with at NULL. */
static const struct entry *table_next(const struct table *table, uint64_t key, const struct entry *at)
{
        uint32_t index;

        if (!table->cnt)
                return NULL;
        index = at ? at->next : table->slots[key & (table->slot_cnt - 1)];
        while (index && table->entries[index - 1].key != key)
                index = table->entries[index - 1].next;
        return index ? &table->entries[index - 1] : NULL;
}

static void table_release(struct table *table)
{
        free(table->entries);
        free(table->slots);
}

/* ---- telling ------------------------------------------------------------------------------------------------------- */

rp_tail_t *rp_tail_new(const char *topic)
{
        struct rp_tail *tail = calloc(1, sizeof(*tail));

        if (tail)
                tail->topic = topic;
        return tail;
}

void rp_tail_free(rp_tail_t *tail)
{
        if (!tail)
                return;
        table_release(&tail->closed);
        table_release(&tail->open);
        table_release(&tail->past);
        free(tail);
}

void rp_tail_clear(rp_tail_t *tail)
{
        table_clear(&tail->closed);
        rp_tail_turn(tail);
}

size_t rp_tail_cnt(const rp_tail_t *tail)
{
        return (size_t)tail->closed.cnt + tail->open.cnt + tail->past.cnt;
}

void rp_tail_turn(rp_tail_t *tail)
{
        table_clear(&tail->open);
        table_clear(&tail->past);
}

/* A record as an entry, its mark taken off; the place is the mark's. */
static struct entry describe(const struct rp_tail *tail, const struct rp_record *rec)
{
        struct entry entry = { .key = rp_misplaced_key_id(rec->key, rec->key_len).high, .time_ms = rec->timestamp_ms,
                               .offset = -1, .partition = -1 };
        struct rp_record bare = *rec;

        if (rp_origin_read(rec, tail->topic, &entry.partition, &entry.offset))
                bare.header_cnt--;
        entry.content = rp_digest_record(&bare).low;
        return entry;
}

bool rp_tail_add(rp_tail_t *tail, const struct rp_record *rec, bool is_open)
{
        struct entry entry;

        if (!rec->key)
                return true;
        entry = describe(tail, rec);
        return table_add(is_open ? &tail->open : &tail->closed, &entry);
}

bool rp_tail_add_past(rp_tail_t *tail, const struct rp_record *rec)
{
        struct entry entry;

        if (!rec->key)
                return true;
        entry = describe(tail, rec);
        entry.partition = rec->partition;
        entry.offset = rec->offset;
        return table_add(&tail->past, &entry);
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

/* How many earlier records of its own partition have that content. */
static size_t count_past(const struct rp_tail *tail, const struct rp_record *rec, uint64_t key, uint64_t content)
{
        size_t cnt = 0;

        for (const struct entry *at = NULL; (at = table_next(&tail->past, key, at));)
                cnt += at->content == content && at->partition == rec->partition && at->offset < rec->offset;
        return cnt;
}

/* Whether what the right partition holds there is newer than rec, as far as is known. */
static bool is_newer(const struct rp_tail *tail, const struct entry *held, const struct rp_record *rec,
                     const struct entry *self, bool *needs_past)
{
        if (held->time_ms < rec->timestamp_ms || held->content == self->content)
                return false;
        if (held->offset >= 0)
                return held->partition != rec->partition || held->offset > rec->offset;
        if (needs_past)
                *needs_past = true;
        return needs_past || !count_past(tail, rec, self->key, held->content);
}

rp_class_t rp_tail_class(const rp_tail_t *tail, const struct rp_record *rec, bool *needs_past)
{
        struct entry self = describe(tail, rec);
        bool is_stale = false, has_timeless = false, is_copied = false;
        size_t equals = 0; /* right records of its content that do not say where they come from */

        if (needs_past)
                *needs_past = false;
        for (const struct entry *at = NULL; (at = table_next(&tail->closed, self.key, at));) {
                if (at->offset >= 0)
                        is_copied |= at->partition == rec->partition && at->offset == rec->offset;
                else
                        equals += at->content == self.content;
                has_timeless |= at->time_ms < 0;
                is_stale |= is_newer(tail, at, rec, &self, needs_past);
        }
        for (const struct entry *at = NULL; (at = table_next(&tail->open, self.key, at));)
                is_stale |= is_newer(tail, at, rec, &self, needs_past);
        /* Of equal ones the first copies are those of the earlier ones. */
        if (equals && needs_past)
                *needs_past = true;
        if (is_copied || (equals && (needs_past || equals > count_past(tail, rec, self.key, self.content))))
                return RP_CLASS_COPIED;
        if (is_stale)
                return RP_CLASS_STALE;
        return rec->timestamp_ms < 0 || has_timeless ? RP_CLASS_UNKNOWN : RP_CLASS_SAFE;
}

bool rp_tail_is_undecided(const rp_tail_t *tail, const struct rp_record *rec)
{
        struct entry self = describe(tail, rec);

        for (const struct entry *at = NULL; (at = table_next(&tail->closed, self.key, at));)
                if (is_newer(tail, at, rec, &self, NULL))
                        return false;
        for (const struct entry *at = NULL; (at = table_next(&tail->open, self.key, at));)
                if (is_newer(tail, at, rec, &self, NULL))
                        return true;
        return false;
}
