#include "map.h"

#include <stdlib.h>
#include <string.h>

static const struct kr_map_kind *const kinds[] = {
        &kr_map_modulo, &kr_map_slots, &kr_map_hash_range, &kr_map_range,
        &kr_map_table,  &kr_map_twolevel, &kr_map_ring,
};

enum { KIND_CNT = sizeof(kinds) / sizeof(kinds[0]), DEPTH_MAX = 4 };

bool kr_map_parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        const char *names[KIND_CNT];
        struct kr_json kind_at;
        const char *name, *closest;

        *map = (struct kr_map){ .kind = &kr_map_modulo, .takes_hash = true };
        if (!at->value)
                return true;
        if (context->depth > DEPTH_MAX)
                return kr_json_fail(at, err, "maps stand at most %d deep", DEPTH_MAX);
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"kind\": \"modulo\"}");
        kind_at = kr_json_member(at, "kind");
        if (!kind_at.value)
                return kr_json_fail(at, err, "\"kind\" is missing; {\"kind\": \"modulo\"} is hash mod partitions");
        if (!kr_json_string(&kind_at, &name, err))
                return false;
        for (size_t i = 0; i < KIND_CNT; i++) {
                names[i] = kinds[i]->name;
                if (strcmp(kinds[i]->name, name))
                        continue;
                map->kind = kinds[i];
                return kr_json_object(at, map->kind->fields, err) &&
                       (!map->kind->parse || map->kind->parse(map, at, context, err));
        }
        closest = kr_closest(name, names, KIND_CNT);
        if (closest)
                return kr_json_fail(&kind_at, err, "no map \"%.60s\"; did you mean \"%s\"?", name, closest);
        return kr_json_fail(&kind_at, err, "no map \"%.60s\"; expected one such as \"%s\"", name, names[0]);
}

void kr_map_release(struct kr_map *map)
{
        if (map->kind && map->kind->release)
                map->kind->release(map);
        *map = (struct kr_map){ 0 };
}

void kr_map_canon(const struct kr_map *map, struct kr_canon *canon)
{
        map->kind->canon(map, canon);
}

size_t kr_map_memory(const struct kr_map *map)
{
        return map->kind->memory ? map->kind->memory(map) : 0;
}

int32_t kr_map_of_prefix(const struct kr_map *map, const struct kr_split *split, struct kr_bytes first,
                         int32_t partition_cnt, int32_t *out, int32_t room)
{
        const struct kr_split *own = map->kind->split ? map->kind->split(map) : NULL;

        if (own && (!split || kr_split_equal(own, split)))
                return map->kind->of_prefix(map, first, partition_cnt, out, room);
        for (int32_t p = 0; p < partition_cnt && p < room; p++)
                out[p] = p;
        return partition_cnt;
}

json_t *kr_map_compile(const struct kr_map *map, const struct kr_json *at, bool expand)
{
        return map->kind->compile ? map->kind->compile(map, at, expand) : json_deep_copy(at->value);
}

bool kr_map_pinned(const struct kr_json *at, const struct kr_map_context *context, struct kr_error *err)
{
        return context->partition_cnt ||
               kr_json_fail(at, err, "this map names partitions: the rule needs \"partitions\", their count");
}
