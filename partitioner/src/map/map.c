#include "map.h"

#include <string.h>

static const struct kr_map_kind *const kinds[] = { &kr_map_modulo };

enum { KIND_CNT = sizeof(kinds) / sizeof(kinds[0]) };

bool kr_map_parse(struct kr_map *map, const struct kr_json *at, int32_t partition_cnt, struct kr_error *err)
{
        const char *names[KIND_CNT];
        struct kr_json kind_at;
        const char *name, *closest;

        *map = (struct kr_map){ .kind = &kr_map_modulo };
        if (!at->value)
                return true;
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
                       (!map->kind->parse || map->kind->parse(map, at, partition_cnt, err));
        }
        closest = kr_closest(name, names, KIND_CNT);
        return kr_json_fail(&kind_at, err, "no map \"%.60s\"; %s \"%s\"", name, closest ? "did you mean" : "expected",
                            closest ? closest : names[0]);
}

void kr_map_release(struct kr_map *map)
{
        if (map->kind && map->kind->release)
                map->kind->release(map);
}

void kr_map_canon(const struct kr_map *map, struct kr_canon *canon)
{
        kr_canon_add(canon, "map=%s", map->kind->name);
        if (map->kind->canon)
                map->kind->canon(map, canon);
}
