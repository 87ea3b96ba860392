/*
 * slot = hash mod S, and a table says which partition owns each slot. From weights the table starts as slot mod N, which
 * is Java's partition since N divides S, or from the table in force, and the fewest slots move to meet the quotas.
 */
#include "map.h"

#include "../capacity/apportion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_CNT_MAX   (1 << 24)
#define SLOTS_EACH     1024      /* of one partition, by default: a quota is then at most 0.1 % off its exact share */
#define SLOTS_EACH_MIN 128       /* of one of very many: 0.8 % */
#define SLOTS_CACHED   (1 << 17) /* in between, no more than this: the table then stays in the processor's cache */
#define STRIDES_TRIED  200       /* forms of the compiled table that are compared by length */

struct slots {
        uint32_t cnt;
        int32_t partition_cnt;
        unsigned width; /* bytes of an owner: the table should stay in the processor's nearest cache */
        union {
                uint8_t *narrow;
                uint16_t *medium;
                uint32_t *wide;
                void *any;
        } owners;
};

static const char *const fields[] = { "kind", "slots", "weights", "stride", "runs", "owners", NULL };

static int32_t owner_of(const struct slots *slots, size_t slot)
{
        if (slots->width == 1)
                return slots->owners.narrow[slot];
        return (int32_t)(slots->width == 2 ? slots->owners.medium[slot] : slots->owners.wide[slot]);
}

static int32_t partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        const struct slots *slots = map->state;

        (void)bytes;
        (void)partition_cnt; /* the pinned one, for which the table was made */
        return owner_of(slots, *hash > UINT32_MAX ? *hash % slots->cnt : (uint32_t)*hash % slots->cnt);
}

static void release(struct kr_map *map)
{
        struct slots *slots = map->state;

        if (slots)
                free(slots->owners.any);
        free(slots);
}

/* Takes the owners over into their narrowest form. */
static bool keep(struct kr_map *map, const struct kr_json *at, const int32_t *owners, uint32_t cnt,
                 int32_t partition_cnt, struct kr_error *err)
{
        unsigned width = partition_cnt <= 1 << 8 ? 1 : partition_cnt <= 1 << 16 ? 2 : 4;
        struct slots *slots = calloc(1, sizeof(*slots));

        map->state = slots;
        if (slots)
                slots->owners.any = malloc((size_t)cnt * width);
        if (!slots || !slots->owners.any)
                return kr_json_fail(at, err, "out of memory");
        slots->cnt = cnt;
        slots->partition_cnt = partition_cnt;
        slots->width = width;
        for (size_t s = 0; s < cnt; s++) {
                if (width == 1)
                        slots->owners.narrow[s] = (uint8_t)owners[s];
                else if (width == 2)
                        slots->owners.medium[s] = (uint16_t)owners[s];
                else
                        slots->owners.wide[s] = (uint32_t)owners[s];
        }
        return true;
}

static bool parse_owner(const struct kr_json *at, int32_t partition_cnt, int32_t *owner, struct kr_error *err)
{
        int64_t value;

        if (!kr_json_integer(at, 0, partition_cnt - 1, &value, err))
                return false;
        *owner = (int32_t)value;
        return true;
}

/* "owners": one partition a slot, in order. */
static bool parse_owners(const struct kr_json *at, int32_t *owners, uint32_t cnt, int32_t partition_cnt,
                         struct kr_error *err)
{
        if (!json_is_array(at->value) || json_array_size(at->value) != cnt)
                return kr_json_fail(at, err, "expected an array with one partition for each of the %" PRIu32 " slots%s",
                                    cnt, json_is_array(at->value) ? "" : ", such as [0, 1, 0]");
        for (size_t s = 0; s < cnt; s++) {
                struct kr_json owner_at = kr_json_element(at, s);

                if (!parse_owner(&owner_at, partition_cnt, &owners[s], err))
                        return false;
        }
        return true;
}

/* The i-th slot when slots are told by residue: 0, stride, 2 stride, ..., then 1, 1 + stride, ... */
static size_t slot_at(size_t i, size_t cnt, size_t stride)
{
        size_t depth = cnt / stride;

        return i % depth * stride + i / depth;
}

/* "runs": [owner, count] pairs over the slots in the order of slot_at(). */
static bool parse_runs(const struct kr_json *at, size_t stride, int32_t *owners, uint32_t cnt, int32_t partition_cnt,
                       struct kr_error *err)
{
        size_t done = 0;

        if (!json_is_array(at->value))
                return kr_json_fail(at, err, "expected an array of runs such as [[0, 1024], [1, 1024]]");
        for (size_t i = 0; i < json_array_size(at->value); i++) {
                struct kr_json run_at = kr_json_element(at, i);
                struct kr_json owner_at = kr_json_element(&run_at, 0);
                struct kr_json length_at = kr_json_element(&run_at, 1);
                int64_t length;
                int32_t owner;

                if (!json_is_array(run_at.value) || json_array_size(run_at.value) != 2)
                        return kr_json_fail(&run_at, err, "expected a run such as [0, 1024]: a partition, and how many "
                                                          "slots it owns");
                if (!parse_owner(&owner_at, partition_cnt, &owner, err) ||
                    !kr_json_integer(&length_at, 1, SLOT_CNT_MAX, &length, err))
                        return false;
                if ((uint64_t)length > cnt - done)
                        return kr_json_fail(&run_at, err, "the runs up to this one have more than %" PRIu32 " slots",
                                            cnt);
                while (length--)
                        owners[slot_at(done++, cnt, stride)] = owner;
        }
        return done == cnt || kr_json_fail(at, err, "the runs have %zu slots together, expected %" PRIu32, done, cnt);
}

static bool parse_explicit(const struct kr_json *at, int32_t *owners, uint32_t cnt, int32_t partition_cnt,
                           struct kr_error *err)
{
        struct kr_json owners_at = kr_json_member(at, "owners");
        struct kr_json runs_at = kr_json_member(at, "runs");
        struct kr_json stride_at = kr_json_member(at, "stride");
        int64_t stride = 1;

        if (owners_at.value)
                return parse_owners(&owners_at, owners, cnt, partition_cnt, err);
        if (stride_at.value && !kr_json_integer(&stride_at, 1, cnt, &stride, err))
                return false;
        if (cnt % stride)
                return kr_json_fail(&stride_at, err, "expected a number that divides the %" PRIu32 " slots", cnt);
        return parse_runs(&runs_at, (size_t)stride, owners, cnt, partition_cnt, err);
}

/* By weight, from where the slots are now. */
static bool assign(const struct kr_json *at, int32_t *owners, uint32_t cnt, int32_t partition_cnt,
                   struct kr_error *err)
{
        struct kr_json weights_at = kr_json_member(at, "weights");
        uint64_t *weights = calloc(3 * (size_t)partition_cnt, sizeof(*weights));
        uint64_t *held = weights + partition_cnt, *quotas = held + partition_cnt;
        bool ok;

        if (!weights)
                return kr_json_fail(at, err, "out of memory");
        ok = kr_weights_parse(&weights_at, weights, partition_cnt, err);
        for (size_t s = 0; ok && s < cnt; s++)
                if (owners[s] < partition_cnt)
                        held[owners[s]]++;
        if (ok && (!kr_apportion(weights, (size_t)partition_cnt, cnt, held, quotas) ||
                   !kr_reassign(owners, cnt, quotas, partition_cnt)))
                ok = kr_json_fail(at, err, "out of memory");
        free(weights);
        return ok;
}

/* How many slots there are when the policy does not say: a multiple of the count that the table is born with. */
static uint32_t default_cnt(int32_t born_with)
{
        int32_t each = SLOTS_EACH;

        while (each > SLOTS_EACH_MIN && (int64_t)each * born_with > SLOTS_CACHED)
                each /= 2;
        if (each > SLOT_CNT_MAX / born_with)
                each = SLOT_CNT_MAX / born_with;
        return (uint32_t)(born_with * each);
}

/* The number of slots, and whose home they are at the start: slot mod *born_with, or the current table. */
static bool choose_cnt(const struct kr_json *at, const struct kr_map_context *context, bool is_explicit, uint32_t *cnt,
                       int32_t *born_with, struct kr_error *err)
{
        const struct kr_map *current = is_explicit ? NULL : context->current;
        struct kr_json slots_at = kr_json_member(at, "slots");
        int64_t given = 0;

        if (slots_at.value && !kr_json_integer(&slots_at, 1, SLOT_CNT_MAX, &given, err))
                return false;
        if (!is_explicit && context->no_current)
                return kr_json_fail(at, err, "the current policy %s", context->no_current);
        *born_with = current ? context->current_cnt : context->partition_cnt;
        if (current && current->kind == &kr_map_slots) {
                *cnt = ((const struct slots *)current->state)->cnt;
                return !given || given == *cnt ||
                       kr_json_fail(&slots_at, err, "the current table has %" PRIu32 " slots, and keeps them for life",
                                    *cnt);
        }
        if (current && current->kind != &kr_map_modulo)
                return kr_json_fail(at, err, "a table of slots can grow from the maps modulo and slots, not from %s",
                                    current->kind->name);
        *cnt = given ? (uint32_t)given : default_cnt(*born_with);
        if (is_explicit && !given)
                return kr_json_fail(at, err, "\"slots\" is missing: how many slots the owners are for");
        if (!is_explicit && *cnt % (uint32_t)*born_with)
                return kr_json_fail(&slots_at, err,
                                    "expected a multiple of %" PRId32 ", so that equal weights are Java's partition; "
                                    "repartition policy compile --from keeps the slots of a grown topic", *born_with);
        return true;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        bool has_weights = kr_json_member(at, "weights").value, has_owners = kr_json_member(at, "owners").value;
        bool has_runs = kr_json_member(at, "runs").value;
        int32_t *owners, born_with = 1;
        uint32_t cnt = 0;
        bool ok;

        if (!kr_map_pinned(at, context, err))
                return false;
        if (has_weights + has_owners + has_runs > 1)
                return kr_json_fail(at, err, "\"weights\", \"owners\" and \"runs\" exclude each other: weights are "
                                             "turned into owners");
        if (!has_runs && kr_json_member(at, "stride").value)
                return kr_json_fail(at, err, "\"stride\" is the order of \"runs\", which are missing");
        if (!choose_cnt(at, context, has_owners || has_runs, &cnt, &born_with, err))
                return false;
        owners = malloc(cnt * sizeof(*owners));
        if (!owners)
                return kr_json_fail(at, err, "out of memory");
        if (has_owners || has_runs) {
                ok = parse_explicit(at, owners, cnt, context->partition_cnt, err);
        } else {
                bool from_slots = context->current && context->current->kind == &kr_map_slots;

                for (size_t s = 0; s < cnt; s++)
                        owners[s] = from_slots ? owner_of(context->current->state, s) : (int32_t)(s % (size_t)born_with);
                ok = assign(at, owners, cnt, context->partition_cnt, err);
        }
        ok = ok && keep(map, at, owners, cnt, context->partition_cnt, err);
        free(owners);
        return ok;
}

/* The table itself, whether it came from weights, runs or owners. */
static void canon(const struct kr_map *map, struct kr_canon *canon)
{
        const struct slots *slots = map->state;
        unsigned char chunk[4096];
        size_t used = 0;

        kr_canon_add(canon, "map=slots %" PRIu32, slots->cnt);
        for (size_t s = 0; s < slots->cnt; s++) {
                uint32_t owner = (uint32_t)owner_of(slots, s);

                for (int i = 0; i < 4; i++)
                        chunk[used++] = (unsigned char)(owner >> (8 * i));
                if (used == sizeof(chunk) || s + 1 == slots->cnt) {
                        kr_canon_add_bytes(canon, chunk, used);
                        used = 0;
                }
        }
}

static size_t memory(const struct kr_map *map)
{
        const struct slots *slots = map->state;

        return sizeof(*slots) + (size_t)slots->cnt * slots->width;
}

static uint64_t period(const struct kr_map *map, int32_t partition_cnt)
{
        (void)partition_cnt;
        return ((const struct slots *)map->state)->cnt;
}

/* Runs that the table takes in the order of this stride; gives up at `limit`. */
static size_t count_runs(const struct slots *slots, size_t stride, size_t limit)
{
        size_t depth = slots->cnt / stride, runs = 0;
        int32_t last = -1;

        for (size_t residue = 0; residue < stride; residue++)
                for (size_t i = 0; i < depth; i++) {
                        int32_t owner = owner_of(slots, i * stride + residue);

                        runs += owner != last;
                        last = owner;
                        if (runs >= limit)
                                return limit;
                }
        return runs;
}

static json_t *runs_of(const struct slots *slots, size_t stride)
{
        json_t *runs = json_array();
        size_t start = 0;

        for (size_t i = 1; i <= slots->cnt; i++) {
                int32_t owner = owner_of(slots, slot_at(start, slots->cnt, stride));

                if (i < slots->cnt && owner_of(slots, slot_at(i, slots->cnt, stride)) == owner)
                        continue;
                json_array_append_new(runs, json_pack("[i,I]", (int)owner, (json_int_t)(i - start)));
                start = i;
        }
        return runs;
}

/* The shortest of the forms that say the same: runs by some stride. */
static json_t *compile(const struct kr_map *map, const struct kr_json *at, bool expand)
{
        const struct slots *slots = map->state;
        json_t *out = json_pack("{s:s, s:I}", "kind", "slots", "slots", (json_int_t)slots->cnt);
        size_t best = SIZE_MAX, best_stride = 1, tried = 0;
        json_t *owners;

        (void)at;
        if (expand) {
                owners = json_array();
                for (size_t s = 0; s < slots->cnt; s++)
                        json_array_append_new(owners, json_integer(owner_of(slots, s)));
                json_object_set_new(out, "owners", owners);
                return out;
        }
        for (size_t stride = 1; stride <= slots->cnt && tried < STRIDES_TRIED; stride++) {
                size_t runs;

                if (slots->cnt % stride)
                        continue;
                tried++;
                runs = count_runs(slots, stride, best);
                if (runs < best) {
                        best = runs;
                        best_stride = stride;
                }
        }
        json_object_set_new(out, "stride", json_integer((json_int_t)best_stride));
        json_object_set_new(out, "runs", runs_of(slots, best_stride));
        return out;
}

const struct kr_map_kind kr_map_slots = {
        .name = "slots",
        .fields = fields,
        .parse = parse,
        .release = release,
        .partition = partition,
        .canon = canon,
        .memory = memory,
        .period = period,
        .compile = compile,
};
