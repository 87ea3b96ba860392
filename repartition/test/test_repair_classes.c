/*
 * The class of each misplaced record: cases one by one, and random topics against a recount that compares every record
 * with every other one, byte by byte, and knows no hashes, tables or ranges.
 */
#include "decide/repair.h"
#include "java_rule.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 5, MEMORY = 1 << 20 };

static unsigned random_state;

static unsigned any(unsigned below)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (random_state >> 16) % below;
}

static int32_t home_of(const struct rp_record *rec)
{
        return kr_rule_partition(rule, rec->key, rec->key_len, PARTITIONS);
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static void read_once(rp_repair_t *repair, const struct memory_topic *topic, bool first, bool backwards)
{
        struct rp_error err;

        for (int32_t i = 0; i < topic->partition_cnt; i++) {
                const struct memory_log *log = &topic->logs[backwards ? topic->partition_cnt - 1 - i : i];

                for (size_t at = 0; at < log->cnt; at++)
                        if (first)
                                assert_int_equal(rp_repair_note(repair, &log->records[at], &err), RP_OK);
                        else
                                rp_repair_meet(repair, &log->records[at]);
        }
}

/* Judges from `low` on. @returns the end of the range. */
static uint64_t judge(rp_repair_t *repair, const struct memory_topic *topic, uint64_t low)
{
        struct rp_error err;

        rp_repair_begin(repair, low, UINT64_MAX);
        read_once(repair, topic, true, any(2));
        assert_int_equal(rp_repair_turn(repair, &err), RP_OK);
        read_once(repair, topic, false, any(2));
        rp_repair_conclude(repair);
        return rp_repair_high(repair);
}

static rp_repair_t *judge_with(struct rp_repair_config config, const struct memory_topic *topic)
{
        rp_repair_t *repair;

        config.rule = rule;
        config.partition_cnt = PARTITIONS;
        config.topic = "t";
        config.memory_bytes = config.memory_bytes ? config.memory_bytes : MEMORY;
        repair = rp_repair_new(&config);
        assert_non_null(repair);
        assert_true(judge(repair, topic, 0) == UINT64_MAX);
        return repair;
}

/* ---- the recount -------------------------------------------------------------------------------------------------- */

static bool same_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
        return !a == !b && a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

/* The first header_cnt headers of b count. */
static bool same_content(const struct rp_record *a, const struct rp_record *b, size_t header_cnt)
{
        if (!same_bytes(a->key, a->key_len, b->key, b->key_len) || a->timestamp_ms != b->timestamp_ms ||
            !same_bytes(a->value, a->value_len, b->value, b->value_len) || a->header_cnt != header_cnt)
                return false;
        for (size_t i = 0; i < header_cnt; i++)
                if (strcmp(a->headers[i].name, b->headers[i].name) ||
                    !same_bytes(a->headers[i].value, a->headers[i].value_len, b->headers[i].value, b->headers[i].value_len))
                        return false;
        return true;
}

static bool is_own(const struct rp_record *rec)
{
        for (size_t i = 0; i < rec->header_cnt; i++)
                if (!strcmp(rec->headers[i].name, "keyroute.tombstone") && !rec->value)
                        return true;
        return false;
}

struct finding {
        const struct rp_record *rec;
        rp_class_t class;
        bool is_copied;
};

/* The finding that the right record names as its origin, or NULL. */
static struct finding *origin_of(struct finding *found, size_t cnt, const struct rp_record *right)
{
        const struct rp_header *last = right->header_cnt ? &right->headers[right->header_cnt - 1] : NULL;
        char text[64];

        for (size_t i = 0; last && last->value && i < cnt; i++) {
                int len = snprintf(text, sizeof(text), "t/%d/%lld", (int)found[i].rec->partition,
                                   (long long)found[i].rec->offset);

                if (!strcmp(last->name, "keyroute.origin") && same_bytes(text, (size_t)len, last->value, last->value_len) &&
                    same_bytes(found[i].rec->key, found[i].rec->key_len, right->key, right->key_len))
                        return &found[i];
        }
        return NULL;
}

static bool names_origin(const struct rp_record *rec)
{
        const struct rp_header *last = rec->header_cnt ? &rec->headers[rec->header_cnt - 1] : NULL;
        char text[64];
        int p, end = 0;
        long long offset;

        if (!last || !last->value || strcmp(last->name, "keyroute.origin") || last->value_len >= sizeof(text))
                return false;
        memcpy(text, last->value, last->value_len);
        text[last->value_len] = '\0';
        return !strchr(text, '-') && sscanf(text, "t/%d/%lld%n", &p, &offset, &end) == 2 &&
               (size_t)end == last->value_len;
}

/* A record in its right partition, and what it counts as: itself, itself without its mark, or its original. */
struct right {
        const struct rp_record *rec, *as;
        size_t header_cnt;
        struct finding *origin;
        bool is_used;
};

static void see_through(struct right *right, struct finding *found, size_t cnt)
{
        right->origin = origin_of(found, cnt, right->rec);
        right->as = right->origin ? right->origin->rec : right->rec;
        right->header_cnt = right->as->header_cnt;
        if (right->origin || !names_origin(right->rec))
                return;
        for (size_t i = 0; i < cnt; i++) /* a mark that belongs to an original's own content stays */
                if (same_content(found[i].rec, right->rec, right->header_cnt))
                        return;
        right->header_cnt--;
}

static bool equals_right(const struct finding *own, const struct right *right)
{
        return same_content(own->rec, right->as, right->header_cnt);
}

static size_t recount(const struct memory_topic *topic, struct finding *found)
{
        struct right rights[2000];
        size_t cnt = 0, right_cnt = 0;

        for (int32_t p = 0; p < topic->partition_cnt; p++)
                for (size_t i = 0; i < topic->logs[p].cnt; i++) {
                        const struct rp_record *rec = &topic->logs[p].records[i];

                        if (!rec->key || is_own(rec))
                                continue;
                        if (home_of(rec) == p)
                                rights[right_cnt++] = (struct right){ .rec = rec };
                        else
                                found[cnt++] = (struct finding){ .rec = rec };
                }
        for (size_t r = 0; r < right_cnt; r++) {
                see_through(&rights[r], found, cnt);
                rights[r].is_used = rights[r].origin && !rights[r].origin->is_copied;
                if (rights[r].is_used)
                        rights[r].origin->is_copied = true;
        }
        for (size_t r = 0; r < right_cnt; r++)
                for (size_t i = 0; !rights[r].is_used && i < cnt; i++)
                        if (!found[i].is_copied && equals_right(&found[i], &rights[r]))
                                rights[r].is_used = found[i].is_copied = true;
        for (size_t i = 0; i < cnt; i++) {
                const struct rp_record *own = found[i].rec;
                bool is_stale = false, is_timeless = own->timestamp_ms < 0, is_split = false;

                for (size_t r = 0; r < right_cnt; r++) {
                        const struct rp_record *right = rights[r].rec;

                        if (!same_bytes(own->key, own->key_len, right->key, right->key_len))
                                continue;
                        is_timeless |= right->timestamp_ms < 0;
                        is_stale |= own->timestamp_ms >= 0 && right->timestamp_ms >= own->timestamp_ms &&
                                    !equals_right(&found[i], &rights[r]);
                }
                for (size_t other = 0; other < cnt; other++)
                        is_split |= !found[other].is_copied && found[other].rec->partition != own->partition &&
                                    same_bytes(own->key, own->key_len, found[other].rec->key, found[other].rec->key_len);
                found[i].class = found[i].is_copied ? RP_CLASS_COPIED
                                 : is_stale         ? RP_CLASS_STALE
                                 : is_timeless      ? RP_CLASS_UNKNOWN
                                 : is_split         ? RP_CLASS_SPLIT
                                                    : RP_CLASS_SAFE;
        }
        return cnt;
}

/* ---- random topics ------------------------------------------------------------------------------------------------ */

static void add_random(struct memory_topic *topic, unsigned keys, unsigned times)
{
        char key[16], origin[64];
        struct rp_header headers[3];
        struct rp_record rec = { .headers = headers };
        unsigned which = any(keys + 2);

        rec.key = which ? key : NULL;
        if (which)
                rec.key_len = which == 1 ? 0 : (size_t)snprintf(key, sizeof(key), "k%u", which);
        if (any(4)) {
                rec.value = any(2) ? "a" : "bc";
                rec.value_len = any(3) ? strlen(rec.value) : 0;
        }
        rec.timestamp_ms = any(12) ? (int64_t)any(times) : -1;
        if (!any(4))
                headers[rec.header_cnt++] = (struct rp_header){ "h", any(2) ? "1" : NULL, 0 };
        if (!any(8))
                headers[rec.header_cnt++] = (struct rp_header){ "keyroute.tombstone", "repair", 6 };
        if (!any(3)) {
                static const char *const forms[] = { "t/%d/%d", "t/%d/%d", "t/%d/%d", "t/%d/%d/", "other/%d/%d", "t/%dx%d",
                                                     "tt/%d/%d", "t/-%d/%d" };

                snprintf(origin, sizeof(origin), forms[any(8)], any(PARTITIONS), any(12));
                headers[rec.header_cnt++] = (struct rp_header){ any(9) ? "keyroute.origin" : "other", origin, strlen(origin) };
        }
        memory_topic_add(topic, (int32_t)any(PARTITIONS), &rec, any(6) ? 0 : 1);
}

/* An equal record, or one that names its origin, where the rule puts the key. */
static void add_copy(struct memory_topic *topic)
{
        const struct memory_log *log = &topic->logs[any(PARTITIONS)];
        struct rp_header headers[8];
        struct rp_record rec;
        char origin[RP_ORIGIN_SIZE];

        if (!log->cnt)
                return;
        rec = log->records[any((unsigned)log->cnt)];
        if (!rec.key)
                return;
        if (any(2) && rec.header_cnt < sizeof(headers) / sizeof(*headers)) {
                if (rec.header_cnt)
                        memcpy(headers, rec.headers, rec.header_cnt * sizeof(*headers));
                rp_origin_print(origin, "t", rec.partition, rec.offset);
                headers[rec.header_cnt++] = (struct rp_header){ "keyroute.origin", origin, strlen(origin) };
                rec.headers = headers;
                if (!any(4))
                        rec.timestamp_ms += 3; /* as a broker with times of its own would */
        }
        memory_topic_add(topic, home_of(&rec), &rec, 0);
}

static void fill(struct memory_topic *topic, unsigned cnt, unsigned keys, unsigned times)
{
        for (unsigned i = 0; i < cnt; i++)
                if (any(4))
                        add_random(topic, keys, times);
                else
                        add_copy(topic);
}

static void test_random_topics_are_judged_as_a_recount_does(void **state)
{
        struct finding found[2000];
        uint64_t seen[RP_CLASS_CNT] = { 0 };

        (void)state;
        for (unsigned seed = 0; seed < 3000; seed++) {
                struct memory_topic topic;
                uint64_t records[RP_CLASS_CNT] = { 0 }, pending = 0;
                struct rp_repair_config config = { 0 };
                const struct rp_repair_counts *counts;
                rp_repair_t *repair;
                size_t cnt;

                random_state = seed;
                memory_topic_init(&topic, PARTITIONS);
                fill(&topic, any(60), 1 + any(6), 1 + any(12));
                config.include = any(1 << RP_CLASS_CNT);
                repair = judge_with(config, &topic);
                cnt = recount(&topic, found);
                for (size_t i = 0; i < cnt; i++) {
                        rp_class_t class;

                        assert_true(rp_repair_class(repair, found[i].rec->partition, found[i].rec->offset, &class));
                        if (class != found[i].class)
                                fail_msg("seed %u: partition %d, offset %d is %s, should be %s", seed,
                                         (int)found[i].rec->partition, (int)found[i].rec->offset, rp_class_name(class),
                                         rp_class_name(found[i].class));
                        records[class]++;
                        seen[class]++;
                        pending += class != RP_CLASS_COPIED && config.include & 1u << class;
                }
                counts = rp_repair_counts(repair);
                assert_memory_equal(counts->records, records, sizeof(records));
                assert_true(counts->pending == pending && rp_repair_pending(repair) == pending);
                rp_repair_free(repair);
                memory_topic_release(&topic);
        }
        for (int class = 0; class < RP_CLASS_CNT; class++)
                assert_true(seen[class] > 500);
}

static void test_ranges_together_are_the_whole(void **state)
{
        struct finding found[2000];
        struct memory_topic topic;
        struct rp_repair_config config = { .rule = rule, .partition_cnt = PARTITIONS, .topic = "t",
                                           .memory_bytes = 60000, .include = 1u << RP_CLASS_SAFE };
        rp_repair_t *repair = rp_repair_new(&config), *whole;
        size_t cnt, judged = 0;
        uint64_t low = 0, high, pending = 0;
        unsigned ranges = 0;

        (void)state;
        random_state = 7;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 1900, 900, 1000);
        cnt = recount(&topic, found);
        do {
                high = judge(repair, &topic, low);
                pending += rp_repair_pending(repair);
                for (size_t i = 0; i < cnt; i++) {
                        rp_class_t class;

                        if (!rp_repair_class(repair, found[i].rec->partition, found[i].rec->offset, &class))
                                continue;
                        assert_int_equal(class, found[i].class);
                        judged++;
                }
                low = high + 1;
                ranges++;
        } while (high != UINT64_MAX);
        assert_true(ranges > 2);
        assert_int_equal(judged, cnt);
        config.memory_bytes = MEMORY;
        whole = judge_with(config, &topic);
        assert_memory_equal(rp_repair_counts(repair)->records, rp_repair_counts(whole)->records,
                            sizeof(rp_repair_counts(whole)->records));
        assert_memory_equal(rp_repair_counts(repair)->keys, rp_repair_counts(whole)->keys,
                            sizeof(rp_repair_counts(whole)->keys));
        assert_true(rp_repair_counts(repair)->pending == pending && rp_repair_counts(whole)->pending == pending);
        rp_repair_free(repair);
        rp_repair_free(whole);
        memory_topic_release(&topic);
}

/* ---- case by case --------------------------------------------------------------------------------------------------- */

static struct memory_topic logs;
static int32_t home, wrong, other; /* of the key "k" */

static void put_key(int32_t partition, const char *key, const char *value, int64_t time_ms, const struct rp_header *header)
{
        struct rp_record rec = { .key = key, .key_len = key ? strlen(key) : 0, .value = value,
                                 .value_len = value ? strlen(value) : 0, .timestamp_ms = time_ms,
                                 .headers = header, .header_cnt = header ? 1 : 0 };

        memory_topic_add(&logs, partition, &rec, 0);
}

static void put(int32_t partition, const char *value, int64_t time_ms)
{
        put_key(partition, "k", value, time_ms, NULL);
}

/* Judges what was put, and forgets it. `want`: class letters of the records in `wrong`, then of those in `other`. */
static void assert_classes(const char *want)
{
        static const char letters[RP_CLASS_CNT] = { 's', 't', 'p', 'u', 'c' };
        rp_repair_t *repair = judge_with((struct rp_repair_config){ 0 }, &logs);
        int32_t partitions[] = { wrong, other };
        char got[32];
        size_t len = 0;

        for (int i = 0; i < 2; i++)
                for (size_t at = 0; at < logs.logs[partitions[i]].cnt; at++) {
                        rp_class_t class;

                        if (rp_repair_class(repair, partitions[i], logs.logs[partitions[i]].records[at].offset, &class))
                                got[len++] = letters[class];
                }
        got[len] = '\0';
        assert_string_equal(got, want);
        rp_repair_free(repair);
        memory_topic_release(&logs);
        memory_topic_init(&logs, PARTITIONS);
}

static void test_cases(void **state)
{
        static const struct rp_header own = { "keyroute.tombstone", "repair", 6 };

        (void)state;
        memory_topic_init(&logs, PARTITIONS);
        home = kr_rule_partition(rule, "k", 1, PARTITIONS);
        wrong = (home + 1) % PARTITIONS;
        other = (home + 2) % PARTITIONS;
        if (wrong > other) { /* copies are given out by place */
                int32_t swap = wrong;

                wrong = other;
                other = swap;
        }

        put(wrong, "a", 5);
        assert_classes("s"); /* nothing in the right partition */
        put(home, "b", 4), put(wrong, "a", 5);
        assert_classes("s");
        put(home, "b", 5), put(wrong, "a", 5);
        assert_classes("t"); /* on equal times the right one counts as newer */
        put(home, "b", 6), put(wrong, "a", 5), put(wrong, "c", 7);
        assert_classes("ts"); /* each record is judged by its own time */
        put(home, "b", 0), put(wrong, "a", 0);
        assert_classes("t"); /* 0 is a time */
        put(home, "b", 0), put(wrong, "a", -1);
        assert_classes("u");
        put(wrong, "a", -1);
        assert_classes("u");
        put(home, "b", -1), put(wrong, "a", 5);
        assert_classes("u");
        put(home, "b", -1), put(home, "c", 6), put(wrong, "a", 5);
        assert_classes("t"); /* that one is newer is known all the same */
        put(wrong, "a", 5), put(other, "b", 6);
        assert_classes("pp");
        put(home, "c", 5), put(wrong, "a", 5), put(other, "b", 6);
        assert_classes("tp");

        put(home, "a", 5), put(wrong, "a", 5);
        assert_classes("c");
        put(home, "a", 6), put(wrong, "a", 5);
        assert_classes("t"); /* another time is another record */
        put(home, "a", 5), put(wrong, "a", 5), put(wrong, "a", 5);
        assert_classes("cs"); /* two equal ones, one copy: the second is written, and its equal does not make it stale */
        put(home, "a", 5), put(home, "a", 5), put(wrong, "a", 5), put(wrong, "a", 5);
        assert_classes("cc");
        put(home, "a", 5), put(home, "b", 5), put(wrong, "a", 5), put(wrong, "a", 5);
        assert_classes("ct");
        put(home, "a", 5), put(wrong, "a", 5), put(other, "b", 6);
        assert_classes("cs"); /* only one partition has anything left to be copied */
        put(home, "a", 5), put(wrong, "a", 5), put(other, "a", 5);
        assert_classes("cs");
        put(home, "a", -1), put(wrong, "a", -1);
        assert_classes("c");

        put(home, "b", 4), put(wrong, NULL, 5);
        assert_classes("s"); /* a tombstone is a record */
        put(home, NULL, 5), put(wrong, "a", 4);
        assert_classes("t");
        put(home, "", 5), put(wrong, NULL, 5);
        assert_classes("t"); /* no value is not the empty value */
        put_key(wrong, "k", NULL, 9, &own), put(wrong, "a", 5);
        assert_classes("s"); /* our own tombstones are no records */
        put_key(home, "k", NULL, 9, &own), put(wrong, "a", 5);
        assert_classes("s");
        put_key(wrong, "k", "v", 9, &own);
        assert_classes("s"); /* with a value it is none */
        put_key(wrong, NULL, "a", 5, NULL);
        assert_classes(""); /* without a key nothing is misplaced */
        memory_topic_release(&logs);
}

static void test_marks(void **state)
{
        struct rp_header mark = { "keyroute.origin", NULL, 0 };
        char text[RP_ORIGIN_SIZE];

        (void)state;
        memory_topic_init(&logs, PARTITIONS);
        mark.value = text;
        mark.value_len = rp_origin_print(text, "t", wrong, 0);
        put(wrong, "a", 5), put_key(home, "k", "a", 5, &mark);
        assert_classes("c");
        put(wrong, "a", 5), put_key(home, "k", "a", 99, &mark);
        assert_classes("c"); /* the broker put its own time on it */
        put(wrong, "a", 5), put(wrong, "b", 50), put_key(home, "k", "a", 99, &mark);
        assert_classes("ct");
        put(wrong, "a", 5), put(wrong, "a", 5), put_key(home, "k", "a", 5, &mark);
        assert_classes("cs");
        mark.value_len = rp_origin_print(text, "t", wrong, 1);
        put(wrong, "a", 5), put(wrong, "a", 5), put_key(home, "k", "a", 5, &mark);
        assert_classes("sc"); /* the mark tells which one */
        put(wrong, "a", 5), put_key(home, "k", "a", 5, &mark);
        assert_classes("c"); /* the offset is not there, but the content is */
        put(wrong, "a", 5), put_key(home, "k", "a", 6, &mark);
        assert_classes("t");
        mark.value_len = rp_origin_print(text, "tt", wrong, 0);
        put(wrong, "a", 5), put_key(home, "k", "a", 5, &mark);
        assert_classes("t"); /* of another topic: an ordinary header */
        put_key(wrong, "k", "a", 5, &mark), put_key(home, "k", "a", 5, &mark);
        assert_classes("c");
        mark.value_len = rp_origin_print(text, "t", 4, 77);
        put_key(wrong, "k", "a", 5, &mark), put_key(home, "k", "a", 5, &mark);
        assert_classes("c"); /* a copy that became misplaced, and was copied without a mark */
        memory_topic_release(&logs);
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static const struct rp_record *at(int32_t partition, size_t i)
{
        return &logs.logs[partition].records[i];
}

static struct rp_record later(const char *value, int64_t time_ms, int32_t partition)
{
        return (struct rp_record){ .key = "k", .key_len = 1, .value = value, .value_len = 1, .timestamp_ms = time_ms,
                                   .partition = partition, .offset = 1000 };
}

static void test_what_arrives_since(void **state)
{
        struct rp_record rec;
        rp_repair_t *repair;

        (void)state;
        memory_topic_init(&logs, PARTITIONS);
        put(home, "z", 1), put(wrong, "a", 5), put(wrong, "b", 9);
        repair = judge_with((struct rp_repair_config){ .include = 1u << RP_CLASS_SAFE }, &logs);
        assert_int_equal(rp_repair_span(repair, wrong).first, 0);
        assert_int_equal(rp_repair_span(repair, wrong).end, 2);
        assert_int_equal(rp_repair_span(repair, home).end, 0);
        assert_int_equal(rp_repair_decide(repair, at(home, 0)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_decide(repair, at(wrong, 0)), home);

        /* Copies, other partitions and older times make no difference. */
        rec = later("a", 5, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rec = later("y", 99, wrong);
        assert_true(rp_repair_arrive(repair, &rec));
        rec = later("y", 4, home);
        assert_true(rp_repair_arrive(repair, &rec));
        assert_int_equal(rp_repair_decide(repair, at(wrong, 0)), home);
        assert_int_equal(rp_repair_overtaken(repair), 0);

        /* One that is as new as "a": "a" stays where it is, "b" still goes. */
        rec = later("y", 5, home);
        assert_true(rp_repair_arrive(repair, &rec));
        assert_int_equal(rp_repair_decide(repair, at(wrong, 0)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_decide(repair, at(wrong, 0)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_decide(repair, at(wrong, 1)), home);
        assert_int_equal(rp_repair_overtaken(repair), 1);

        /* Newer than what is in the open transaction: it must not be committed. */
        rp_repair_begin_transaction(repair);
        rp_repair_append(repair, at(wrong, 1));
        rec = later("x", 8, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rec = later("x", 9, home);
        assert_false(rp_repair_arrive(repair, &rec));
        rp_repair_begin_transaction(repair);
        assert_true(rp_repair_arrive(repair, &rec));
        assert_int_equal(rp_repair_decide(repair, at(wrong, 1)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_overtaken(repair), 2);
        rp_repair_free(repair);

        /* Behind all copies of its key it overtakes nothing; between two of them it does. */
        repair = judge_with((struct rp_repair_config){ .include = 1u << RP_CLASS_SAFE }, &logs);
        rp_repair_begin_transaction(repair);
        rp_repair_append(repair, at(wrong, 0));
        rp_repair_append(repair, at(wrong, 1));
        rec = later("a", 5, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rec = later("x", 9, home);
        assert_false(rp_repair_arrive(repair, &rec));
        rp_repair_begin_transaction(repair);
        rp_repair_append(repair, at(wrong, 0));
        assert_false(rp_repair_arrive(repair, &rec));
        rec = later("a", 5, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rec = later("x", 9, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rp_repair_free(repair);

        /* Who asks for stale ones gets them. A record without a time may be newer. */
        repair = judge_with((struct rp_repair_config){ .include = 1u << RP_CLASS_SAFE | 1u << RP_CLASS_STALE }, &logs);
        assert_true(rp_repair_arrive(repair, &rec));
        assert_int_equal(rp_repair_decide(repair, at(wrong, 1)), home);
        rp_repair_free(repair);
        repair = judge_with((struct rp_repair_config){ .include = 1u << RP_CLASS_SAFE }, &logs);
        rec = later("x", -1, home);
        assert_true(rp_repair_arrive(repair, &rec));
        assert_int_equal(rp_repair_decide(repair, at(wrong, 1)), RP_REPAIR_SKIP);
        rp_repair_free(repair);
        memory_topic_release(&logs);
}

/* @returns the places that get a tombstone, as "partition:offset ". */
static const char *tombstones(void)
{
        static char text[256];
        rp_repair_t *repair = judge_with((struct rp_repair_config){ .tombstones = true }, &logs);
        size_t len = 0;

        text[0] = '\0';
        for (int32_t p = 0; p < PARTITIONS; p++)
                for (size_t i = 0; i < logs.logs[p].cnt; i++) {
                        int32_t to = rp_repair_decide(repair, at(p, i));

                        if (to == RP_REPAIR_SKIP)
                                continue;
                        assert_int_equal(to, p);
                        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s:%d ", p == wrong ? "w" : "o", (int)i);
                }
        rp_repair_free(repair);
        memory_topic_release(&logs);
        memory_topic_init(&logs, PARTITIONS);
        return text;
}

static void test_tombstones(void **state)
{
        static const struct rp_header own = { "keyroute.tombstone", "repair", 6 };
        struct rp_record rec;
        rp_repair_t *repair;

        (void)state;
        memory_topic_init(&logs, PARTITIONS);
        put(wrong, "a", 5);
        assert_string_equal(tombstones(), ""); /* nothing in the right partition: it is all there is */
        put(home, "a", 5), put(wrong, "a", 5);
        assert_string_equal(tombstones(), "w:0 ");
        put(home, "b", 4), put(wrong, "a", 5);
        assert_string_equal(tombstones(), "");
        put(home, "b", 5), put(wrong, "a", 5), put(wrong, "c", 4);
        assert_string_equal(tombstones(), "w:1 "); /* one a key and partition, after the last record */
        put(home, "b", 5), put(wrong, "a", 6), put(wrong, "c", 4);
        assert_string_equal(tombstones(), ""); /* it would take the newer one with it */
        put(home, "b", 5), put(wrong, "a", 4), put(other, "c", 3);
        assert_string_equal(tombstones(), "w:0 o:0 ");
        put(home, "b", 5), put(wrong, "a", 4), put(other, "c", 6);
        assert_string_equal(tombstones(), "w:0 ");
        put(home, "b", 5), put(wrong, "a", 4), put_key(wrong, "k", NULL, 4, &own);
        assert_string_equal(tombstones(), ""); /* done */
        put(home, "b", 5), put(wrong, "a", 4), put_key(wrong, "k", NULL, 4, &own), put(wrong, "c", 5);
        assert_string_equal(tombstones(), "w:2 "); /* written again since */
        put(home, "b", 5), put(wrong, "a", 4), put(wrong, NULL, 5);
        assert_string_equal(tombstones(), ""); /* somebody else's does it as well */
        put_key(home, "k", NULL, 9, &own), put(wrong, "a", 4);
        assert_string_equal(tombstones(), "");
        put(home, "b", -1), put(wrong, "a", 4);
        assert_string_equal(tombstones(), "");

        put(home, "b", 5), put(wrong, "a", 4), put(other, "c", 3);
        repair = judge_with((struct rp_repair_config){ .tombstones = true }, &logs);
        rp_repair_begin_transaction(repair);
        rec = later("x", 9, home);
        assert_true(rp_repair_arrive(repair, &rec));
        rp_repair_append(repair, at(wrong, 0));
        rec = later("x", 1, wrong);
        assert_false(rp_repair_arrive(repair, &rec)); /* the tombstone would stand behind it */
        assert_int_equal(rp_repair_decide(repair, at(other, 0)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_decide(repair, at(wrong, 0)), RP_REPAIR_SKIP);
        assert_int_equal(rp_repair_overtaken(repair), 2);
        rp_repair_free(repair);
        memory_topic_release(&logs);
}

static void test_one_key_that_does_not_fit_is_told(void **state)
{
        struct rp_repair_config config = { .rule = rule, .partition_cnt = PARTITIONS, .topic = "t", .memory_bytes = 30000 };
        rp_repair_t *repair = rp_repair_new(&config);
        struct rp_error err = { .code = RP_OK };

        (void)state;
        rp_repair_begin(repair, 0, UINT64_MAX);
        for (int64_t i = 0; err.code == RP_OK && i < 1000; i++) {
                struct rp_record rec = { .key = "k", .key_len = 1, .timestamp_ms = i, .partition = wrong, .offset = i };

                rp_repair_note(repair, &rec, &err);
        }
        assert_int_equal(err.code, RP_ERR_FATAL);
        assert_non_null(strstr(err.text, "one key alone has more than"));
        rp_repair_free(repair);
}

static void test_keys_that_the_rule_refuses_are_not_judged(void **state)
{
        static const char json[] = "{\"keyroute\": 1, \"topics\": {\"t\": {\"key\": {\"use\": \"field\", \"delimiter\": \"|\", "
                                   "\"index\": 1, \"missing\": \"reject\"}}}}";
        struct kr_error err;
        kr_policy_t *strict = kr_policy_parse(json, strlen(json), "policy", &err);
        const kr_rule_t *usual = rule;
        rp_class_t class;
        rp_repair_t *repair;

        (void)state;
        assert_non_null(strict);
        memory_topic_init(&logs, PARTITIONS);
        for (int32_t p = 0; p < PARTITIONS; p++) {
                put_key(p, "no field", "a", 5, NULL);
                put_key(p, "a|field", "a", 5, NULL);
        }
        rule = kr_policy_rule(strict, "t");
        repair = judge_with((struct rp_repair_config){ .include = 1u << RP_CLASS_SPLIT }, &logs);
        for (int32_t p = 0; p < PARTITIONS; p++)
                assert_false(rp_repair_class(repair, p, 0, &class));
        assert_int_equal(rp_repair_counts(repair)->records[RP_CLASS_COPIED] + rp_repair_counts(repair)->records[RP_CLASS_SAFE] +
                                 rp_repair_counts(repair)->records[RP_CLASS_SPLIT], PARTITIONS - 1);
        rp_repair_free(repair);
        rule = usual;
        kr_policy_free(strict);
        memory_topic_release(&logs);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cases),
                cmocka_unit_test(test_marks),
                cmocka_unit_test(test_random_topics_are_judged_as_a_recount_does),
                cmocka_unit_test(test_ranges_together_are_the_whole),
                cmocka_unit_test(test_what_arrives_since),
                cmocka_unit_test(test_tombstones),
                cmocka_unit_test(test_one_key_that_does_not_fit_is_told),
                cmocka_unit_test(test_keys_that_the_rule_refuses_are_not_judged),
        };

        return cmocka_run_group_tests(tests, java_rule_set_up, java_rule_tear_down);
}
