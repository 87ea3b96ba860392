#include "sim_cluster.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_violation(struct sim_cluster *cluster, const char *fmt, ...)
{
        va_list args;

        if (*cluster->violation)
                return;
        va_start(args, fmt);
        vsnprintf(cluster->violation, sizeof(cluster->violation), fmt, args);
        va_end(args);
}

uint64_t sim_random(struct sim_cluster *cluster)
{
        uint64_t x = cluster->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

unsigned sim_any(struct sim_cluster *cluster, unsigned below)
{
        return (unsigned)(sim_random(cluster) % below);
}

bool sim_chance(struct sim_cluster *cluster, unsigned percent)
{
        return sim_any(cluster, 100) < percent;
}

void sim_cluster_init(struct sim_cluster *cluster, uint64_t seed)
{
        memset(cluster, 0, sizeof(*cluster));
        cluster->random = seed;
        for (int p = 0; p < SIM_SOURCE_MAX; p++) {
                cluster->stored[p].next = cluster->decided[p] = -1;
                cluster->owner[p] = cluster->wanted[p] = cluster->stored[p].by = -1;
        }
        for (int id = 0; id < SIM_MEMBER_MAX; id++)
                cluster->ids[id].txn = -1;
}

void sim_cluster_release(struct sim_cluster *cluster)
{
        for (int t = 0; t < cluster->txn_cnt; t++)
                for (int p = 0; p < SIM_SOURCE_MAX; p++)
                        free(cluster->txns[t].marks[p].note);
        for (int p = 0; p < SIM_SOURCE_MAX; p++)
                free(cluster->stored[p].note);
}

int sim_target_of(const struct sim_cluster *cluster, int key)
{
        return key * 7 % 11 % cluster->target_cnt;
}

/* ---- source ------------------------------------------------------------------------------------------------------ */

void sim_add_partition(struct sim_cluster *cluster, int topic)
{
        struct sim_source *source = &cluster->sources[cluster->source_cnt];

        assert(cluster->source_cnt < SIM_SOURCE_MAX && topic <= cluster->topic_cnt);
        cluster->topic_cnt += topic == cluster->topic_cnt;
        *source = (struct sim_source){ .topic = topic };
        for (int p = 0; p < cluster->source_cnt; p++)
                source->partition += cluster->sources[p].topic == topic;
        cluster->source_cnt++;
}

static void push(struct sim_cluster *cluster, int p, sim_kind_t kind, bool some_are_skipped)
{
        struct sim_source *source = &cluster->sources[p];
        int key = (int)sim_any(cluster, 9);

        if (source->end == SIM_LOG_MAX)
                return;
        source->entries[source->end++] = (struct sim_source_entry){
                .kind = kind, .serial = kind == SIM_COMMITTED ? cluster->serial_cnt++ : -1, .key = key,
                .time_ms = cluster->now_ms + cluster->serial_cnt + sim_any(cluster, 4),
                .is_skipped = some_are_skipped && key % 3 != 0,
        };
}

void sim_grow(struct sim_cluster *cluster, unsigned records, bool some_are_skipped)
{
        while (records > 0) {
                int p = (int)sim_any(cluster, (unsigned)cluster->source_cnt);
                unsigned cnt = 1 + sim_any(cluster, 4);
                sim_kind_t kind = sim_chance(cluster, 33) ? SIM_ABORTED : SIM_COMMITTED;

                if (cluster->sources[p].end + 6 >= SIM_LOG_MAX || cluster->serial_cnt + 6 >= SIM_RECORD_MAX)
                        return;
                cnt = cnt < records ? cnt : records;
                records -= cnt;
                while (cnt-- > 0)
                        push(cluster, p, kind, some_are_skipped);
                push(cluster, p, SIM_MARKER, false);
        }
}

static void move_lso(struct sim_cluster *cluster)
{
        for (int p = 0; p < cluster->source_cnt; p++)
                if (cluster->sources[p].hangs_until_ms <= cluster->now_ms)
                        cluster->sources[p].lso = cluster->sources[p].end;
}

/* ---- transactions ------------------------------------------------------------------------------------------------- */

static void write_marks(struct sim_cluster *cluster, struct sim_txn *txn)
{
        for (int p = 0; txn->state == SIM_TXN_COMMITTED && p < cluster->source_cnt; p++) {
                if (txn->marks[p].next < 0)
                        continue;
                cluster->stored[p].next = txn->marks[p].next;
                free(cluster->stored[p].note);
                cluster->stored[p].note = txn->marks[p].note ? strdup(txn->marks[p].note) : NULL;
                cluster->stored[p].by = txn->by;
                cluster->stored[p].at_ms = cluster->now_ms;
        }
        txn->are_marks_written = true;
}

/* Progress says that all before it is in the target: each record once, and none of those that were to be skipped. */
static void check_progress(struct sim_cluster *cluster, int p, int64_t next)
{
        const struct sim_source *source = &cluster->sources[p];

        if (cluster->decided[p] < 0) /* where it began: at the beginning, as far as can be told */
                cluster->decided[p] = source->low < next ? source->low : next;
        if (next < cluster->decided[p])
                sim_violation(cluster, "the progress of partition %d went back from %d to %d", p, (int)cluster->decided[p],
                              (int)next);
        for (int64_t at = cluster->decided[p]; at < next; at++) {
                const struct sim_source_entry *entry = &source->entries[at];

                if (entry->kind == SIM_COMMITTED && cluster->copies[entry->serial] != !entry->is_skipped)
                        sim_violation(cluster, "progress of partition %d is %d, but the record at %d was copied %d times", p,
                                      (int)next, (int)at, cluster->copies[entry->serial]);
        }
        cluster->decided[p] = next;
}

static void decide(struct sim_cluster *cluster, int t, sim_txn_state_t state)
{
        struct sim_txn *txn = &cluster->txns[t];

        txn->state = state;
        cluster->ids[txn->id].txn = -1;
        cluster->commits += state == SIM_TXN_COMMITTED;
        cluster->voids += state == SIM_TXN_VOID;
        if (state == SIM_TXN_VOID || !txn->has_marks)
                txn->are_marks_written = true;
        if (state == SIM_TXN_VOID)
                return;
        for (int to = 0; to < cluster->target_cnt; to++)
                for (size_t i = 0; i < cluster->targets[to].cnt; i++) {
                        int serial = cluster->targets[to].entries[i].serial;

                        if (cluster->targets[to].entries[i].txn == t && ++cluster->copies[serial] > 1)
                                sim_violation(cluster, "record %d can be read twice", serial);
                }
        for (int p = 0; p < cluster->source_cnt; p++)
                if (txn->marks[p].next >= 0)
                        check_progress(cluster, p, txn->marks[p].next);
}

/* Of one id, one transaction at a time: the next one waits until the markers of the last are written. */
static void finish_last(struct sim_cluster *cluster, int id)
{
        for (int t = cluster->first_live_txn; t < cluster->txn_cnt; t++)
                if (cluster->txns[t].id == id && cluster->txns[t].state != SIM_TXN_OPEN && !cluster->txns[t].are_marks_written)
                        write_marks(cluster, &cluster->txns[t]);
}

int sim_init(struct sim_cluster *cluster, int id)
{
        if (cluster->ids[id].txn >= 0)
                decide(cluster, cluster->ids[id].txn, SIM_TXN_VOID);
        finish_last(cluster, id);
        return ++cluster->ids[id].epoch;
}

int sim_begin(struct sim_cluster *cluster, int id, int epoch, int by)
{
        struct sim_txn *txn = &cluster->txns[cluster->txn_cnt];

        if (cluster->ids[id].epoch != epoch)
                return -1;
        assert(cluster->txn_cnt < SIM_TXN_MAX);
        finish_last(cluster, id);
        *txn = (struct sim_txn){ .state = SIM_TXN_OPEN, .id = id, .opened_ms = cluster->now_ms, .by = by };
        for (int p = 0; p < SIM_SOURCE_MAX; p++)
                txn->marks[p].next = -1;
        return cluster->ids[id].txn = cluster->txn_cnt++;
}

rp_err_t sim_append(struct sim_cluster *cluster, int id, int epoch, int *txn, int source, int64_t offset, int to)
{
        struct sim_target *target = &cluster->targets[to];

        if (cluster->ids[id].epoch != epoch)
                return RP_ERR_FENCED;
        /* A late request may have ended the transaction below the producer, which then starts another unawares. */
        if (cluster->ids[id].txn != *txn)
                *txn = sim_begin(cluster, id, epoch, cluster->txns[*txn].by);
        assert(target->cnt < 2 * SIM_RECORD_MAX);
        target->entries[target->cnt].serial = cluster->sources[source].entries[offset].serial;
        target->entries[target->cnt].source = source;
        target->entries[target->cnt].offset = offset;
        target->entries[target->cnt++].txn = *txn;
        return RP_OK;
}

rp_err_t sim_add_marks(struct sim_cluster *cluster, int id, int epoch, int t, const struct rp_mark *marks, size_t cnt,
                       int member)
{
        struct sim_txn *txn = &cluster->txns[t];

        if (cluster->ids[id].epoch != epoch)
                return RP_ERR_FENCED;
        if (member >= 0 && (!cluster->members[member].is_in || cluster->members[member].is_kicked ||
                            cluster->members[member].generation != cluster->generation))
                return RP_ERR_ABORT_BATCH; /* illegal generation */
        if (txn->state != SIM_TXN_OPEN)
                return RP_ERR_ABORT_BATCH;
        for (size_t i = 0; i < cnt; i++) {
                free(txn->marks[marks[i].partition].note);
                txn->marks[marks[i].partition].next = marks[i].next;
                txn->marks[marks[i].partition].note = marks[i].note ? strdup(marks[i].note) : NULL;
                txn->has_marks = true;
        }
        return RP_OK;
}

rp_err_t sim_end(struct sim_cluster *cluster, int id, int epoch, bool is_commit)
{
        int t = cluster->ids[id].txn;

        if (cluster->ids[id].epoch != epoch)
                return RP_ERR_FENCED;
        if (t < 0)
                return RP_ERR_ABORT_BATCH;
        decide(cluster, t, is_commit ? SIM_TXN_COMMITTED : SIM_TXN_VOID);
        return RP_OK;
}

void sim_end_later(struct sim_cluster *cluster, int id, int epoch, int64_t ms)
{
        if (cluster->late_cnt == SIM_LATE_MAX)
                return;
        cluster->late[cluster->late_cnt].id = id;
        cluster->late[cluster->late_cnt].epoch = epoch;
        cluster->late[cluster->late_cnt++].due_ms = cluster->now_ms + ms;
}

bool sim_fetch(struct sim_cluster *cluster, struct rp_progress *progress)
{
        for (int t = cluster->first_live_txn; t < cluster->txn_cnt; t++)
                if (cluster->txns[t].has_marks && !cluster->txns[t].are_marks_written)
                        return false;
        for (int p = 0; p < cluster->source_cnt; p++)
                rp_progress_set(progress, p, cluster->stored[p].next, cluster->stored[p].note);
        return true;
}

/* ---- the group ---------------------------------------------------------------------------------------------------- */

void sim_rebalance(struct sim_cluster *cluster)
{
        int in[SIM_MEMBER_MAX], cnt = 0;

        for (int m = 0; m < SIM_MEMBER_MAX; m++)
                if (cluster->members[m].is_in && !cluster->members[m].is_kicked)
                        in[cnt++] = m;
        cluster->generation++;
        for (int p = 0; p < cluster->source_cnt; p++)
                cluster->wanted[p] = cnt ? in[(unsigned)(p + cluster->generation) % (unsigned)cnt] : -1;
}

static void drop_partitions(struct sim_cluster *cluster, int member)
{
        for (int p = 0; p < cluster->source_cnt; p++)
                if (cluster->owner[p] == member)
                        cluster->owner[p] = -1;
}

void sim_join(struct sim_cluster *cluster, int member)
{
        cluster->members[member].is_in = true;
        cluster->members[member].is_kicked = false;
        cluster->members[member].heard_ms = cluster->now_ms;
        sim_rebalance(cluster);
}

void sim_leave(struct sim_cluster *cluster, int member)
{
        cluster->members[member].is_in = false;
        drop_partitions(cluster, member);
        sim_rebalance(cluster);
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

static void deliver_late(struct sim_cluster *cluster)
{
        for (size_t i = 0; i < cluster->late_cnt;) {
                if (cluster->late[i].due_ms > cluster->now_ms) {
                        i++;
                        continue;
                }
                /* Whatever is open under that epoch is ended, also if it is a later transaction than was meant. */
                if (sim_end(cluster, cluster->late[i].id, cluster->late[i].epoch, true) == RP_OK)
                        cluster->late_hits++;
                else
                        cluster->late_fenced++;
                cluster->late[i] = cluster->late[--cluster->late_cnt];
        }
}

void sim_pass(struct sim_cluster *cluster, int64_t ms)
{
        cluster->now_ms += ms;
        deliver_late(cluster);
        for (int t = cluster->first_live_txn; t < cluster->txn_cnt; t++) {
                struct sim_txn *txn = &cluster->txns[t];

                if (txn->state == SIM_TXN_OPEN && cluster->now_ms - txn->opened_ms > SIM_TXN_TIMEOUT_MS) {
                        cluster->ids[txn->id].epoch++;
                        cluster->timeouts++;
                        decide(cluster, t, SIM_TXN_VOID);
                }
                if (txn->state != SIM_TXN_OPEN && !txn->are_marks_written && sim_chance(cluster, 60))
                        write_marks(cluster, txn);
                if (t == cluster->first_live_txn && txn->state != SIM_TXN_OPEN && txn->are_marks_written)
                        cluster->first_live_txn++;
        }
        for (int m = 0; m < SIM_MEMBER_MAX; m++)
                if (cluster->members[m].is_in && !cluster->members[m].is_kicked &&
                    cluster->now_ms - cluster->members[m].heard_ms > SIM_SESSION_MS) {
                        cluster->members[m].is_kicked = true;
                        drop_partitions(cluster, m);
                        sim_rebalance(cluster);
                }
        move_lso(cluster);
}

void sim_settle(struct sim_cluster *cluster)
{
        for (int p = 0; p < cluster->source_cnt; p++)
                cluster->sources[p].hangs_until_ms = 0;
        for (int t = 0; t < cluster->txn_cnt; t++)
                if (cluster->txns[t].state != SIM_TXN_OPEN && !cluster->txns[t].are_marks_written)
                        write_marks(cluster, &cluster->txns[t]);
        move_lso(cluster);
}
