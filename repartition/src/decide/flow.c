#include "decide/flow.h"

#include <stdlib.h>

enum { NONE = UINT32_MAX };

/* Arc i and its way back stand side by side, at 2i and 2i + 1. */
struct edge {
        rp_cost_t cost;
        int64_t room;
        uint32_t to;
        uint32_t next; /* of the same node */
};

struct rp_flow {
        size_t node_cnt;
        size_t edge_cnt;
        struct edge *edges;
        uint32_t *first;       /* by node: its newest edge */
        uint32_t *cursor;      /* by node: the edge to go on with */
        rp_cost_t *potentials; /* by node: keep every reduced cost at 0 or above */
        rp_cost_t *distances;
        bool *seen;
        uint32_t *path;        /* edges from the source to where we stand */
        uint32_t *heap;        /* nodes by distance */
        uint32_t *heap_at;     /* by node: its place in the heap; NONE: not there */
        size_t heap_cnt;
};

struct rp_flow *rp_flow_new(size_t node_cnt, size_t arc_cnt)
{
        struct rp_flow *flow = calloc(1, sizeof(*flow));

        if (!flow)
                return NULL;
        flow->node_cnt = node_cnt;
        flow->edges = malloc((2 * arc_cnt + 1) * sizeof(*flow->edges));
        flow->first = malloc(node_cnt * sizeof(*flow->first));
        flow->cursor = malloc(node_cnt * sizeof(*flow->cursor));
        flow->potentials = calloc(node_cnt, sizeof(*flow->potentials));
        flow->distances = malloc(node_cnt * sizeof(*flow->distances));
        flow->seen = malloc(node_cnt * sizeof(*flow->seen));
        flow->path = malloc(node_cnt * sizeof(*flow->path));
        flow->heap = malloc(node_cnt * sizeof(*flow->heap));
        flow->heap_at = malloc(node_cnt * sizeof(*flow->heap_at));
        if (!flow->edges || !flow->first || !flow->cursor || !flow->potentials || !flow->distances || !flow->seen ||
            !flow->path || !flow->heap || !flow->heap_at) {
                rp_flow_free(flow);
                return NULL;
        }
        for (size_t i = 0; i < node_cnt; i++)
                flow->first[i] = NONE;
        return flow;
}

void rp_flow_free(struct rp_flow *flow)
{
        if (!flow)
                return;
        free(flow->edges);
        free(flow->first);
        free(flow->cursor);
        free(flow->potentials);
        free(flow->distances);
        free(flow->seen);
        free(flow->path);
        free(flow->heap);
        free(flow->heap_at);
        free(flow);
}

static void add_edge(struct rp_flow *flow, size_t from, size_t to, int64_t room, rp_cost_t cost)
{
        flow->edges[flow->edge_cnt] = (struct edge){ cost, room, (uint32_t)to, flow->first[from] };
        flow->first[from] = (uint32_t)flow->edge_cnt++;
}

size_t rp_flow_arc(struct rp_flow *flow, size_t from, size_t to, int64_t room, rp_cost_t cost)
{
        add_edge(flow, from, to, room, cost);
        add_edge(flow, to, from, 0, -cost);
        return flow->edge_cnt / 2 - 1;
}

void rp_flow_push(struct rp_flow *flow, size_t arc)
{
        flow->edges[2 * arc].room--;
        flow->edges[2 * arc + 1].room++;
}

int64_t rp_flow_taken(const struct rp_flow *flow, size_t arc)
{
        return flow->edges[2 * arc + 1].room;
}

int64_t rp_flow_room(const struct rp_flow *flow, size_t arc)
{
        return flow->edges[2 * arc].room;
}

/* ---- the nodes by distance: a binary heap that knows where each node stands ------------------------------------- */

static bool is_before(const struct rp_flow *flow, uint32_t a, uint32_t b)
{
        if (flow->distances[a] != flow->distances[b])
                return flow->distances[a] < flow->distances[b];
        return a < b;
}

static void heap_put(struct rp_flow *flow, size_t at, uint32_t node)
{
        flow->heap[at] = node;
        flow->heap_at[node] = (uint32_t)at;
}

static void heap_rise(struct rp_flow *flow, size_t at, uint32_t node)
{
        while (at && is_before(flow, node, flow->heap[(at - 1) / 2])) {
                heap_put(flow, at, flow->heap[(at - 1) / 2]);
                at = (at - 1) / 2;
        }
        heap_put(flow, at, node);
}

static uint32_t heap_pop(struct rp_flow *flow)
{
        uint32_t top = flow->heap[0], node = flow->heap[--flow->heap_cnt];
        size_t at = 0, child;

        flow->heap_at[top] = NONE;
        if (!flow->heap_cnt)
                return top;
        while ((child = 2 * at + 1) < flow->heap_cnt) {
                if (child + 1 < flow->heap_cnt && is_before(flow, flow->heap[child + 1], flow->heap[child]))
                        child++;
                if (!is_before(flow, flow->heap[child], node))
                        break;
                heap_put(flow, at, flow->heap[child]);
                at = child;
        }
        heap_put(flow, at, node);
        return top;
}

/* ---- shortest paths --------------------------------------------------------------------------------------------- */

static rp_cost_t reduced(const struct rp_flow *flow, uint32_t from, const struct edge *edge)
{
        return edge->cost + flow->potentials[from] - flow->potentials[edge->to];
}

/* Updates the potentials so that edges on shortest paths have the reduced cost 0. false: the sink is out of reach. */
static bool measure(struct rp_flow *flow, uint32_t source, uint32_t sink)
{
        bool found = false;

        for (size_t i = 0; i < flow->node_cnt; i++) {
                flow->distances[i] = -1; /* not reached */
                flow->heap_at[i] = NONE;
                flow->seen[i] = false; /* its distance is final */
        }
        flow->distances[source] = 0;
        flow->heap_cnt = 1;
        heap_put(flow, 0, source);
        while (flow->heap_cnt && !found) {
                uint32_t node = heap_pop(flow);

                flow->seen[node] = true;
                found = node == sink;
                for (uint32_t e = flow->first[node]; e != NONE && !found; e = flow->edges[e].next) {
                        const struct edge *edge = &flow->edges[e];
                        rp_cost_t d;

                        if (!edge->room || flow->seen[edge->to])
                                continue;
                        d = flow->distances[node] + reduced(flow, node, edge);
                        if (flow->distances[edge->to] >= 0 && flow->distances[edge->to] <= d)
                                continue;
                        if (flow->distances[edge->to] < 0)
                                flow->heap_at[edge->to] = (uint32_t)flow->heap_cnt++;
                        flow->distances[edge->to] = d;
                        heap_rise(flow, flow->heap_at[edge->to], edge->to);
                }
        }
        if (!found)
                return false;
        /* Whatever lies beyond the sink counts as far as the sink: that keeps every reduced cost at 0 or above. */
        for (size_t i = 0; i < flow->node_cnt; i++)
                flow->potentials[i] += flow->seen[i] ? flow->distances[i] : flow->distances[sink];
        return true;
}

/* One path of reduced cost 0 into flow->path. @returns its length, 0 when there is none. */
static size_t find_path(struct rp_flow *flow, uint32_t source, uint32_t sink)
{
        size_t len = 0;
        uint32_t node = source;

        flow->seen[source] = true;
        while (node != sink) {
                uint32_t e = flow->cursor[node];

                while (e != NONE && (!flow->edges[e].room || flow->seen[flow->edges[e].to] ||
                                     reduced(flow, node, &flow->edges[e])))
                        e = flow->edges[e].next;
                flow->cursor[node] = e;
                if (e != NONE) {
                        flow->path[len++] = e;
                        node = flow->edges[e].to;
                        flow->seen[node] = true;
                } else if (len) { /* a dead end: back, and not here again */
                        node = flow->edges[flow->path[--len] ^ 1].to;
                } else {
                        return 0;
                }
        }
        return len;
}

static int64_t send_all(struct rp_flow *flow, uint32_t source, uint32_t sink)
{
        int64_t total = 0;
        size_t len;

        for (size_t i = 0; i < flow->node_cnt; i++) {
                flow->seen[i] = false;
                flow->cursor[i] = flow->first[i];
        }
        while ((len = find_path(flow, source, sink))) {
                int64_t units = INT64_MAX;

                for (size_t i = 0; i < len; i++)
                        if (flow->edges[flow->path[i]].room < units)
                                units = flow->edges[flow->path[i]].room;
                for (size_t i = 0; i < len; i++) {
                        flow->edges[flow->path[i]].room -= units;
                        flow->edges[flow->path[i] ^ 1].room += units;
                        flow->seen[flow->edges[flow->path[i]].to] = false; /* dead ends stay seen */
                }
                total += units;
        }
        return total;
}

int64_t rp_flow_run(struct rp_flow *flow, size_t source, size_t sink)
{
        int64_t total = 0;

        while (measure(flow, (uint32_t)source, (uint32_t)sink))
                total += send_all(flow, (uint32_t)source, (uint32_t)sink);
        return total;
}
