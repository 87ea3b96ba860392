#include "flows.h"

#include <stdlib.h>

static size_t place_of(int32_t from, int32_t to, size_t size)
{
        uint64_t pair = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;

        return (size_t)(pair * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
}

static struct kr_flow *find(const struct kr_flows *flows, int32_t from, int32_t to)
{
        size_t at = place_of(from, to, flows->size);

        while (flows->items[at].from >= 0 && (flows->items[at].from != from || flows->items[at].to != to))
                at = (at + 1) & (flows->size - 1);
        return &flows->items[at];
}

static bool grow(struct kr_flows *flows)
{
        struct kr_flows grown = { .size = flows->size ? 2 * flows->size : 256, .cnt = flows->cnt, .total = flows->total };

        grown.items = malloc(grown.size * sizeof(*grown.items));
        if (!grown.items)
                return false;
        for (size_t i = 0; i < grown.size; i++)
                grown.items[i].from = -1;
        for (size_t i = 0; i < flows->size; i++)
                if (flows->items[i].from >= 0)
                        *find(&grown, flows->items[i].from, flows->items[i].to) = flows->items[i];
        free(flows->items);
        *flows = grown;
        return true;
}

bool kr_flows_add(struct kr_flows *flows, int32_t from, int32_t to, double weight)
{
        struct kr_flow *flow;

        if (2 * flows->cnt >= flows->size && !grow(flows))
                return false;
        flow = find(flows, from, to);
        if (flow->from < 0) {
                *flow = (struct kr_flow){ from, to, 0 };
                flows->cnt++;
        }
        flow->share += weight;
        flows->total += weight;
        return true;
}

static int by_share(const void *a, const void *b)
{
        const struct kr_flow *x = a, *y = b;

        if (x->share != y->share)
                return x->share > y->share ? -1 : 1;
        if (x->from != y->from)
                return x->from < y->from ? -1 : 1;
        return x->to < y->to ? -1 : x->to > y->to;
}

struct kr_flow *kr_flows_finish(struct kr_flows *flows, size_t *cnt, double *moved)
{
        struct kr_flow *out = malloc((flows->cnt + 1) * sizeof(*out));
        double weight = 0;

        *cnt = 0;
        for (size_t i = 0; out && i < flows->size; i++) {
                struct kr_flow flow = flows->items[i];

                if (flow.from < 0 || flow.from == flow.to)
                        continue;
                weight += flow.share;
                flow.share /= flows->total;
                out[(*cnt)++] = flow;
        }
        *moved = flows->total > 0 ? weight / flows->total : 0;
        if (out)
                qsort(out, *cnt, sizeof(*out), by_share);
        kr_flows_release(flows);
        return out;
}

void kr_flows_release(struct kr_flows *flows)
{
        free(flows->items);
        *flows = (struct kr_flows){ 0 };
}
