/**
 * Cheapest flow of the greatest amount through a network: exact answers to "who gets what" questions, in integers. The
 * same network, built in the same order, gives the same flow everywhere.
 *
 * Method: successive shortest paths with node potentials (Dijkstra), and all paths of one length at once.
 */
#ifndef RP_FLOW_H
#define RP_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Costs of several ranks are stacked into one number, which then needs more than 64 bits. */
__extension__ typedef __int128 rp_cost_t;

struct rp_flow;

/** A network of node_cnt nodes and at most arc_cnt arcs. NULL when memory is out. */
struct rp_flow *rp_flow_new(size_t node_cnt, size_t arc_cnt);
void rp_flow_free(struct rp_flow *flow);

/**
 * Adds an arc; costs are never negative. Between the same two nodes several arcs may lie, such as a first unit that is
 * cheaper than the second.
 * @returns its number: 0, 1, 2, ...
 */
size_t rp_flow_arc(struct rp_flow *flow, size_t from, size_t to, int64_t room, rp_cost_t cost);

/**
 * Sends one unit over an arc before rp_flow_run(), which keeps it where that is as good as anything else. Only over arcs
 * of cost 0, and whoever does so continues the unit's way from the source to the sink.
 */
void rp_flow_push(struct rp_flow *flow, size_t arc);

/** Units that the arc has taken, and could still take. */
int64_t rp_flow_taken(const struct rp_flow *flow, size_t arc);
int64_t rp_flow_room(const struct rp_flow *flow, size_t arc);

/** Completes the flow. @returns the units that got through, without those that were pushed. */
int64_t rp_flow_run(struct rp_flow *flow, size_t source, size_t sink);

#endif
