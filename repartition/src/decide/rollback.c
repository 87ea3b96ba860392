#include "decide/rollback.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ROLLBACK_VERSION = 1, PARTITION_MAX = 1000000 };

bool rp_rollback_init(struct rp_rollback *rollback, const char *source, const struct rp_topics *topics, const char *target,
                      const char *written)
{
        int32_t cnts[RP_TOPICS_MAX];

        *rollback = (struct rp_rollback){ .source = strdup(source), .target = target ? strdup(target) : NULL,
                                          .written = strdup(written) };
        for (int32_t t = 0; topics && t < topics->topic_cnt; t++)
                cnts[t] = topics->firsts[t + 1] - topics->firsts[t];
        return rollback->source && rollback->written && (!target || rollback->target) &&
               (!topics || rp_topics_init(&rollback->topics, (const char *const *)topics->names, cnts, topics->topic_cnt));
}

void rp_rollback_release(struct rp_rollback *rollback)
{
        for (size_t i = 0; i < rollback->group_cnt; i++) {
                free(rollback->groups[i].name);
                free(rollback->groups[i].source.items);
                free(rollback->groups[i].target.items);
        }
        free(rollback->groups);
        rp_topics_release(&rollback->topics);
        free(rollback->source);
        free(rollback->target);
        free(rollback->written);
        *rollback = (struct rp_rollback){ 0 };
}

static bool copy_offsets(struct rp_rollback_offsets *offsets, const int64_t *items, int32_t cnt)
{
        *offsets = (struct rp_rollback_offsets){ .items = malloc(((size_t)cnt + 1) * sizeof(*items)), .cnt = cnt };
        if (offsets->items && cnt)
                memcpy(offsets->items, items, (size_t)cnt * sizeof(*items));
        return offsets->items;
}

bool rp_rollback_add(struct rp_rollback *rollback, const char *group, const int64_t *source, int32_t source_cnt,
                     const int64_t *target, int32_t target_cnt)
{
        struct rp_rollback_group *grown, *added;

        for (size_t i = 0; i < rollback->group_cnt; i++)
                if (!strcmp(rollback->groups[i].name, group))
                        return true;
        grown = realloc(rollback->groups, (rollback->group_cnt + 1) * sizeof(*grown));
        if (!grown)
                return false;
        rollback->groups = grown;
        added = &grown[rollback->group_cnt++];
        *added = (struct rp_rollback_group){ .name = strdup(group) };
        return added->name && copy_offsets(&added->source, source, source_cnt) &&
               copy_offsets(&added->target, target, target_cnt);
}

static json_t *offsets_json(const struct rp_rollback_offsets *offsets)
{
        json_t *list = json_array();

        for (int32_t p = 0; p < offsets->cnt; p++)
                json_array_append_new(list, offsets->items[p] < 0 ? json_null() : json_integer(offsets->items[p]));
        return list;
}

char *rp_rollback_print(const struct rp_rollback *rollback)
{
        json_t *groups = json_array();
        json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:s?, s:o}", "keyroute", ROLLBACK_VERSION, "what", "cutover rollback",
                                 "written", rollback->written, "source", rollback->source, "target", rollback->target,
                                 "groups", groups);
        char *text;

        if (root && rollback->topics.topic_cnt)
                json_object_set_new(root, "sources", rp_topics_json(&rollback->topics));
        for (size_t i = 0; root && i < rollback->group_cnt; i++)
                json_array_append_new(groups, json_pack("{s:s, s:o, s:o}", "group", rollback->groups[i].name,
                                                        "source_offsets", offsets_json(&rollback->groups[i].source),
                                                        "target_offsets", offsets_json(&rollback->groups[i].target)));
        text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
        json_decref(root);
        return text;
}

/* @returns an array of the list's numbers, -1 for null; NULL when it is no such list. */
static int64_t *parse_offsets(const json_t *list, int32_t *cnt)
{
        size_t size = json_array_size(list);
        int64_t *items = json_is_array(list) && size <= PARTITION_MAX ? malloc((size + 1) * sizeof(*items)) : NULL;

        *cnt = (int32_t)size;
        for (size_t p = 0; items && p < size; p++) {
                const json_t *item = json_array_get(list, p);

                if (!json_is_null(item) && (!json_is_integer(item) || json_integer_value(item) < 0)) {
                        free(items);
                        return NULL;
                }
                items[p] = json_is_null(item) ? -1 : (int64_t)json_integer_value(item);
        }
        return items;
}

static bool parse_group(struct rp_rollback *rollback, const json_t *json)
{
        const char *name = json_string_value(json_object_get(json, "group"));
        int32_t source_cnt, target_cnt;
        int64_t *source = parse_offsets(json_object_get(json, "source_offsets"), &source_cnt);
        int64_t *target = parse_offsets(json_object_get(json, "target_offsets"), &target_cnt);
        bool is_valid = name && source && target && rp_rollback_add(rollback, name, source, source_cnt, target, target_cnt);

        free(source);
        free(target);
        return is_valid;
}

/* Of several sources; none are listed of one. */
static bool parse_topics(struct rp_rollback *rollback, const json_t *list)
{
        size_t cnt = json_array_size(list);
        const char *names[RP_TOPICS_MAX];
        int32_t cnts[RP_TOPICS_MAX];

        if (!list)
                return true;
        if (cnt < 2 || cnt > RP_TOPICS_MAX)
                return false;
        for (size_t t = 0; t < cnt; t++) {
                json_int_t partition_cnt;

                if (json_unpack(json_array_get(list, t), "{s:s, s:I}", "topic", &names[t], "partitions", &partition_cnt) != 0 ||
                    partition_cnt < 1 || partition_cnt > PARTITION_MAX)
                        return false;
                cnts[t] = (int32_t)partition_cnt;
        }
        return rp_topics_init(&rollback->topics, names, cnts, (int32_t)cnt);
}

rp_err_t rp_rollback_parse(struct rp_rollback *rollback, const char *text, const char *what, struct rp_error *err)
{
        json_t *root = json_loads(text, 0, NULL);
        const json_t *target = json_object_get(root, "target");
        const char *kind, *written, *source;
        json_t *groups;
        int version;
        bool is_valid;

        *rollback = (struct rp_rollback){ 0 };
        is_valid = root &&
                   json_unpack(root, "{s:i, s:s, s:s, s:s, s:o}", "keyroute", &version, "what", &kind, "written", &written,
                               "source", &source, "groups", &groups) == 0 &&
                   version == ROLLBACK_VERSION && !strcmp(kind, "cutover rollback") && json_is_array(groups) &&
                   (json_is_string(target) || json_is_null(target)) &&
                   rp_rollback_init(rollback, source, NULL, json_string_value(target), written) &&
                   parse_topics(rollback, json_object_get(root, "sources"));
        for (size_t i = 0; is_valid && i < json_array_size(groups); i++)
                is_valid = parse_group(rollback, json_array_get(groups, i)) &&
                           (!rollback->topics.topic_cnt ||
                            rollback->groups[rollback->group_cnt - 1].source.cnt == rollback->topics.partition_cnt);
        json_decref(root);
        return is_valid ? RP_OK
                        : rp_fail(err, RP_ERR_USAGE, "%.300s: is not what cutover --rollback writes", what);
}
