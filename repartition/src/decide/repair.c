#include "decide/repair.h"

#include "decide/misplaced.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        IS_MARKED = 1,    /* a right record names this one as its origin */
        IS_OWN = 2,       /* a tombstone of this tool */
        IS_TOMBSTONE = 4, /* has no value */
        IS_PENDING = 8,   /* is to be written; for tombstones: the last of its key here */
        IS_OVERTAKEN = 16
};


struct rp_repair {
        struct rp_repair_config config;
        struct rp_misplaced_table table;
        struct rp_repair_counts counts;
        uint64_t pending; /* of this range */
        uint32_t serial;  /* of the open transaction */
};

static const char *const class_names[RP_CLASS_CNT] = { "safe", "stale", "split", "unknown", "copied" };

const char *rp_class_name(rp_class_t class)
{
        return class_names[class];
}

/* ---- headers ------------------------------------------------------------------------------------------------------- */

size_t rp_origin_print(char out[RP_ORIGIN_SIZE], const char *topic, int32_t partition, int64_t offset)
{
        return (size_t)snprintf(out, RP_ORIGIN_SIZE, "%.249s/%" PRId32 "/%" PRId64, topic, partition, offset);
}

bool rp_is_own_tombstone(const struct rp_record *rec)
{
        for (size_t i = 0; !rec->value && i < rec->header_cnt; i++)
                if (!strcmp(rec->headers[i].name, RP_TOMBSTONE_HEADER))
                        return true;
        return false;
}

/* Digits up to `end`; moves *at behind them. -1 when there are none or too many. */
static int64_t take_number(const char **at, const char *end)
{
        const char *first = *at;
        int64_t number = 0;

        while (*at < end && **at >= '0' && **at <= '9' && *at - first < 18)
                number = 10 * number + (*(*at)++ - '0');
        return *at > first ? number : -1;
}

bool rp_origin_read(const struct rp_record *rec, const char *topic, int32_t *partition, int64_t *offset)
{
        const struct rp_header *last = rec->header_cnt ? &rec->headers[rec->header_cnt - 1] : NULL;
        size_t topic_len = strlen(topic);
        const char *at, *end;
        int64_t p, o;

        if (!last || !last->value || strcmp(last->name, RP_ORIGIN_HEADER) || last->value_len <= topic_len ||
            memcmp(last->value, topic, topic_len))
                return false;
        at = (const char *)last->value + topic_len;
        end = (const char *)last->value + last->value_len;
        if (*at++ != '/' || (p = take_number(&at, end)) < 0 || p > INT32_MAX || at == end || *at++ != '/' ||
            (o = take_number(&at, end)) < 0 || at != end)
                return false;
        *partition = (int32_t)p;
        *offset = o;
        return true;
}

/*
 * The misplaced record that a right one is a copy of: by its content, else by its content without our mark, else by the
 * origin alone (the broker has put its own time on the copy). *by_origin: it is this very one, not any of its equals.
 */
static struct rp_misplaced *find_original(const struct rp_repair *repair, const struct rp_record *rec,
                                          struct rp_digest *digest, bool *by_origin)
{
        const struct rp_misplaced_table *table = &repair->table;
        struct rp_misplaced *found;
        int32_t partition;
        int64_t offset;

        *by_origin = false;
        *digest = rp_digest_record(rec);
        if (!rp_origin_read(rec, repair->config.topic, &partition, &offset))
                return rp_misplaced_find_content(table, *digest);
        found = rp_misplaced_find(table, partition, offset);
        if (found && !(found->flags & IS_OWN) &&
            rp_digest_equals(table->keys[found->key].id, rp_misplaced_key_id(rec->key, rec->key_len))) {
                *by_origin = true;
                *digest = found->digest;
                return found;
        }
        found = rp_misplaced_find_content(table, *digest); /* the original itself carried a mark */
        if (!found) {
                struct rp_record bare = *rec;

                bare.header_cnt--;
                *digest = rp_digest_record(&bare);
                found = rp_misplaced_find_content(table, *digest);
        }
        return found;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

rp_repair_t *rp_repair_new(const struct rp_repair_config *config)
{
        struct rp_repair *repair = calloc(1, sizeof(*repair));

        if (!repair || !rp_misplaced_init(&repair->table, config->memory_bytes)) {
                rp_repair_free(repair);
                return NULL;
        }
        repair->config = *config;
        repair->counts.oldest_ms = repair->counts.newest_ms = -1;
        return repair;
}

void rp_repair_free(rp_repair_t *repair)
{
        if (repair)
                rp_misplaced_release(&repair->table);
        free(repair);
}

void rp_repair_begin(rp_repair_t *repair, uint64_t low, uint64_t high)
{
        rp_misplaced_begin(&repair->table, low, high);
        repair->pending = 0;
        repair->serial = 1; /* keys begin with 0: no transaction */
}

/* Where the record should be; negative when the rule refuses its key. */
static int32_t home_of(const struct rp_repair *repair, const struct rp_record *rec)
{
        return kr_rule_partition(repair->config.rule, rec->key, rec->key_len, repair->config.partition_cnt);
}

rp_err_t rp_repair_note(rp_repair_t *repair, const struct rp_record *rec, struct rp_error *err)
{
        uint64_t bytes = rec->key_len + rec->value_len;
        struct rp_digest id;
        struct rp_misplaced misplaced = {
                .offset = rec->offset, .time_ms = rec->timestamp_ms, .partition = rec->partition,
                .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                .flags = (uint8_t)((rec->value ? 0 : IS_TOMBSTONE) | (rp_is_own_tombstone(rec) ? IS_OWN : 0)),
        };
        int32_t home;

        if (!rec->key)
                return RP_OK;
        id = rp_misplaced_key_id(rec->key, rec->key_len);
        if (!rp_misplaced_covers(&repair->table, id))
                return RP_OK;
        home = home_of(repair, rec);
        if (home < 0 || home == rec->partition)
                return RP_OK;
        misplaced.digest = rp_digest_record(rec);
        return rp_misplaced_add(&repair->table, id, &misplaced, err);
}

rp_err_t rp_repair_turn(rp_repair_t *repair, struct rp_error *err)
{
        return rp_misplaced_sort(&repair->table, err);
}

/* Keeps the latest time, and the latest time of another content, so that a record's own equals can be left out. */
static void note_right_time(struct rp_misplaced_key *key, int64_t time_ms, struct rp_digest digest)
{
        if (time_ms < 0) {
                key->has_timeless = true;
        } else if (key->newest_ms != INT64_MIN && rp_digest_equals(key->newest, digest)) {
                key->newest_ms = time_ms > key->newest_ms ? time_ms : key->newest_ms;
        } else if (time_ms > key->newest_ms) {
                key->second_ms = key->newest_ms;
                key->newest_ms = time_ms;
                key->newest = digest;
        } else if (time_ms > key->second_ms) {
                key->second_ms = time_ms;
        }
}

void rp_repair_meet(rp_repair_t *repair, const struct rp_record *rec)
{
        struct rp_misplaced_key *key = NULL;
        struct rp_misplaced *original;
        struct rp_digest digest;
        bool by_origin;

        if (rec->key)
                key = rp_misplaced_find_key(&repair->table, rp_misplaced_key_id(rec->key, rec->key_len));
        if (!key || home_of(repair, rec) != rec->partition || rp_is_own_tombstone(rec))
                return;
        original = find_original(repair, rec, &digest, &by_origin);
        if (by_origin && !(original->flags & IS_MARKED))
                original->flags |= IS_MARKED;
        else if (original)
                repair->table.records[original->twin].copies++;
        note_right_time(key, rec->timestamp_ms, digest);
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

static rp_class_t judge(const struct rp_misplaced *misplaced, const struct rp_misplaced_key *key)
{
        int64_t newest_ms = rp_digest_equals(key->newest, misplaced->digest) ? key->second_ms : key->newest_ms;

        if (misplaced->time_ms < 0)
                return RP_CLASS_UNKNOWN;
        if (newest_ms >= misplaced->time_ms)
                return RP_CLASS_STALE;
        if (key->has_timeless)
                return RP_CLASS_UNKNOWN;
        return key->partition == INT32_MAX ? RP_CLASS_SPLIT : RP_CLASS_SAFE;
}

/* Copies are given to the first of equals by place, so that every run comes to the same result. */
static void find_copied(struct rp_misplaced_table *table)
{
        for (uint32_t i = 0; i < table->key_cnt; i++)
                table->keys[i].partition = -1;
        for (uint32_t i = 0; i < table->record_cnt; i++) {
                struct rp_misplaced *misplaced = &table->records[i];
                struct rp_misplaced *first = &table->records[misplaced->twin];
                int32_t *partition = &table->keys[misplaced->key].partition;

                if (misplaced->flags & IS_OWN)
                        continue;
                misplaced->class = RP_CLASS_SAFE; /* for now: not copied */
                if (misplaced->flags & IS_MARKED) {
                        misplaced->class = RP_CLASS_COPIED;
                } else if (first->copies) {
                        first->copies--;
                        misplaced->class = RP_CLASS_COPIED;
                } else if (*partition < 0) {
                        *partition = misplaced->partition;
                } else if (*partition != misplaced->partition) {
                        *partition = INT32_MAX; /* several */
                }
        }
}

static void count_pending(struct rp_repair *repair, const struct rp_misplaced *misplaced)
{
        struct rp_repair_counts *counts = &repair->counts;

        repair->pending++;
        counts->pending++;
        counts->pending_bytes += misplaced->bytes;
        if (misplaced->bytes > counts->largest_bytes)
                counts->largest_bytes = misplaced->bytes;
        if (misplaced->time_ms < 0)
                return;
        counts->expired += misplaced->time_ms < repair->config.cutoff_ms;
        if (counts->oldest_ms < 0 || misplaced->time_ms < counts->oldest_ms)
                counts->oldest_ms = misplaced->time_ms;
        if (misplaced->time_ms > counts->newest_ms)
                counts->newest_ms = misplaced->time_ms;
}

enum { WAS_PENDING = 1 << RP_CLASS_CNT }; /* another bit in a key's `seen` */

/* Counts a class, or the pending ones, once a key. */
static void count_key(struct rp_misplaced_key *key, uint8_t bit, uint64_t *cnt)
{
        *cnt += !(key->seen & bit);
        key->seen |= bit;
}

static void conclude_copies(struct rp_repair *repair)
{
        struct rp_misplaced_table *table = &repair->table;
        struct rp_repair_counts *counts = &repair->counts;

        for (uint32_t i = 0; i < table->record_cnt; i++) {
                struct rp_misplaced *misplaced = &table->records[i];
                struct rp_misplaced_key *key = &table->keys[misplaced->key];

                if (misplaced->flags & IS_OWN) {
                        counts->own_tombstones++;
                        continue;
                }
                if (misplaced->class != RP_CLASS_COPIED)
                        misplaced->class = judge(misplaced, key);
                counts->records[misplaced->class]++;
                counts->bytes[misplaced->class] += misplaced->bytes;
                counts->recent += misplaced->time_ms >= repair->config.recent_ms;
                count_key(key, (uint8_t)(1 << misplaced->class), &counts->keys[misplaced->class]);
                if (repair->config.tombstones || !(repair->config.include & 1u << misplaced->class) ||
                    misplaced->class == RP_CLASS_COPIED)
                        continue;
                misplaced->flags |= IS_PENDING;
                count_key(key, WAS_PENDING, &counts->pending_keys);
                count_pending(repair, misplaced);
        }
}

/*
 * A key gets one tombstone in each wrong partition where all its records have a newer or equal one in the right
 * partition, unless its last record there is a tombstone already. Backwards, so that the last one is met first; `seen`
 * is scratch, and `partition` says for which partition.
 */
static void conclude_tombstones(struct rp_repair *repair)
{
        enum { IS_DONE = 1, IS_UNCOVERED = 2 };
        struct rp_misplaced_table *table = &repair->table;

        for (uint32_t i = 0; i < table->key_cnt; i++)
                table->keys[i].partition = -1;
        for (uint32_t i = table->record_cnt; i-- > 0;) {
                struct rp_misplaced *misplaced = &table->records[i];
                struct rp_misplaced_key *key = &table->keys[misplaced->key];

                if (key->partition != misplaced->partition) {
                        key->partition = misplaced->partition;
                        key->seen = 0;
                        if (misplaced->flags & IS_TOMBSTONE)
                                key->seen = IS_DONE;
                        else
                                misplaced->flags |= IS_PENDING; /* unless an earlier one proves uncovered */
                        key->open_ms = i;
                }
                if (!(misplaced->flags & IS_OWN) && misplaced->class != RP_CLASS_COPIED &&
                    misplaced->class != RP_CLASS_STALE) {
                        table->records[key->open_ms].flags &= (uint8_t)~IS_PENDING;
                        repair->counts.uncovered++;
                }
        }
        for (uint32_t i = 0; i < table->record_cnt; i++)
                if (table->records[i].flags & IS_PENDING) {
                        repair->counts.pending_keys++;
                        count_pending(repair, &table->records[i]);
                }
}

void rp_repair_conclude(rp_repair_t *repair)
{
        find_copied(&repair->table);
        conclude_copies(repair);
        if (repair->config.tombstones)
                conclude_tombstones(repair);
        repair->counts.ranges++;
}

uint64_t rp_repair_high(const rp_repair_t *repair)
{
        return repair->table.high;
}

uint64_t rp_repair_pending(const rp_repair_t *repair)
{
        return repair->pending;
}

uint64_t rp_repair_pending_from(const rp_repair_t *repair, int32_t partition, int64_t offset)
{
        const struct rp_misplaced_table *table = &repair->table;
        uint64_t cnt = 0;

        for (uint32_t i = rp_misplaced_start(table, partition);
             i < table->record_cnt && table->records[i].partition == partition; i++)
                cnt += table->records[i].flags & IS_PENDING && table->records[i].offset >= offset;
        return cnt;
}

struct rp_repair_span rp_repair_span(const rp_repair_t *repair, int32_t partition)
{
        const struct rp_misplaced_table *table = &repair->table;
        struct rp_repair_span span = { 0 };

        for (uint32_t i = rp_misplaced_start(table, partition);
             i < table->record_cnt && table->records[i].partition == partition; i++)
                if (table->records[i].flags & IS_PENDING) {
                        if (!span.end)
                                span.first = table->records[i].offset;
                        span.end = table->records[i].offset + 1;
                }
        return span;
}

const struct rp_repair_counts *rp_repair_counts(const rp_repair_t *repair)
{
        return &repair->counts;
}

bool rp_repair_class(const rp_repair_t *repair, int32_t partition, int64_t offset, rp_class_t *class)
{
        const struct rp_misplaced *misplaced = rp_misplaced_find(&repair->table, partition, offset);

        if (!misplaced || misplaced->flags & IS_OWN)
                return false;
        *class = misplaced->class;
        return true;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

static bool is_overtaken(const struct rp_repair *repair, const struct rp_misplaced *misplaced,
                         const struct rp_misplaced_key *key)
{
        if (repair->config.tombstones)
                return key->is_touched;
        return !(repair->config.include & 1u << RP_CLASS_STALE) && key->tail_ms != INT64_MIN &&
               key->tail_ms >= misplaced->time_ms;
}

int32_t rp_repair_decide(rp_repair_t *repair, const struct rp_record *rec)
{
        struct rp_misplaced *misplaced = rp_misplaced_find(&repair->table, rec->partition, rec->offset);
        struct rp_misplaced_key *key;

        if (!misplaced || !(misplaced->flags & IS_PENDING))
                return RP_REPAIR_SKIP;
        key = &repair->table.keys[misplaced->key];
        if (is_overtaken(repair, misplaced, key)) {
                misplaced->flags |= IS_OVERTAKEN;
                return RP_REPAIR_SKIP;
        }
        return repair->config.tombstones ? rec->partition : home_of(repair, rec);
}

void rp_repair_begin_transaction(rp_repair_t *repair)
{
        repair->serial++;
}

void rp_repair_append(rp_repair_t *repair, const struct rp_record *rec)
{
        const struct rp_misplaced *misplaced = rp_misplaced_find(&repair->table, rec->partition, rec->offset);
        struct rp_misplaced_key *key = &repair->table.keys[misplaced->key];

        if (key->open_serial != repair->serial) {
                key->open_cnt = key->placed_cnt = 0;
                key->open_ms = misplaced->time_ms;
        } else if (misplaced->time_ms < key->open_ms) {
                key->open_ms = misplaced->time_ms;
        }
        key->open_serial = repair->serial;
        key->open_cnt++;
}

bool rp_repair_arrive(rp_repair_t *repair, const struct rp_record *rec)
{
        struct rp_misplaced_key *key = NULL;
        struct rp_digest digest;
        bool by_origin, is_right;
        int64_t time_ms = rec->timestamp_ms < 0 ? INT64_MAX : rec->timestamp_ms;

        if (rec->key)
                key = rp_misplaced_find_key(&repair->table, rp_misplaced_key_id(rec->key, rec->key_len));
        if (!key || rp_is_own_tombstone(rec))
                return true;
        is_right = home_of(repair, rec) == rec->partition;
        if (repair->config.tombstones) {
                key->is_touched |= !is_right;
                return is_right || key->open_serial != repair->serial;
        }
        if (!is_right || repair->config.include & 1u << RP_CLASS_STALE)
                return true;
        if (find_original(repair, rec, &digest, &by_origin)) {
                key->placed_cnt++;
                return true;
        }
        if (time_ms > key->tail_ms)
                key->tail_ms = time_ms;
        /* Behind all of its key's copies it is where it belongs; records of a key arrive in the order of the log. */
        return key->open_serial != repair->serial || key->placed_cnt >= key->open_cnt || time_ms < key->open_ms;
}

bool rp_repair_is_copy(const rp_repair_t *repair, const struct rp_record *rec, int32_t *partition, int64_t *offset)
{
        const struct rp_misplaced *original;
        struct rp_digest digest;
        bool by_origin;

        if (!rec->key || !rp_misplaced_find_key(&repair->table, rp_misplaced_key_id(rec->key, rec->key_len)) ||
            home_of(repair, rec) != rec->partition)
                return false;
        original = find_original(repair, rec, &digest, &by_origin);
        if (!original)
                return false;
        *partition = original->partition;
        *offset = original->offset;
        return true;
}

uint64_t rp_repair_overtaken(const rp_repair_t *repair)
{
        uint64_t cnt = 0;

        for (uint32_t i = 0; i < repair->table.record_cnt; i++)
                cnt += (repair->table.records[i].flags & IS_OVERTAKEN) != 0;
        return cnt;
}
