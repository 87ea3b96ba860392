/* decide/flow: each flow proves itself. No way is left from source to sink, and no cheaper way round anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/flow.h"

enum { NODE_MAX = 14, ARC_MAX = 60 };

struct arc {
        size_t from, to;
        int64_t cost;
};

static uint32_t next_random(uint32_t *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 8;
}

/* Distances over what room is left, an arc's way back included, from all nodes at once. @returns false on a cheaper round. */
static bool no_cheaper_round(const struct rp_flow *flow, const struct arc *arcs, size_t arc_cnt, size_t node_cnt)
{
        int64_t distances[NODE_MAX] = { 0 };
        bool changed = true;

        for (size_t round = 0; changed; round++) {
                changed = false;
                for (size_t a = 0; a < arc_cnt; a++) {
                        const struct arc *arc = &arcs[a];

                        if (rp_flow_room(flow, a) && distances[arc->from] + arc->cost < distances[arc->to]) {
                                distances[arc->to] = distances[arc->from] + arc->cost;
                                changed = true;
                        }
                        if (rp_flow_taken(flow, a) && distances[arc->to] - arc->cost < distances[arc->from]) {
                                distances[arc->from] = distances[arc->to] - arc->cost;
                                changed = true;
                        }
                }
                if (round > node_cnt)
                        return false;
        }
        return true;
}

static bool is_full(const struct rp_flow *flow, const struct arc *arcs, size_t arc_cnt, size_t source, size_t sink)
{
        bool reached[NODE_MAX] = { false };
        bool changed = true;

        reached[source] = true;
        while (changed) {
                changed = false;
                for (size_t a = 0; a < arc_cnt; a++) {
                        if (reached[arcs[a].from] && !reached[arcs[a].to] && rp_flow_room(flow, a))
                                changed = reached[arcs[a].to] = true;
                        if (reached[arcs[a].to] && !reached[arcs[a].from] && rp_flow_taken(flow, a))
                                changed = reached[arcs[a].from] = true;
                }
        }
        return !reached[sink];
}

static void test_flows_are_full_and_cheapest(void **state)
{
        uint32_t seed = 1;
        int through = 0;

        (void)state;
        for (int round = 0; round < 4000; round++) {
                size_t node_cnt = 3 + next_random(&seed) % (NODE_MAX - 2), arc_cnt = 1 + next_random(&seed) % ARC_MAX;
                struct rp_flow *flow = rp_flow_new(node_cnt, arc_cnt);
                int64_t rooms[ARC_MAX], net[NODE_MAX] = { 0 }, total;
                struct arc arcs[ARC_MAX];

                assert_non_null(flow);
                for (size_t a = 0; a < arc_cnt; a++) {
                        arcs[a] = (struct arc){ next_random(&seed) % node_cnt, next_random(&seed) % node_cnt,
                                                next_random(&seed) % (round % 2 ? 4 : 1000) };
                        if (arcs[a].to == arcs[a].from)
                                arcs[a].to = (arcs[a].to + 1) % node_cnt;
                        rooms[a] = next_random(&seed) % 5;
                        assert_int_equal(rp_flow_arc(flow, arcs[a].from, arcs[a].to, rooms[a], arcs[a].cost), a);
                }
                total = rp_flow_run(flow, 0, 1);
                for (size_t a = 0; a < arc_cnt; a++) {
                        assert_in_range(rp_flow_taken(flow, a), 0, rooms[a]);
                        assert_int_equal(rp_flow_taken(flow, a) + rp_flow_room(flow, a), rooms[a]);
                        net[arcs[a].from] -= rp_flow_taken(flow, a);
                        net[arcs[a].to] += rp_flow_taken(flow, a);
                }
                assert_int_equal(net[0], -total);
                assert_int_equal(net[1], total);
                for (size_t n = 2; n < node_cnt; n++)
                        assert_int_equal(net[n], 0);
                assert_true(is_full(flow, arcs, arc_cnt, 0, 1));
                assert_true(no_cheaper_round(flow, arcs, arc_cnt, node_cnt));
                through += total > 2;
                rp_flow_free(flow);
        }
        assert_true(through > 1000);
}

/* What is pushed beforehand is taken back where it stands in the way of something better. */
static void test_a_push_is_no_more_than_a_start(void **state)
{
        const struct arc arcs[] = { { 0, 2, 0 }, { 0, 3, 0 }, { 2, 4, 0 }, { 2, 5, 7 }, { 3, 4, 0 }, { 4, 1, 0 }, { 5, 1, 0 } };
        struct rp_flow *flow = rp_flow_new(6, 7);

        (void)state;
        for (size_t a = 0; a < 7; a++)
                rp_flow_arc(flow, arcs[a].from, arcs[a].to, 1, arcs[a].cost);
        rp_flow_push(flow, 0);
        rp_flow_push(flow, 2);
        rp_flow_push(flow, 5);
        assert_int_equal(rp_flow_run(flow, 0, 1), 1);
        assert_int_equal(rp_flow_taken(flow, 2), 0);
        assert_int_equal(rp_flow_taken(flow, 3), 1);
        assert_int_equal(rp_flow_taken(flow, 4), 1);
        rp_flow_free(flow);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_flows_are_full_and_cheapest),
                cmocka_unit_test(test_a_push_is_no_more_than_a_start),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
