#include "sim.h"

#include "decide/copy.h"
#include "decide/note.h"
#include "decide/topics.h"
#include "sim_cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_MAX = 3, PROCESS_MAX = 4, CALM_STEPS = 6000, LIMIT_MS = 1000,
       PATIENCE = 100, PATIENCE_MS = 200 /* between two looks at what is not ready; together more than a transaction lasts */ };

/* One process of the job: the core and a loop around it that can be interrupted anywhere. */
struct process {
        struct rp_copy copy;
        struct rp_copy_action action;
        char by[32];
        struct rp_topics topics;            /* of the source, as they were when it began; empty: one */
        int place_cnt, slots[SIM_SOURCE_MAX]; /* the partitions that it knows: by place, which of the cluster's they are */
        int number, id, epoch, txn;         /* its name; transactional id; producer */
        bool is_alive, is_open, is_of_calm; /* is_of_calm: it was started after all was calm, and knows all that there is */
        int64_t wakes_ms, opened_ms, begun_ms;  /* when it began to open its transaction, and had opened it */
        int waits;                          /* for an answer that cannot be given yet */
        struct rp_range ranges[SIM_SOURCE_MAX]; /* first moves on while reading */
        int run_partition;
        int64_t run[RUN_MAX];               /* offsets */
        size_t run_cnt, run_at;
        int64_t run_next;
        bool is_fenced, saw_foreign;        /* was told so; could have known at its last look */
        bool has_read;                      /* SIM_READS_TOO_EARLY */
        int64_t remembered[SIM_SOURCE_MAX]; /* what it believes to have stored */
        int partitions[SIM_SOURCE_MAX];     /* of the last rebalance */
        int32_t told[SIM_SOURCE_MAX];
        size_t told_cnt;
        rp_copy_rebalance_t told_what;
};

struct sim {
        struct sim_cluster cluster;
        struct process processes[PROCESS_MAX];
        struct sim_figures *figures;
        sim_mistake_t mistake;
        bool is_group, is_chaos, skips, is_traced;
        int fault_percent, next_number, source_cnt_at_first;
        bool is_finished;       /* a process ended well after all was calm */
        int64_t deadline_steps;
};

static void violation(struct sim *sim, const struct process *process, const char *what)
{
        sim_violation(&sim->cluster, "process %d: %s", process->number, what);
}

static bool happens(struct sim *sim, int percent)
{
        return sim->is_chaos && sim_chance(&sim->cluster, (unsigned)percent);
}

/* ---- which partitions there are --------------------------------------------------------------------------------------- */

static const char *const topic_names[SIM_TOPIC_MAX] = { "orders.eu", "orders.us", "orders" }; /* the last is the first by name */

/* NULL: there is one topic. */
static const struct rp_topics *topics_of(const struct process *process)
{
        return process->topics.topic_cnt ? &process->topics : NULL;
}

/* @returns its place; -1 when it was not there yet when the process began. */
static int32_t place_of(const struct sim *sim, const struct process *process, int slot)
{
        const struct sim_source *source = &sim->cluster.sources[slot];
        int32_t place = rp_topics_find(topics_of(process), topic_names[0], topic_names[source->topic], source->partition);

        return place < process->place_cnt ? place : -1;
}

/* Where what is stored of a place goes, and where it comes from. */
static int stored_at(const struct sim *sim, const struct process *process, int place)
{
        return sim->mistake == SIM_STORES_BY_PLACE ? place : process->slots[place];
}

/* What the process knows of the source; topics are given in any order. */
static void look_at_topics(struct sim *sim, struct process *process)
{
        struct sim_cluster *cluster = &sim->cluster;
        int first = (int)sim_any(cluster, (unsigned)cluster->topic_cnt);
        const char *names[SIM_TOPIC_MAX];
        int32_t cnts[SIM_TOPIC_MAX] = { 0 };

        process->place_cnt = cluster->source_cnt;
        for (int t = 0; t < cluster->topic_cnt; t++) {
                int topic = (first + t) % cluster->topic_cnt;

                names[t] = topic_names[topic];
                for (int slot = 0; slot < cluster->source_cnt; slot++)
                        cnts[t] += cluster->sources[slot].topic == topic;
        }
        if (cluster->topic_cnt > 1 && !rp_topics_init(&process->topics, names, cnts, cluster->topic_cnt))
                abort();
        for (int slot = 0; slot < cluster->source_cnt; slot++) {
                int32_t place = place_of(sim, process, slot);

                process->slots[place] = slot;
                if (strcmp(rp_topics_name(topics_of(process), topic_names[0], place),
                           topic_names[cluster->sources[slot].topic]) ||
                    rp_topics_partition(topics_of(process), place) != cluster->sources[slot].partition)
                        violation(sim, process, "the row of partitions contradicts itself");
        }
        if (sim->mistake != SIM_TAKES_GIVEN_ORDER)
                return;
        for (int t = 0, place = 0; t < cluster->topic_cnt; t++)
                for (int slot = 0; slot < cluster->source_cnt; slot++)
                        if (!strcmp(topic_names[cluster->sources[slot].topic], names[t]))
                                process->slots[place++] = slot;
}

static struct sim_source *source_at(struct sim *sim, const struct process *process, int place)
{
        return &sim->cluster.sources[process->slots[place]];
}

/* false: not now. */
static bool fetch(struct sim *sim, struct process *process)
{
        struct rp_progress stored;
        bool is_told;

        if (!rp_progress_init(&stored, sim->cluster.source_cnt))
                abort();
        is_told = sim_fetch(&sim->cluster, &stored);
        for (int place = 0; is_told && place < process->place_cnt; place++) {
                const struct rp_mark *mark = &stored.marks[stored_at(sim, process, place)];

                rp_progress_set(&process->copy.seen, place, mark->next, mark->note);
        }
        rp_progress_release(&stored);
        return is_told;
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

/* The next record of the partition that a committed reader gets; -1: none in the range. */
static int64_t next_record(const struct sim *sim, const struct process *process, int p)
{
        const struct sim_source *source = &sim->cluster.sources[process->slots[p]];
        int64_t end = process->ranges[p].end < source->lso ? process->ranges[p].end : source->lso;

        for (int64_t at = process->ranges[p].first; at < end; at++)
                if (source->entries[at].kind == SIM_COMMITTED)
                        return at;
        return -1;
}

/* The oldest of the partitions' next records, on equal times of the lower place. -1: there is none. */
static int next_partition(const struct sim *sim, const struct process *process)
{
        int best = -1;
        int64_t best_ms = 0;

        for (int p = 0; p < process->place_cnt; p++) {
                const struct sim_source *source = &sim->cluster.sources[process->slots[p]];
                int64_t at = next_record(sim, process, p);

                if (at < 0 || (best >= 0 && source->entries[at].time_ms >= best_ms))
                        continue;
                best = p;
                best_ms = source->entries[at].time_ms;
        }
        return best;
}

static void take(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;
        size_t most = 1 + sim_any(cluster, RUN_MAX);
        int p;

        process->run_cnt = process->run_at = 0;
        if (sim_chance(cluster, 15))
                return; /* nothing has come yet */
        for (p = 0; p < process->place_cnt; p++)
                if (process->ranges[p].first < process->ranges[p].end &&
                    process->ranges[p].first < source_at(sim, process, p)->low) {
                        answer->code = RP_ERR_INCOMPLETE;
                        return;
                }
        p = process->run_partition = next_partition(sim, process);
        if (p < 0) {
                answer->is_done = !sim->is_group;
                return;
        }
        while (process->run_cnt < most && next_partition(sim, process) == p) {
                process->run[process->run_cnt] = next_record(sim, process, p);
                process->ranges[p].first = process->run[process->run_cnt++] + 1;
        }
        answer->cnt = process->run_cnt;
        answer->partition = p;
        answer->next = process->run_next = process->ranges[p].first;
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static const rp_err_t doubts[] = { RP_ERR_RETRY, RP_ERR_ABORT_BATCH, RP_ERR_FATAL };

static rp_err_t doubt(struct sim *sim)
{
        return doubts[sim_any(&sim->cluster, 3)];
}

/* What a producer hears whose epoch is old: mostly the truth, unless its transaction was open for too long. */
static rp_err_t refused(struct sim *sim, struct process *process, rp_err_t code)
{
        if (code == RP_ERR_FENCED && sim->cluster.now_ms - process->opened_ms >= SIM_TXN_TIMEOUT_MS)
                return RP_ERR_ABORT_BATCH;
        if (code == RP_ERR_FENCED && happens(sim, 40))
                return RP_ERR_RETRY; /* some other trouble came first */
        if (code == RP_ERR_FENCED)
                process->is_fenced = true;
        return code;
}

static void begin(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;

        process->opened_ms = cluster->now_ms;
        if (happens(sim, sim->fault_percent)) {
                answer->code = doubt(sim);
                return;
        }
        process->txn = sim_begin(cluster, process->id, process->epoch, process->number);
        process->is_open = process->txn >= 0;
        if (process->txn < 0)
                answer->code = refused(sim, process, RP_ERR_FENCED);
}

static void append(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;
        int p = process->run_partition;

        for (; answer->code == RP_OK && process->run_at < process->run_cnt; process->run_at++) {
                int64_t offset = process->run[process->run_at];
                const struct sim_source_entry *entry = &source_at(sim, process, p)->entries[offset];

                if (entry->is_skipped)
                        continue;
                if (!rp_copy_is_open(&process->copy)) {
                        answer->needs_transaction = true;
                        process->run_at += sim->mistake == SIM_SKIPS_ONE;
                        return;
                }
                answer->records++;
                answer->bytes += 10;
                if (!happens(sim, sim->fault_percent) || sim_chance(cluster, 50))
                        answer->code = refused(sim, process,
                                               sim_append(cluster, process->id, process->epoch, &process->txn, process->slots[p],
                                                          offset, sim_target_of(cluster, entry->key)));
                else
                        answer->code = doubt(sim); /* the leader moved, say */
        }
}

/* How a commit may end. */
static void commit(struct sim *sim, struct process *process, const struct rp_copy_action *action,
                   struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;
        struct rp_mark marks[SIM_SOURCE_MAX];
        struct rp_note note;
        bool is_faulty = happens(sim, 2 * sim->fault_percent);

        for (size_t i = 0; i < action->mark_cnt; i++) {
                marks[i] = action->marks[i];
                marks[i].partition = stored_at(sim, process, action->marks[i].partition);
                if (sim->mistake == SIM_STORES_TOO_MUCH && marks[i].next < cluster->sources[marks[i].partition].lso)
                        marks[i].next++;
                if (sim->is_group)
                        continue;
                if (!rp_note_parse(&note, marks[i].note) || strcmp(note.job, "job") || strcmp(note.by, process->by))
                        violation(sim, process, "a mark without its note");
        }
        if (is_faulty && sim_chance(cluster, 25)) { /* the coordinator heard nothing of it */
                answer->code = doubt(sim);
                return;
        }
        answer->code = sim_add_marks(cluster, process->id, process->epoch, process->txn, marks, action->mark_cnt,
                                     sim->is_group ? process->id : -1);
        if (answer->code != RP_OK) {
                answer->code = refused(sim, process, answer->code);
                return;
        }
        if (is_faulty && sim_chance(cluster, 50)) { /* EndTxn is on its way */
                sim_end_later(cluster, process->id, process->epoch, sim_any(cluster, 3000));
                answer->code = doubt(sim);
                return;
        }
        answer->code = refused(sim, process, sim_end(cluster, process->id, process->epoch, true));
        if (answer->code == RP_OK && is_faulty) /* done, but the answer is lost */
                answer->code = doubt(sim);
        if (answer->code == RP_OK) {
                process->is_open = false;
                for (size_t i = 0; i < action->mark_cnt; i++)
                        process->remembered[action->marks[i].partition] = marks[i].next;
        }
}

/* ---- looking and recovering ------------------------------------------------------------------------------------------- */

/* Whether another process has gone on from where this one was. */
static bool is_gone_on(const struct sim *sim, const struct process *process)
{
        for (int p = 0; p < process->place_cnt; p++) {
                int slot = process->slots[p];

                if (sim->cluster.stored[slot].next >= 0 && sim->cluster.stored[slot].by != process->number &&
                    sim->cluster.stored[slot].next > process->remembered[p])
                        return true;
        }
        return false;
}

/* false: not now, ask again later. */
static bool look(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        if (happens(sim, sim->fault_percent)) {
                process->saw_foreign = false;
                answer->code = RP_ERR_RETRY;
                return true;
        }
        if (!fetch(sim, process)) {
                process->saw_foreign = false;
                answer->code = RP_ERR_RETRY;
                return ++process->waits > PATIENCE;
        }
        process->saw_foreign = !sim->is_group && is_gone_on(sim, process);
        if (sim->mistake == SIM_DOES_NOT_LOOK)
                answer->code = RP_ERR_RETRY;
        return true;
}

static bool recover(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;
        bool is_first = process->epoch < 0;

        if (process->saw_foreign && !is_first)
                violation(sim, process, "took the job back from a run that had gone on with it");
        if (sim->mistake == SIM_READS_TOO_EARLY && !process->has_read) {
                process->has_read = fetch(sim, process); /* and only some time later ... */
                return false;
        }
        process->has_read = false;
        if (!process->waits && !(sim->mistake == SIM_REUSES_PRODUCER && !is_first)) {
                process->epoch = sim_init(cluster, process->id);
        } else if (!process->waits && process->is_open) {
                sim_end(cluster, process->id, process->epoch, false);
        }
        process->is_open = false;
        if (happens(sim, sim->fault_percent)) {
                answer->code = sim_chance(cluster, 50) ? RP_ERR_RETRY : RP_ERR_ABORT_BATCH;
                return true;
        }
        if (sim->mistake != SIM_READS_TOO_EARLY && !fetch(sim, process)) {
                answer->code = RP_ERR_RETRY;
                return ++process->waits > PATIENCE;
        }
        for (int p = 0; p < process->place_cnt; p++) {
                if (sim->mistake == SIM_TRUSTS_MEMORY && !is_first && process->remembered[p] >= 0)
                        rp_progress_set(&process->copy.seen, p, process->remembered[p], process->copy.seen.marks[p].note);
                process->remembered[p] = process->copy.seen.marks[p].next;
        }
        return true;
}

/* Every run reads to its own ends, whatever those of the pass were. */
static void forget_ends(struct sim *sim, struct process *process)
{
        for (int p = 0; p < process->place_cnt; p++)
                if (process->ranges[p].first < process->ranges[p].end)
                        process->ranges[p].end = source_at(sim, process, p)->lso;
}

static void read_from(struct sim *sim, struct process *process)
{
        for (int p = 0; p < process->place_cnt; p++) {
                struct rp_range range = process->copy.ranges[p];

                if (sim->is_group && range.first >= range.end)
                        continue;
                if (sim->is_group && range.first < 0)
                        range.first = source_at(sim, process, p)->low;
                if (sim->is_group && sim->mistake == SIM_DOES_NOT_REWIND && process->ranges[p].first > range.first)
                        continue;
                process->ranges[p] = range;
        }
        process->run_cnt = process->run_at = 0;
        if (sim->mistake == SIM_FORGETS_ENDS)
                forget_ends(sim, process);
}

/* ---- the group --------------------------------------------------------------------------------------------------------- */

static void stop_reading(struct process *process)
{
        for (size_t i = 0; i < process->told_cnt; i++)
                process->ranges[process->told[i]] = (struct rp_range){ 0 };
}

/* What the group has to tell a member that polls. */
static void poll_group(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        struct sim_cluster *cluster = &sim->cluster;
        int me = process->id;

        process->told_cnt = 0;
        process->told_what = RP_COPY_KEEPS;
        if (cluster->members[me].is_kicked) {
                sim->figures->losses++;
                for (int p = 0; p < cluster->source_cnt; p++)
                        if (process->ranges[p].first < process->ranges[p].end)
                                process->told[process->told_cnt++] = p;
                sim_join(cluster, me);
                process->told_what = process->told_cnt ? RP_COPY_LOST : RP_COPY_KEEPS;
                if (sim->mistake == SIM_OVERLOOKS_LOSS)
                        process->told_what = RP_COPY_KEEPS;
        }
        cluster->members[me].heard_ms = cluster->now_ms;
        cluster->members[me].generation = cluster->generation;
        for (int p = 0; !process->told_cnt && p < cluster->source_cnt; p++)
                if (cluster->owner[p] == me && cluster->wanted[p] != me) {
                        for (int q = p; q < cluster->source_cnt; q++)
                                if (cluster->owner[q] == me && cluster->wanted[q] != me)
                                        process->told[process->told_cnt++] = q;
                        process->told_what = RP_COPY_REVOKED;
                }
        for (int p = 0; !process->told_cnt && p < cluster->source_cnt; p++)
                if (cluster->owner[p] < 0 && cluster->wanted[p] == me) {
                        for (int q = p; q < cluster->source_cnt; q++)
                                if (cluster->owner[q] < 0 && cluster->wanted[q] == me) {
                                        cluster->owner[q] = me;
                                        process->told[process->told_cnt++] = q;
                                }
                        process->told_what = RP_COPY_ASSIGNED;
                }
        answer->rebalance = process->told_what;
        answer->partitions = process->told;
        answer->partition_cnt = process->told_cnt;
        if (process->told_what == RP_COPY_REVOKED || process->told_what == RP_COPY_LOST)
                stop_reading(process);
        if (process->told_what == RP_COPY_REVOKED && sim->mistake == SIM_GIVES_BACK_TOO_EARLY)
                for (size_t i = 0; i < process->told_cnt; i++)
                        cluster->owner[process->told[i]] = -1;
}

static void release(struct sim *sim, struct process *process)
{
        for (size_t i = 0; i < process->told_cnt; i++)
                if (sim->cluster.owner[process->told[i]] == process->id)
                        sim->cluster.owner[process->told[i]] = -1;
}

/* ---- one step of a process ---------------------------------------------------------------------------------------------- */

/* At the moment at which the core asks for a wait. */
static void check_patience(struct sim *sim, const struct process *process)
{
        const struct rp_copy_action *action = &process->action;

        if (action->what != RP_COPY_TAKE && action->what != RP_COPY_HOLD)
                return;
        if (action->wait_ms < 0 || action->wait_ms > LIMIT_MS)
                violation(sim, process, "a wait of no sense");
        if (process->is_open && sim->cluster.now_ms + action->wait_ms - process->begun_ms > LIMIT_MS)
                violation(sim, process, "waits with a transaction open beyond its limit");
}

/* false: the answer cannot be given yet. */
static bool perform(struct sim *sim, struct process *process, struct rp_copy_answer *answer)
{
        const struct rp_copy_action *action = &process->action;
        struct sim_cluster *cluster = &sim->cluster;

        if (process->is_fenced && action->what != RP_COPY_LOOK && !sim->is_group)
                violation(sim, process, "went on after it was fenced");
        switch (action->what) {
        case RP_COPY_BOUNDS:
                for (int p = 0; p < process->place_cnt; p++)
                        process->copy.bounds[p] = (struct rp_range){ source_at(sim, process, p)->low,
                                                                     source_at(sim, process, p)->lso };
                break;
        case RP_COPY_LOOK:
                return look(sim, process, answer);
        case RP_COPY_RECOVER:
                return recover(sim, process, answer);
        case RP_COPY_READ:
                read_from(sim, process);
                break;
        case RP_COPY_TAKE:
                if (sim->is_group)
                        poll_group(sim, process, answer);
                if (answer->rebalance == RP_COPY_KEEPS)
                        take(sim, process, answer);
                break;
        case RP_COPY_BEGIN:
                begin(sim, process, answer);
                break;
        case RP_COPY_APPEND:
                append(sim, process, answer);
                break;
        case RP_COPY_COMMIT:
                commit(sim, process, action, answer);
                if (answer->code != RP_OK && answer->code != RP_ERR_FENCED && sim->mistake == SIM_BELIEVES_COMMITS)
                        answer->code = RP_OK;
                break;
        case RP_COPY_ABORT:
                answer->code = happens(sim, sim->fault_percent) ? doubt(sim)
                               : refused(sim, process, sim_end(cluster, process->id, process->epoch, false));
                process->is_open &= answer->code != RP_OK;
                break;
        case RP_COPY_RELEASE:
                release(sim, process);
                break;
        case RP_COPY_HOLD:
                if (sim->is_group)
                        poll_group(sim, process, answer);
                break;
        default:
                violation(sim, process, "asked for something unknown");
        }
        return true;
}

static void bury(struct sim *sim, struct process *process)
{
        process->is_alive = false;
        sim->figures->recoveries += (unsigned)process->copy.stats.recoveries;
        sim->figures->uncertain += (unsigned)process->copy.stats.uncertain;
        rp_copy_release(&process->copy);
        rp_topics_release(&process->topics);
}

/* An error about a place must name its topic and its number there: of a partition that has lost records. */
static void check_named(struct sim *sim, const struct process *process)
{
        char text[80];

        for (int slot = 0; slot < sim->cluster.source_cnt; slot++) {
                const struct sim_source *source = &sim->cluster.sources[slot];

                snprintf(text, sizeof(text), "partition %d of topic \"%s\"", source->partition, topic_names[source->topic]);
                if (source->low > 0 && strstr(process->copy.error.text, text))
                        return;
        }
        violation(sim, process, process->copy.error.text);
}

/* Whether the way it ended was a right one. */
static void end(struct sim *sim, struct process *process)
{
        struct sim_cluster *cluster = &sim->cluster;

        switch (process->copy.error.code) {
        case RP_OK:
                sim->figures->stops += process->copy.stats.is_stopped;
                if (process->is_open)
                        violation(sim, process, "ended well with a transaction open");
                sim->is_finished |= process->is_of_calm && !process->copy.stats.is_stopped;
                break;
        case RP_ERR_FENCED:
                sim->figures->fenced++;
                if (cluster->ids[process->id].epoch == process->epoch && !is_gone_on(sim, process))
                        violation(sim, process, "says that it was fenced, but nobody took over");
                break;
        case RP_ERR_INCOMPLETE:
                if (!sim->figures->truncated)
                        violation(sim, process, process->copy.error.text);
                else if (strstr(process->copy.error.text, "partition"))
                        check_named(sim, process);
                sim->is_finished |= process->is_of_calm;
                break;
        case RP_ERR_USAGE:
                sim->figures->outgrown++;
                if (process->place_cnt == cluster->source_cnt || !strstr(process->copy.error.text, "run it again"))
                        violation(sim, process, process->copy.error.text);
                break;
        default:
                sim->figures->ended_badly++;
                if (process->is_of_calm || strstr(process->copy.error.text, "lost") ||
                    strstr(process->copy.error.text, "contradicts"))
                        violation(sim, process, process->copy.error.text);
        }
        if (sim->is_group)
                sim_leave(cluster, process->id);
        bury(sim, process);
}

static void crash(struct sim *sim, struct process *process)
{
        sim->figures->crashes++;
        bury(sim, process);
}

/* For whoever replays a seed. */
static void trace(const struct sim *sim, const struct process *process, const struct rp_copy_answer *answer)
{
        static const char *const names[] = { "look", "recover", "bounds", "read", "take", "begin", "append", "commit", "abort",
                                             "release", "hold", "end" };
        const struct rp_copy *copy = &process->copy;

        if (!sim->is_traced)
                return;
        printf("%8lld  process %-3d epoch %-3d", (long long)sim->cluster.now_ms, process->number, process->epoch);
        if (answer)
                printf(" answer %d%s%s, %zu taken, %llu appended;", (int)answer->code, answer->wants_stop ? " stop" : "",
                       answer->is_done ? " done" : "", answer->cnt, (unsigned long long)answer->records);
        printf(" %s", names[process->action.what]);
        for (size_t i = 0; i < process->action.mark_cnt; i++)
                printf(" %d:%lld", (int)process->action.marks[i].partition, (long long)process->action.marks[i].next);
        printf("%s\n", process->action.what == RP_COPY_END ? copy->error.text : "");
}

static void step(struct sim *sim, struct process *process)
{
        struct sim_cluster *cluster = &sim->cluster;
        static const struct rp_error trouble = { .text = "simulated trouble" };
        struct rp_copy_answer answer = { .code = RP_OK, .err = &trouble };
        bool is_answered;

        if (happens(sim, 1)) {
                crash(sim, process);
                return;
        }
        if (happens(sim, 1)) {
                sim->figures->sleeps++;
                process->wakes_ms = cluster->now_ms + 1000 + sim_any(cluster, 25000);
                return;
        }
        is_answered = perform(sim, process, &answer);
        if (!is_answered) {
                sim_pass(cluster, PATIENCE_MS);
                return;
        }
        sim_pass(cluster, sim_chance(cluster, 5) ? sim_any(cluster, 1000) : sim_any(cluster, 40));
        process->waits = 0;
        if (happens(sim, 1)) { /* done, but it did not live to hear of it */
                crash(sim, process);
                return;
        }
        answer.now_ms = cluster->now_ms;
        answer.wants_stop = happens(sim, 1) || (sim->is_group && sim->is_finished);
        answer.hold_ms = happens(sim, 8) ? sim_any(cluster, 3000) : 0;
        if (process->action.what == RP_COPY_BEGIN)
                process->begun_ms = cluster->now_ms;
        process->action = rp_copy_answer(&process->copy, &answer);
        trace(sim, process, &answer);
        check_patience(sim, process);
        if (process->action.what == RP_COPY_END)
                end(sim, process);
}

static void spawn(struct sim *sim, struct process *process)
{
        struct rp_copy_config config = {
                .form = sim->is_group ? RP_COPY_GROUP : RP_COPY_PASSES, .partition_cnt = sim->cluster.source_cnt,
                .topic = topic_names[0], .identity = "job", .by = process->by, .transaction_ms = LIMIT_MS,
                .transaction_bytes = 50 + sim_any(&sim->cluster, 200),
                .transaction_records = sim_any(&sim->cluster, 2) ? 0 : 4 + sim_any(&sim->cluster, 20),
        };

        memset(process, 0, sizeof(*process));
        process->number = ++sim->next_number;
        process->epoch = -1;
        process->is_alive = true;
        process->is_of_calm = !sim->is_chaos;
        process->id = sim->is_group ? process->number : 0;
        for (int p = 0; p < SIM_SOURCE_MAX; p++)
                process->remembered[p] = -1;
        snprintf(process->by, sizeof(process->by), "process %d", process->number);
        look_at_topics(sim, process);
        config.topics = topics_of(process);
        if (!rp_copy_init(&process->copy, &config))
                abort();
        process->action = rp_copy_begin(&process->copy, sim->cluster.now_ms);
        if (sim->is_group)
                sim_join(&sim->cluster, process->id);
        sim->figures->processes++;
}

/* ---- the world ------------------------------------------------------------------------------------------------------------ */

static void disturb(struct sim *sim)
{
        struct sim_cluster *cluster = &sim->cluster;
        struct sim_source *source = &cluster->sources[sim_any(cluster, (unsigned)cluster->source_cnt)];

        if (happens(sim, 3))
                sim_grow(cluster, 1 + sim_any(cluster, 12), sim->skips);
        if (happens(sim, 1))
                source->hangs_until_ms = cluster->now_ms + sim_any(cluster, 4000);
        if (!sim->is_group && cluster->source_cnt < SIM_SOURCE_MAX && sim_any(cluster, 4) == 0 && happens(sim, 1)) {
                sim->figures->grown++;
                sim_add_partition(cluster, (int)sim_any(cluster, (unsigned)cluster->topic_cnt));
        }
        if (sim->is_group && happens(sim, 3)) {
                sim->figures->rebalances++;
                sim_rebalance(cluster);
        }
        if (sim->figures->truncated == 1 && happens(sim, 1)) { /* retention catches up */
                source->low = source->lso;
                sim->figures->truncated = 2;
        }
}

/* One process that is awake takes a step; time passes if there is none. */
static void advance(struct sim *sim)
{
        struct process *ready[PROCESS_MAX], *free_one = NULL;
        unsigned cnt = 0, alive = 0, wanted = sim->is_group ? 3 : 1;

        for (int i = 0; i < PROCESS_MAX; i++) {
                struct process *process = &sim->processes[i];

                alive += process->is_alive;
                if (!process->is_alive)
                        free_one = process;
                else if (process->wakes_ms <= sim->cluster.now_ms)
                        ready[cnt++] = process;
        }
        /* A second one is started by somebody who thinks that the first is dead. */
        if (free_one && (!sim->is_group || sim->next_number < SIM_MEMBER_MAX - (sim->is_chaos ? 8 : 1)) &&
            (alive == 0 || (alive < wanted && sim_chance(&sim->cluster, 10)) || (!sim->is_group && happens(sim, 1))))
                spawn(sim, free_one);
        else if (cnt)
                step(sim, ready[sim_any(&sim->cluster, cnt)]);
        else
                sim_pass(&sim->cluster, 500);
}

static bool has_all(const struct sim *sim)
{
        for (int p = 0; p < sim->cluster.source_cnt; p++) {
                const struct sim_source *source = &sim->cluster.sources[p];
                int64_t at = sim->cluster.stored[p].next < 0 ? 0 : sim->cluster.stored[p].next;

                for (; at < source->end; at++)
                        if (source->entries[at].kind == SIM_COMMITTED && !source->entries[at].is_skipped)
                                return false;
        }
        return true;
}

static bool is_over(struct sim *sim)
{
        if (*sim->cluster.violation)
                return true;
        if (!sim->is_group) {
                for (int i = 0; i < PROCESS_MAX; i++)
                        if (sim->processes[i].is_alive)
                                return false;
                return sim->is_finished;
        }
        sim->is_finished |= !sim->is_chaos && has_all(sim);
        for (int i = 0; i < PROCESS_MAX; i++)
                if (sim->processes[i].is_alive)
                        return false;
        return sim->is_finished;
}

/* ---- judging --------------------------------------------------------------------------------------------------------------- */

/* Everything once that should be there, nothing that should not. */
static void judge_content(struct sim *sim)
{
        struct sim_cluster *cluster = &sim->cluster;

        for (int p = 0; p < cluster->source_cnt; p++) {
                struct rp_note note = { .first = 0 };

                if (sim->figures->truncated && !rp_note_parse(&note, cluster->stored[p].note))
                        continue;
                for (int64_t at = 0; at < cluster->sources[p].end; at++) {
                        const struct sim_source_entry *entry = &cluster->sources[p].entries[at];
                        bool is_due = !sim->figures->truncated || (at >= note.first && at < cluster->stored[p].next);

                        if (entry->kind == SIM_COMMITTED && cluster->copies[entry->serial] != (is_due && !entry->is_skipped))
                                sim_violation(cluster, "in the end the record at %d:%d is there %d times", p, (int)at,
                                              cluster->copies[entry->serial]);
                }
        }
}

/* The order of each source partition is kept in each target partition; and every record is where its key belongs. */
static void judge_order(struct sim *sim)
{
        struct sim_cluster *cluster = &sim->cluster;

        for (int to = 0; to < cluster->target_cnt; to++) {
                int64_t last[SIM_SOURCE_MAX];

                for (int p = 0; p < SIM_SOURCE_MAX; p++)
                        last[p] = -1;
                for (size_t i = 0; i < cluster->targets[to].cnt; i++) {
                        int source = cluster->targets[to].entries[i].source;
                        int64_t offset = cluster->targets[to].entries[i].offset;

                        if (cluster->txns[cluster->targets[to].entries[i].txn].state != SIM_TXN_COMMITTED)
                                continue;
                        if (offset <= last[source])
                                sim_violation(cluster, "the record at %d:%d comes too late", source, (int)offset);
                        last[source] = offset;
                        if (sim_target_of(cluster, cluster->sources[source].entries[offset].key) != to)
                                sim_violation(cluster, "the record at %d:%d is misplaced", source, (int)offset);
                }
        }
}

/* Merges pass by pass as the stored notes say, and compares record by record. */
static void judge_merge(struct sim *sim)
{
        struct sim_cluster *cluster = &sim->cluster;
        struct rp_note notes[SIM_SOURCE_MAX] = { { .first = 0 } };
        struct process reader = { .number = 0 };
        size_t at[SIM_TARGET_MAX] = { 0 }, pass_cnt = 0;

        look_at_topics(sim, &reader);
        for (int p = 0; p < reader.place_cnt; p++) {
                int slot = reader.slots[p];
                bool is_noted = rp_note_parse(&notes[p], cluster->stored[slot].note);

                /* Those that came later have no part in the first passes, and empty ones perhaps in none. */
                if (is_noted ? slot < sim->source_cnt_at_first && pass_cnt && notes[p].pass_cnt != pass_cnt
                             : slot < sim->source_cnt_at_first || cluster->stored[slot].next >= 0) {
                        sim_violation(cluster, "the passes are not noted alike");
                        break;
                }
                if (is_noted && slot < sim->source_cnt_at_first)
                        pass_cnt = notes[p].pass_cnt;
        }
        for (size_t pass = 0; pass < pass_cnt && !*cluster->violation; pass++) {
                for (int p = 0; p < reader.place_cnt; p++) {
                        size_t late = pass_cnt - notes[p].pass_cnt;
                        const int64_t *ends = notes[p].ends;

                        reader.ranges[p] = (struct rp_range){ 0 };
                        if (pass >= late)
                                reader.ranges[p] = (struct rp_range){ pass > late ? ends[pass - late - 1] : notes[p].first,
                                                                      ends[pass - late] };
                }
                for (int p; (p = next_partition(sim, &reader)) >= 0;) {
                        int64_t offset = next_record(sim, &reader, p);
                        const struct sim_source_entry *entry = &source_at(sim, &reader, p)->entries[offset];
                        int to = sim_target_of(cluster, entry->key);
                        struct sim_target *target = &cluster->targets[to];

                        reader.ranges[p].first = offset + 1;
                        if (entry->is_skipped)
                                continue;
                        while (at[to] < target->cnt &&
                               cluster->txns[target->entries[at[to]].txn].state != SIM_TXN_COMMITTED)
                                at[to]++;
                        if (at[to] == target->cnt || target->entries[at[to]++].serial != entry->serial) {
                                sim_violation(cluster, "partition %d is not merged as it should be", to);
                                break;
                        }
                }
        }
        rp_topics_release(&reader.topics);
}

static void judge(struct sim *sim)
{
        unsigned commits = sim->cluster.commits;

        sim_settle(&sim->cluster);
        judge_content(sim);
        judge_order(sim);
        if (sim->is_group || sim->figures->truncated || *sim->cluster.violation)
                return;
        judge_merge(sim);
        sim->is_finished = false; /* again: there is nothing left to do */
        for (int i = 0; i < CALM_STEPS && !is_over(sim); i++)
                advance(sim);
        if (sim->cluster.commits != commits)
                sim_violation(&sim->cluster, "a second run wrote");
}

/* Up to four partitions to begin with, of one topic or several. */
static void make_topics(struct sim *sim, bool is_group)
{
        struct sim_cluster *cluster = &sim->cluster;
        int cnt = 1 + (int)sim_any(cluster, 4), topic_cnt = is_group ? 1 : 1 + (int)sim_any(cluster, SIM_TOPIC_MAX);

        for (int p = 0; p < cnt; p++)
                sim_add_partition(cluster, p < topic_cnt ? p : (int)sim_any(cluster, (unsigned)topic_cnt));
        sim->source_cnt_at_first = cnt;
        sim->figures->several = cluster->topic_cnt > 1;
}

static bool run(uint64_t seed, bool is_group, sim_mistake_t mistake, struct sim_figures *figures, char text[200])
{
        struct sim *sim = calloc(1, sizeof(*sim));
        int chaos_steps;

        assert(sim);
        *figures = (struct sim_figures){ 0 };
        sim->figures = figures;
        sim_cluster_init(&sim->cluster, seed);
        make_topics(sim, is_group);
        sim->cluster.target_cnt = 1 + (int)sim_any(&sim->cluster, SIM_TARGET_MAX);
        sim->mistake = mistake;
        sim->is_group = is_group;
        sim->is_chaos = true;
        sim->is_traced = getenv("KR_SIM_TRACE");
        sim->skips = sim_chance(&sim->cluster, 25);
        sim->fault_percent = (int)sim_any(&sim->cluster, 12);
        figures->truncated = !is_group && sim_chance(&sim->cluster, 10);
        chaos_steps = 100 + (int)sim_any(&sim->cluster, 500);
        sim_grow(&sim->cluster, 20 + sim_any(&sim->cluster, 100), sim->skips);
        sim_pass(&sim->cluster, 0);
        for (int i = 0; i < chaos_steps && !*sim->cluster.violation; i++) {
                disturb(sim);
                advance(sim);
        }
        sim->is_chaos = false;
        if (sim->is_traced)
                printf("%8lld  from now on all is calm\n", (long long)sim->cluster.now_ms);
        figures->truncated = figures->truncated == 2; /* 1: it could have happened */
        sim_settle(&sim->cluster);
        for (int i = 0; i < CALM_STEPS && !is_over(sim); i++, figures->steps++)
                advance(sim);
        if (!*sim->cluster.violation && !is_over(sim))
                sim_violation(&sim->cluster, "it does not come to an end");
        if (!*sim->cluster.violation)
                judge(sim);
        for (int i = 0; i < PROCESS_MAX; i++)
                if (sim->processes[i].is_alive)
                        bury(sim, &sim->processes[i]);
        figures->steps += (unsigned)chaos_steps;
        figures->commits = sim->cluster.commits;
        figures->voids = sim->cluster.voids;
        figures->timeouts = sim->cluster.timeouts;
        figures->late_hits = sim->cluster.late_hits;
        figures->late_fenced = sim->cluster.late_fenced;
        memcpy(text, sim->cluster.violation, sizeof(sim->cluster.violation));
        sim_cluster_release(&sim->cluster);
        free(sim);
        return !*text;
}

bool sim_run_passes(uint64_t seed, sim_mistake_t mistake, struct sim_figures *figures, char text[200])
{
        return run(seed, false, mistake, figures, text);
}

bool sim_run_group(uint64_t seed, sim_mistake_t mistake, struct sim_figures *figures, char text[200])
{
        return run(seed, true, mistake, figures, text);
}
