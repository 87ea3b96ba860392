#include "assignment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool rp_assignment_add(struct rp_assignment *assignment, const char *topic, int32_t partition, const int32_t *replicas,
                       int32_t replica_cnt, uint64_t weight)
{
        struct rp_holding holding = { .partition = partition, .replica_cnt = replica_cnt, .weight = weight };

        /* Room doubles whenever the count is a power of two. */
        if (!(assignment->cnt & (assignment->cnt - 1))) {
                size_t room = assignment->cnt ? 2 * assignment->cnt : 1;
                struct rp_holding *grown = realloc(assignment->items, room * sizeof(*grown));

                if (!grown)
                        return false;
                assignment->items = grown;
        }
        holding.topic = strdup(topic);
        holding.replicas = malloc(((size_t)replica_cnt + 1) * sizeof(*replicas));
        if (!holding.topic || !holding.replicas) {
                free(holding.topic);
                free(holding.replicas);
                return false;
        }
        for (int32_t i = 0; i < replica_cnt; i++)
                holding.replicas[i] = replicas[i];
        assignment->items[assignment->cnt++] = holding;
        return true;
}

static int by_name(const void *a, const void *b)
{
        const struct rp_holding *x = a, *y = b;
        int order = strcmp(x->topic, y->topic);

        return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

rp_err_t rp_assignment_sort(struct rp_assignment *assignment, struct rp_error *err)
{
        if (assignment->cnt)
                qsort(assignment->items, assignment->cnt, sizeof(*assignment->items), by_name);
        for (size_t i = 1; i < assignment->cnt; i++)
                if (!by_name(&assignment->items[i - 1], &assignment->items[i]))
                        return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%.100s\" is there twice",
                                       assignment->items[i].partition, assignment->items[i].topic);
        return RP_OK;
}

struct rp_holding *rp_assignment_find(const struct rp_assignment *assignment, const char *topic, int32_t partition)
{
        struct rp_holding key = { .topic = (char *)topic, .partition = partition };

        if (!assignment->cnt)
                return NULL;
        return bsearch(&key, assignment->items, assignment->cnt, sizeof(key), by_name);
}

bool rp_holding_is_same(const struct rp_holding *a, const struct rp_holding *b)
{
        return a->replica_cnt == b->replica_cnt &&
               !memcmp(a->replicas, b->replicas, (size_t)a->replica_cnt * sizeof(*a->replicas));
}

bool rp_holding_has(const struct rp_holding *holding, int32_t broker)
{
        for (int32_t i = 0; i < holding->replica_cnt; i++)
                if (holding->replicas[i] == broker)
                        return true;
        return false;
}

void rp_assignment_release(struct rp_assignment *assignment)
{
        for (size_t i = 0; i < assignment->cnt; i++) {
                free(assignment->items[i].topic);
                free(assignment->items[i].replicas);
        }
        free(assignment->items);
        *assignment = (struct rp_assignment){ NULL, 0 };
}
