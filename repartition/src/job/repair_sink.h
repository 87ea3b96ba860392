/**
 * The way out of a repair: an rp_sink around another one. It gives the records the form that a repair gives them, and holds
 * them back until the commit; then it looks at what was written to the topic since it was judged, leaves out what has
 * become stale, and writes and commits the rest in one short transaction. Before it commits it looks once more, and begins
 * again without what was overtaken in between. That last look comes when the copies have their places in the log: what arrives
 * after it lies behind them, as it should.
 */
#ifndef RP_REPAIR_SINK_H
#define RP_REPAIR_SINK_H

#include "decide/repair.h"
#include "io/sink.h"
#include "io/source.h"
#include "job/repair_record.h"

struct rp_repair_sink_config {
        struct rp_sink *inner;       /* borrowed */
        struct rp_source *tail;      /* the same topic, uncommitted records and all; borrowed */
        const struct rp_range *from; /* looks begin at the `end` of what was judged; copied */
        rp_repair_t *repair;         /* borrowed */
        const char *topic;
        const char *identity;        /* of this pass */
        const char *previous;        /* of the pass whose progress was stored before: none of ours. "" for none */
        bool tombstones, mark;
        struct rp_repair_record *record; /* is told, and says, what each transaction holds. NULL: none */
        /** Asked before each commit whether the topic is what it was when it was judged. May be NULL. */
        rp_err_t (*unchanged)(void *arg, struct rp_error *err);
        void *arg;
};

/** @returns a sink, the caller's to ops->free(), which leaves the inner one alone; NULL when memory is out. */
struct rp_sink *rp_repair_sink_new(const struct rp_repair_sink_config *config);

/** To be told what became of the last commit: counts what it wrote. */
void rp_repair_sink_settle(struct rp_sink *sink, bool is_committed);

/** @returns how many records were committed, and their bytes of keys and values. */
uint64_t rp_repair_sink_written(const struct rp_sink *sink, uint64_t *bytes);

#endif
