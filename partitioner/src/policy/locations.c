#include "locations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char **text, int64_t *out)
{
        *out = 0;
        if (**text < '0' || **text > '9')
                return false;
        for (; **text >= '0' && **text <= '9'; ++*text)
                if (*out <= INT32_MAX)
                        *out = *out * 10 + (**text - '0');
        return true;
}

bool kr_partition_range_parse(const char *text, int32_t limit, int32_t *first, int32_t *last,
                              const struct kr_json *at, struct kr_error *err)
{
        const char *p = text;
        int64_t a, b;

        if (!number(&p, &a))
                goto malformed;
        b = a;
        if (*p == '-') {
                p++;
                if (!number(&p, &b))
                        goto malformed;
        }
        if (*p)
                goto malformed;
        if (b < a)
                return kr_json_fail(at, err, "a range must rise; did you mean \"%" PRId64 "-%" PRId64 "\"?", b, a);
        if (b >= limit)
                return kr_json_fail(at, err, "partition %" PRId64 " does not exist; the highest is %" PRId32, b,
                                    limit - 1);
        *first = (int32_t)a;
        *last = (int32_t)b;
        return true;
malformed:
        return kr_json_fail(at, err, "expected a partition such as \"7\" or a range such as \"0-11\"");
}

static int by_first(const void *a, const void *b)
{
        const struct kr_location_range *x = a, *y = b;

        return x->first < y->first ? -1 : x->first > y->first;
}

bool kr_locations_parse(struct kr_locations *locations, const struct kr_json *at, int32_t partition_cnt,
                        struct kr_error *err)
{
        const char *key;
        json_t *value;

        *locations = (struct kr_locations){ NULL, 0 };
        if (!at->value)
                return true;
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"0-11\": \"site-a\"}");
        locations->ranges = calloc(json_object_size(at->value) + 1, sizeof(*locations->ranges));
        if (!locations->ranges)
                return kr_json_fail(at, err, "out of memory");
        json_object_foreach(at->value, key, value)
        {
                struct kr_json member = kr_json_member(at, key);
                struct kr_location_range *range = &locations->ranges[locations->cnt];
                const char *name;

                if (!kr_partition_range_parse(key, partition_cnt ? partition_cnt : KR_PARTITION_CNT_MAX, &range->first,
                                              &range->last, &member, err) ||
                    !kr_json_string(&member, &name, err))
                        return false;
                if (!*name || strpbrk(name, "\t\r\n"))
                        return kr_json_fail(&member, err, "a location is a name without tabs and line ends");
                range->name = strdup(name);
                if (!range->name)
                        return kr_json_fail(at, err, "out of memory");
                locations->cnt++;
        }
        qsort(locations->ranges, locations->cnt, sizeof(*locations->ranges), by_first);
        for (size_t i = 1; i < locations->cnt; i++)
                if (locations->ranges[i].first <= locations->ranges[i - 1].last)
                        return kr_json_fail(at, err, "partition %" PRId32 " has two locations, \"%.60s\" and \"%.60s\"",
                                            locations->ranges[i].first, locations->ranges[i - 1].name,
                                            locations->ranges[i].name);
        return true;
}

void kr_locations_release(struct kr_locations *locations)
{
        for (size_t i = 0; i < locations->cnt; i++)
                free(locations->ranges[i].name);
        free(locations->ranges);
        *locations = (struct kr_locations){ NULL, 0 };
}

const char *kr_locations_find(const struct kr_locations *locations, int32_t partition)
{
        size_t low = 0, high = locations->cnt;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const struct kr_location_range *range = &locations->ranges[middle];

                if (partition < range->first)
                        high = middle;
                else if (partition > range->last)
                        low = middle + 1;
                else
                        return range->name;
        }
        return NULL;
}

kr_locations_t *kr_locations_load(const char *path, int32_t partition_cnt, struct kr_error *err)
{
        struct kr_json root = { .file = path };
        kr_locations_t *locations = NULL;
        size_t len = 0;
        char *text = kr_file_read(path, "location", &len, err);

        if (!text)
                return NULL;
        root.value = kr_json_parse(text, len, path, err);
        if (root.value) {
                locations = calloc(1, sizeof(*locations));
                if (!locations)
                        kr_json_fail(&root, err, "out of memory");
                else if (!kr_locations_parse(locations, &root, partition_cnt, err)) {
                        kr_locations_free(locations);
                        locations = NULL;
                }
        }
        json_decref(root.value);
        free(text);
        return locations;
}

const char *kr_locations_name(const kr_locations_t *locations, int32_t partition)
{
        return kr_locations_find(locations, partition);
}

void kr_locations_free(kr_locations_t *locations)
{
        if (!locations)
                return;
        kr_locations_release(locations);
        free(locations);
}
