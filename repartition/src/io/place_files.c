#include "io/place_files.h"

#include "io/text_file.h"

#include <keyroute.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* ---- names with capacities and racks ---------------------------------------------------------------------------- */

const struct rp_named *rp_named_find(const struct rp_named_list *list, const char *name)
{
        for (size_t i = 0; i < list->cnt; i++)
                if (!strcmp(list->items[i].name, name))
                        return &list->items[i];
        return NULL;
}

void rp_named_release(struct rp_named_list *list)
{
        for (size_t i = 0; i < list->cnt; i++) {
                free(list->items[i].name);
                free(list->items[i].rack);
        }
        free(list->items);
        *list = (struct rp_named_list){ NULL, 0 };
}

static bool add_named(struct rp_named_list *list, const char *name, size_t name_len, uint64_t capacity, const char *rack)
{
        struct rp_named *grown = realloc(list->items, (list->cnt + 1) * sizeof(*grown));
        struct rp_named named = { .capacity = capacity };

        if (!grown)
                return false;
        list->items = grown;
        named.name = strndup(name, name_len);
        named.rack = rack ? strdup(rack) : NULL;
        if (!named.name || (rack && !named.rack)) {
                free(named.name);
                free(named.rack);
                return false;
        }
        list->items[list->cnt++] = named;
        return true;
}

bool rp_broker_id_parse(const char *text, int32_t *id)
{
        int64_t value = 0;

        if (!*text || strlen(text) > 10 || strspn(text, "0123456789") != strlen(text))
                return false;
        for (; *text; text++)
                value = value * 10 + (*text - '0');
        *id = (int32_t)value;
        return value <= INT32_MAX;
}

static bool is_utf8(const char *text)
{
        json_t *json = json_string(text);

        json_decref(json);
        return json;
}

/* One NAME=VALUE of a list that commas divide. Cut in place. */
static rp_err_t split_pair(char *pair, char **value, const struct rp_named_list *list, const char *option,
                           const char *example, struct rp_error *err)
{
        *value = strrchr(pair, '=');
        if (!*value || *value == pair || !(*value)[1])
                return rp_fail(err, RP_ERR_USAGE, "%s: expected pairs such as %s, got \"%.60s\"", option, example, pair);
        *(*value)++ = '\0';
        if (strpbrk(pair, "\t\r\n"))
                return rp_fail(err, RP_ERR_USAGE, "%s: a name has no tabs and line ends", option);
        if (!is_utf8(pair) || !is_utf8(*value)) /* JSON, the form of all results, holds no other bytes */
                return rp_fail(err, RP_ERR_USAGE, "%s: \"%.60s\" is no UTF-8", option, is_utf8(pair) ? *value : pair);
        if (rp_named_find(list, pair))
                return rp_fail(err, RP_ERR_USAGE, "%s: \"%.60s\" is there twice", option, pair);
        return RP_OK;
}

rp_err_t rp_capacities_parse(struct rp_named_list *list, const char *text, const char *option, struct rp_error *err)
{
        char *copy = strdup(text), *rest = copy, *pair, *value;
        rp_err_t rc = copy ? RP_OK : out_of_memory(err);

        while (rc == RP_OK && (pair = strsep(&rest, ","))) {
                uint64_t capacity;

                rc = split_pair(pair, &value, list, option, "site-a=6,site-b=1.5", err);
                if (rc != RP_OK)
                        break;
                if (!kr_decimal_parse(value, RP_CAPACITY_MAX, &capacity))
                        rc = rp_fail(err, RP_ERR_USAGE,
                                     "%s: \"%.60s\": expected a number from 0 to %u with at most six decimals, got "
                                     "\"%.40s\"", option, pair, RP_CAPACITY_MAX, value);
                else if (!add_named(list, pair, strlen(pair), capacity, NULL))
                        rc = out_of_memory(err);
        }
        free(copy);
        return rc;
}

rp_err_t rp_racks_parse(struct rp_named_list *list, const char *text, const char *option, struct rp_error *err)
{
        char *copy = strdup(text), *rest = copy, *pair, *rack;
        rp_err_t rc = copy ? RP_OK : out_of_memory(err);

        while (rc == RP_OK && (pair = strsep(&rest, ","))) {
                int32_t id;

                rc = split_pair(pair, &rack, list, option, "1=rack-a,2=rack-b", err);
                if (rc != RP_OK)
                        break;
                if (!rp_broker_id_parse(pair, &id))
                        rc = rp_fail(err, RP_ERR_USAGE, "%s: expected a broker's number, got \"%.60s\"", option, pair);
                else if (!add_named(list, pair, strlen(pair), 0, rack))
                        rc = out_of_memory(err);
        }
        free(copy);
        return rc;
}

/* ---- Cruise Control's capacity.json ----------------------------------------------------------------------------- */

enum { FILE_CAPACITY_MAX = 1000000000 }; /* MB or KB/s: a thousand times more than a broker has today */

/* A number, or one in quotes, in millionths. */
static bool read_number(const json_t *value, uint64_t *millionths)
{
        if (json_is_string(value))
                return strlen(json_string_value(value)) == json_string_length(value) &&
                       kr_decimal_parse(json_string_value(value), FILE_CAPACITY_MAX, millionths);
        if (!json_is_number(value) || !(json_number_value(value) >= 0 && json_number_value(value) <= FILE_CAPACITY_MAX))
                return false;
        *millionths = json_is_integer(value) ? (uint64_t)json_integer_value(value) * RP_CAPACITY_ONE
                                             : (uint64_t)llround(json_real_value(value) * RP_CAPACITY_ONE);
        return true;
}

#define NUMBER_EXPECTED "expected a number from 0 to 1000000000, such as \"500000\""

static rp_err_t read_capacity(const json_t *value, const char *resource, const char *path, size_t i, uint64_t *capacity,
                              struct rp_error *err)
{
        const char *dir;
        json_t *part;

        *capacity = 0;
        if (!json_is_object(value)) {
                if (!read_number(value, capacity))
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity.%s: " NUMBER_EXPECTED
                                       "%s", path, i, resource,
                                       strcmp(resource, "DISK") ? "" : ", or such a number by log directory");
                return RP_OK;
        }
        if (strcmp(resource, "DISK") || !json_object_size(value))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity.%s: " NUMBER_EXPECTED, path, i,
                               resource);
        json_object_foreach((json_t *)value, dir, part)
        {
                uint64_t one;

                if (!read_number(part, &one))
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity.DISK[\"%.80s\"]: "
                                       NUMBER_EXPECTED, path, i, dir);
                *capacity += one;
                if (*capacity > (uint64_t)FILE_CAPACITY_MAX * RP_CAPACITY_ONE)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity.DISK: more than "
                                       "%d in all", path, i, FILE_CAPACITY_MAX);
        }
        return RP_OK;
}

static rp_err_t read_broker(struct rp_named_list *list, const json_t *entry, const char *resource, const char *path,
                            size_t i, struct rp_error *err)
{
        const json_t *id = json_object_get(entry, "brokerId"), *capacities = json_object_get(entry, "capacity");
        char name[16] = "";
        uint64_t capacity;
        int32_t number;
        rp_err_t rc;

        if (json_is_integer(id) && json_integer_value(id) >= -1 && json_integer_value(id) <= INT32_MAX)
                snprintf(name, sizeof(name), "%d", (int)json_integer_value(id));
        else if (json_is_string(id) && json_string_length(id) < sizeof(name))
                memcpy(name, json_string_value(id), json_string_length(id));
        if (strcmp(name, RP_DEFAULT_BROKER) && !rp_broker_id_parse(name, &number))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].brokerId: expected a broker's number such "
                               "as \"0\", or \"-1\" for every other one", path, i);
        if (rp_named_find(list, name))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu]: broker %s is there twice", path, i, name);
        if (!json_is_object(capacities))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity: expected an object such as "
                               "{\"DISK\": \"500000\"}", path, i);
        if (!json_object_get(capacities, resource))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities[%zu].capacity: \"%s\" is missing", path, i,
                               resource);
        rc = read_capacity(json_object_get(capacities, resource), resource, path, i, &capacity, err);
        if (rc == RP_OK && !add_named(list, name, strlen(name), capacity, NULL))
                rc = out_of_memory(err);
        return rc;
}

rp_err_t rp_capacity_file_load(struct rp_named_list *list, const char *path, const char *resource, struct rp_error *err)
{
        json_t *document, *entries;
        rp_err_t rc = rp_json_load(&document, path, "capacity", NULL, err);

        if (rc != RP_OK)
                return rc;
        entries = json_object_get(document, "brokerCapacities");
        if (!json_is_array(entries) || !json_array_size(entries))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: brokerCapacities: expected a list of brokers, as in Cruise "
                             "Control's capacity.json", path);
        for (size_t i = 0; rc == RP_OK && i < json_array_size(entries); i++)
                rc = read_broker(list, json_array_get(entries, i), resource, path, i, err);
        json_decref(document);
        rp_one_line(err, rc);
        return rc;
}

/* ---- assignments ------------------------------------------------------------------------------------------------ */

enum { PARTITION_MAX = 999999, REPLICA_MAX = 1000 };

static bool read_integer(const json_t *value, int64_t most, int64_t *out)
{
        *out = json_is_integer(value) ? json_integer_value(value) : -1;
        return *out >= 0 && *out <= most;
}

static bool is_wanted(const char *topic, char *const *topics, size_t topic_cnt)
{
        for (size_t i = 0; i < topic_cnt; i++)
                if (!strcmp(topics[i], topic))
                        return true;
        return !topic_cnt;
}

static rp_err_t read_partition(struct rp_assignment *assignment, const json_t *entry, const char *path, size_t i,
                               char *const *topics, size_t topic_cnt, struct rp_error *err)
{
        const json_t *topic = json_object_get(entry, "topic"), *list = json_object_get(entry, "replicas");
        size_t cnt = json_array_size(list);
        int32_t replicas[REPLICA_MAX];
        int64_t partition, broker;

        if (!json_is_string(topic) || !json_string_length(topic) ||
            strlen(json_string_value(topic)) != json_string_length(topic))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: partitions[%zu].topic: expected the name of a topic", path, i);
        if (!read_integer(json_object_get(entry, "partition"), PARTITION_MAX, &partition))
                return rp_fail(err, RP_ERR_USAGE, "%.200s: partitions[%zu].partition: expected a whole number from 0 to %d",
                               path, i, PARTITION_MAX);
        if (!cnt || cnt > REPLICA_MAX)
                return rp_fail(err, RP_ERR_USAGE, "%.200s: partitions[%zu].replicas: expected a list of brokers such as "
                               "[1, 2, 3]", path, i);
        for (size_t r = 0; r < cnt; r++) {
                if (!read_integer(json_array_get(list, r), INT32_MAX, &broker))
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: partitions[%zu].replicas[%zu]: expected a broker's "
                                       "number", path, i, r);
                replicas[r] = (int32_t)broker;
                for (size_t s = 0; s < r; s++)
                        if (replicas[s] == replicas[r])
                                return rp_fail(err, RP_ERR_USAGE, "%.200s: partitions[%zu].replicas: broker %" PRId64
                                               " is there twice", path, i, broker);
        }
        if (is_wanted(json_string_value(topic), topics, topic_cnt) &&
            !rp_assignment_add(assignment, json_string_value(topic), (int32_t)partition, replicas, (int32_t)cnt, 0))
                return out_of_memory(err);
        return RP_OK;
}

rp_err_t rp_assignment_load(struct rp_assignment *assignment, const char *path, char *const *topics, size_t topic_cnt,
                            struct rp_error *err)
{
        json_t *document, *entries;
        struct rp_error why;
        int64_t version;
        rp_err_t rc = rp_json_load(&document, path, "assignment", NULL, err);

        *assignment = (struct rp_assignment){ NULL, 0 };
        if (rc != RP_OK)
                return rc;
        entries = json_object_get(document, "partitions");
        if (!read_integer(json_object_get(document, "version"), 1, &version) || version != 1)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: version: expected 1, as kafka-reassign-partitions writes it", path);
        else if (!json_is_array(entries) || !json_array_size(entries))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: partitions: expected a list such as [{\"topic\": \"orders\", "
                             "\"partition\": 0, \"replicas\": [1, 2]}]", path);
        for (size_t i = 0; rc == RP_OK && i < json_array_size(entries); i++)
                rc = read_partition(assignment, json_array_get(entries, i), path, i, topics, topic_cnt, err);
        if (rc == RP_OK && rp_assignment_sort(assignment, &why) != RP_OK)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: partitions: %s", path, why.text);
        for (size_t i = 0; rc == RP_OK && i < topic_cnt; i++) {
                bool is_there = false;

                for (size_t p = 0; p < assignment->cnt; p++)
                        is_there = is_there || !strcmp(assignment->items[p].topic, topics[i]);
                if (!is_there)
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: partitions: there is no topic \"%.100s\"", path, topics[i]);
        }
        json_decref(document);
        if (rc != RP_OK)
                rp_assignment_release(assignment);
        rp_one_line(err, rc);
        return rc;
}
