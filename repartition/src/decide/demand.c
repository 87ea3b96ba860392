#include "decide/demand.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum { BLOCK_BYTES = 1 << 20, SUM_BITS = 62 };

static bool grow(void **array, size_t *size, size_t cnt, size_t element)
{
        size_t want = *size ? *size + *size / 2 : 64;
        void *grown;

        if (cnt < *size)
                return true;
        grown = realloc(*array, want * element);
        if (!grown)
                return false;
        *array = grown;
        *size = want;
        return true;
}

/* Copies bytes to where they stay; units are never freed one by one. */
static const unsigned char *keep(struct rp_demand *demand, const void *data, size_t len)
{
        unsigned char *to;

        if (!demand->block_cnt || demand->block_used + len > BLOCK_BYTES) {
                size_t bytes = len > BLOCK_BYTES ? len : BLOCK_BYTES;
                void **blocks = realloc(demand->blocks, (demand->block_cnt + 1) * sizeof(*blocks));

                if (!blocks)
                        return NULL;
                demand->blocks = blocks;
                blocks[demand->block_cnt] = malloc(bytes);
                if (!blocks[demand->block_cnt])
                        return NULL;
                demand->block_cnt++;
                demand->block_used = 0;
        }
        to = (unsigned char *)demand->blocks[demand->block_cnt - 1] + demand->block_used;
        if (len)
                memcpy(to, data, len);
        demand->block_used += len;
        return to;
}

static size_t place_of(const struct rp_units *units, const void *data, size_t len)
{
        size_t at = XXH3_64bits(data, len) & (units->index_size - 1);

        for (; units->index[at]; at = (at + 1) & (units->index_size - 1)) {
                const struct rp_unit *unit = &units->list[units->index[at] - 1];

                if (unit->len == len && (!len || !memcmp(unit->data, data, len)))
                        break;
        }
        return at;
}

static bool grow_index(struct rp_units *units)
{
        size_t size = units->index_size ? units->index_size * 2 : 256;
        uint32_t *index = calloc(size, sizeof(*index));

        if (!index)
                return false;
        free(units->index);
        units->index = index;
        units->index_size = size;
        for (size_t i = 0; i < units->cnt; i++)
                index[place_of(units, units->list[i].data, units->list[i].len)] = (uint32_t)i + 1;
        return true;
}

/* The number of the unit with these bytes, which is made if there is none. */
static bool find_or_add(struct rp_demand *demand, struct rp_units *units, const void *data, size_t len,
                        uint32_t *number)
{
        const unsigned char *kept;
        size_t at;

        if ((units->cnt + 1) * 2 > units->index_size && !grow_index(units))
                return false;
        at = place_of(units, data, len);
        if (!units->index[at]) {
                kept = keep(demand, data, len);
                if (!kept || !grow((void **)&units->list, &units->size, units->cnt, sizeof(*units->list)))
                        return false;
                units->list[units->cnt++] = (struct rp_unit){ .data = kept, .len = len, .partition = -1 };
                units->index[at] = (uint32_t)units->cnt;
        }
        *number = units->index[at] - 1;
        return true;
}

static void note_partition(struct rp_unit *unit, int32_t partition)
{
        if (partition >= 0 && unit->partition >= 0 && unit->partition != partition)
                unit->is_torn = true;
        else if (partition >= 0)
                unit->partition = partition;
}

bool rp_demand_add(struct rp_demand *demand, const void *key, size_t key_len, const void *group, size_t group_len,
                   double weight, int32_t partition)
{
        size_t size = demand->size;
        struct rp_row row = { .partition = partition };

        if (demand->cnt == RP_DEMAND_ROW_MAX || !find_or_add(demand, &demand->keys, key, key_len, &row.key) ||
            (group && !find_or_add(demand, &demand->groups, group, group_len, &row.group)) ||
            !grow((void **)&demand->raw, &size, demand->cnt, sizeof(*demand->raw)) ||
            !grow((void **)&demand->rows, &demand->size, demand->cnt, sizeof(*demand->rows)))
                return false;
        note_partition(&demand->keys.list[row.key], partition);
        if (group)
                note_partition(&demand->groups.list[row.group], partition);
        demand->raw[demand->cnt] = weight;
        demand->rows[demand->cnt++] = row;
        return true;
}

/* Bits by which weights are shifted up. A power of two keeps every digit that there is. */
static int choose_scale(const struct rp_demand *demand)
{
        double max = 0;
        bool whole = true;
        int bits;

        for (size_t i = 0; i < demand->cnt; i++) {
                max = fmax(max, demand->raw[i]);
                whole = whole && demand->raw[i] == floor(demand->raw[i]);
        }
        /* max * cnt < 2^bits bounds the sum, whatever the order of the rows. */
        frexp(max * (double)demand->cnt, &bits);
        return whole && bits <= SUM_BITS ? 0 : SUM_BITS - bits;
}

bool rp_demand_seal(struct rp_demand *demand)
{
        if (!demand->cnt)
                return false;
        demand->scale_bits = choose_scale(demand);
        for (size_t i = 0; i < demand->cnt; i++) {
                struct rp_row *row = &demand->rows[i];

                row->weight = (uint64_t)llround(ldexp(demand->raw[i], demand->scale_bits));
                demand->total += row->weight;
                demand->keys.list[row->key].weight += row->weight;
                if (demand->groups.cnt)
                        demand->groups.list[row->group].weight += row->weight;
        }
        free(demand->raw);
        demand->raw = NULL;
        return demand->total > 0;
}

uint32_t rp_demand_find(const struct rp_demand *demand, const void *key, size_t key_len)
{
        const struct rp_units *units = &demand->keys;

        return units->index_size ? units->index[place_of(units, key, key_len)] - 1 : UINT32_MAX;
}

rp_err_t rp_demand_split(struct rp_demand *demand, uint32_t number, int32_t part_cnt, const char *delimiter,
                         struct rp_error *err)
{
        struct rp_unit whole = demand->keys.list[number];
        size_t size = whole.len + strlen(delimiter) + 12, cnt;
        char *name = malloc(size);
        rp_err_t rc = name ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (name && whole.len)
                memcpy(name, whole.data, whole.len);
        for (int32_t i = 0; rc == RP_OK && i < part_cnt; i++) {
                struct rp_unit part = { .partition = whole.partition, .is_torn = whole.is_torn };
                uint32_t at;

                part.weight = whole.weight / (uint64_t)part_cnt + (whole.weight % (uint64_t)part_cnt > (uint64_t)i);
                part.len = whole.len + (size_t)snprintf(name + whole.len, size - whole.len, "%s%d", delimiter, (int)i);
                cnt = demand->keys.cnt;
                if (!find_or_add(demand, &demand->keys, name, part.len, &at))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                else if (demand->keys.cnt == cnt)
                        rc = rp_fail(err, RP_ERR_USAGE, "part %d of the group is there already as a group of its own",
                                     (int)i);
                else {
                        part.data = demand->keys.list[at].data;
                        demand->keys.list[i ? at : number] = part;
                        demand->keys.cnt -= !i; /* the first part has the number of the whole */
                }
                if (rc == RP_OK && !i && !grow_index(&demand->keys))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        free(name);
        return rc;
}

const struct rp_units *rp_demand_groups(const struct rp_demand *demand)
{
        return demand->groups.cnt ? &demand->groups : &demand->keys;
}

uint32_t rp_demand_group_of(const struct rp_demand *demand, const struct rp_row *row)
{
        return demand->groups.cnt ? row->group : row->key;
}

double rp_demand_unscaled(const struct rp_demand *demand, uint64_t weight)
{
        return ldexp((double)weight, -demand->scale_bits);
}

uint64_t rp_units_heaviest(const struct rp_units *units)
{
        uint64_t max = 0;

        for (size_t i = 0; i < units->cnt; i++)
                max = units->list[i].weight > max ? units->list[i].weight : max;
        return max;
}

int rp_unit_compare(const struct rp_unit *a, const struct rp_unit *b)
{
        size_t len = a->len < b->len ? a->len : b->len;
        int order;

        if (a->weight != b->weight)
                return a->weight > b->weight ? -1 : 1;
        order = len ? memcmp(a->data, b->data, len) : 0;
        return order ? order : (a->len > b->len) - (a->len < b->len);
}

static void release_units(struct rp_units *units)
{
        free(units->list);
        free(units->index);
}

void rp_demand_release(struct rp_demand *demand)
{
        for (size_t i = 0; i < demand->block_cnt; i++)
                free(demand->blocks[i]);
        free(demand->blocks);
        release_units(&demand->keys);
        release_units(&demand->groups);
        free(demand->rows);
        free(demand->raw);
        *demand = (struct rp_demand){ 0 };
}
