/**
 * Random pairs of a writer's and a reader's schema, the same ones for the same seed: what harnesses of Avro keys make
 * plans of. The reader's differs as schemas do that evolve: renamed with aliases, promoted, reordered, fields added with
 * a default or dropped; now and then it does not fit. Included by one file each.
 */
#ifndef KR_SCHEMA_PAIRS_H
#define KR_SCHEMA_PAIRS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PAIR_TEXT_SIZE = 8192, PAIR_PATH_MAX = 24, PAIR_PATH_SIZE = 128, PAIR_DEPTH_MAX = 4 };

struct pair_text {
        char data[PAIR_TEXT_SIZE];
        size_t len;
};

struct schema_pair {
        struct pair_text writer, reader;
        char paths[PAIR_PATH_MAX][PAIR_PATH_SIZE]; /* of fields that can route, by the reader's names */
        size_t path_cnt;
        uint64_t state;
        unsigned name_cnt;
        struct pair_text *w, *r; /* where the two texts are written now */
};

static uint64_t pair_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

static unsigned pair_below(struct schema_pair *pair, unsigned limit)
{
        return (unsigned)(pair_random(&pair->state) % limit);
}

static bool pair_chance(struct schema_pair *pair, unsigned percent)
{
        return pair_below(pair, 100) < percent;
}

/* What does not fit any more is cut off: such a text is no schema, which is a case as well. */
static void pair_add(struct pair_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void pair_add(struct pair_text *text, const char *fmt, ...)
{
        size_t room = sizeof(text->data) - text->len;
        va_list args;
        int len;

        va_start(args, fmt);
        len = vsnprintf(text->data + text->len, room, fmt, args);
        va_end(args);
        text->len += len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

#define PAIR_BOTH(pair, ...) (pair_add((pair)->w, __VA_ARGS__), pair_add((pair)->r, __VA_ARGS__))

static void pair_type(struct schema_pair *pair, int depth, const char *path);

static void pair_path(struct schema_pair *pair, const char *path)
{
        if (path && pair->path_cnt < PAIR_PATH_MAX)
                snprintf(pair->paths[pair->path_cnt++], PAIR_PATH_SIZE, "%s", path);
}

static void pair_plain(struct schema_pair *pair, const char *path)
{
        static const char *const plain[][2] = {
                { "int", "int" }, { "int", "long" }, { "int", "float" }, { "int", "double" }, { "long", "long" },
                { "long", "float" }, { "long", "double" }, { "float", "double" }, { "float", "float" }, { "double", "double" },
                { "string", "string" }, { "string", "bytes" }, { "bytes", "string" }, { "bytes", "bytes" }, { "null", "null" },
                { "boolean", "boolean" }, { "long", "int" }, { "string", "int" },
        };
        unsigned kind = pair_below(pair, 24), name = pair->name_cnt;

        pair_path(pair, path);
        if (kind < sizeof(plain) / sizeof(plain[0])) {
                pair_add(pair->w, "\"%s\"", plain[kind][0]);
                pair_add(pair->r, "\"%s\"", plain[kind][1]);
        } else if (kind < 20) {
                PAIR_BOTH(pair, "{\"type\":\"string\",\"logicalType\":\"uuid\"}");
        } else if (kind < 22) {
                unsigned symbols = 1 + pair_below(pair, 5);

                pair->name_cnt++;
                PAIR_BOTH(pair, "{\"type\":\"enum\",\"name\":\"E%u\",\"symbols\":[", name);
                for (unsigned i = 0; i < symbols; i++) {
                        pair_add(pair->w, "%s\"S%u\"", i ? "," : "", i);
                        pair_add(pair->r, "%s\"S%u\"", i ? "," : "", pair_chance(pair, 90) ? symbols - 1 - i : 90 + i);
                }
                PAIR_BOTH(pair, "]");
                if (pair_chance(pair, 30))
                        pair_add(pair->r, ",\"default\":\"S0\"");
                PAIR_BOTH(pair, "}");
        } else {
                unsigned size = pair_below(pair, 20);

                pair->name_cnt++;
                pair_add(pair->w, "{\"type\":\"fixed\",\"name\":\"F%u\",\"size\":%u}", name, size);
                pair_add(pair->r, "{\"type\":\"fixed\",\"name\":\"%sF%u\",\"aliases\":[\"F%u\"],\"size\":%u}",
                         pair_chance(pair, 20) ? "New" : "", name, name, size);
        }
}

/* Branches of kinds that may stand side by side; the reader's in this order or the other. */
static void pair_union(struct schema_pair *pair, int depth, const char *path)
{
        static const char *const plain[] = { "null", "boolean", "int", "long", "float", "double", "bytes", "string" };
        struct pair_text *reader = pair->r, branches[4];
        unsigned cnt = 1 + pair_below(pair, 4), first = pair_below(pair, 8);
        bool reversed = pair_chance(pair, 40);

        pair_path(pair, path);
        pair_add(pair->w, "[");
        for (unsigned i = 0; i < cnt; i++) {
                branches[i].len = 0;
                pair->r = &branches[i];
                if (i)
                        pair_add(pair->w, ",");
                if (i + 1 == cnt && i && depth < PAIR_DEPTH_MAX && pair_chance(pair, 50))
                        pair_type(pair, depth + 1, path); /* a union inside a union among them */
                else
                        PAIR_BOTH(pair, "\"%s\"", plain[(first + i * 3) % 8]);
        }
        pair_add(pair->w, "]");
        pair->r = reader;
        pair_add(reader, "[");
        for (unsigned i = 0; i < cnt; i++)
                pair_add(reader, "%s%s", i ? "," : "", branches[reversed ? cnt - 1 - i : i].data);
        pair_add(reader, "]");
}

static void pair_field(struct schema_pair *pair, int depth, unsigned number, const char *outer, bool last)
{
        struct pair_text *reader = pair->r, dropped = { .len = 0 };
        bool renamed = pair_chance(pair, 20), is_dropped = !last && pair_chance(pair, 10);
        char path[PAIR_PATH_SIZE];
        int len = snprintf(path, sizeof(path), "%s%s%sf%u", outer ? outer : "", outer && *outer ? "." : "",
                           renamed ? "new" : "", number);

        if (is_dropped)
                pair->r = &dropped;
        pair_add(pair->w, "{\"name\":\"f%u\",\"type\":", number);
        pair_add(pair->r, "{\"name\":\"%sf%u\",\"aliases\":[\"%sf%u\"],\"type\":", renamed ? "new" : "", number,
                 renamed ? "" : "old", number);
        pair_type(pair, depth + 1, outer && !is_dropped && len < (int)sizeof(path) ? path : NULL);
        pair_add(pair->w, "}%s", last ? "" : ",");
        pair_add(pair->r, "}%s", last ? "" : ",");
        pair->r = reader;
}

static void pair_record(struct schema_pair *pair, int depth, const char *path)
{
        static const char *const added[] = {
                "\"string\",\"default\":\"caf\\u00e9\"", "\"long\",\"default\":-7", "\"bytes\",\"default\":\"\\u00ff\\u0000\"",
                "[\"null\",\"string\"],\"default\":null", "\"double\",\"default\":1e3", "\"boolean\",\"default\":true",
        };
        unsigned name = pair->name_cnt++, cnt = 1 + pair_below(pair, 5);
        char add[PAIR_PATH_SIZE];

        PAIR_BOTH(pair, "{\"type\":\"record\",\"name\":\"R%u\"%s,\"fields\":[", name, name % 3 ? "" : ",\"namespace\":\"n\"");
        if (pair_chance(pair, 30)) {
                pair_add(pair->r, "{\"name\":\"a%u\",\"type\":%s},", name, added[pair_below(pair, 6)]);
                if (path && snprintf(add, sizeof(add), "%s%sa%u", path, *path ? "." : "", name) < (int)sizeof(add))
                        pair_path(pair, add);
        }
        if (pair_chance(pair, 20)) {
                if (pair_chance(pair, 50))
                        PAIR_BOTH(pair, "{\"name\":\"again\",\"type\":[\"null\",\"R%u\"]},", name);
                else
                        PAIR_BOTH(pair, "{\"name\":\"again\",\"type\":{\"type\":\"array\",\"items\":\"R%u\"}},", name);
        }
        for (unsigned i = 0; i < cnt; i++)
                pair_field(pair, depth, i, path, i + 1 == cnt);
        PAIR_BOTH(pair, "]}");
}

static void pair_type(struct schema_pair *pair, int depth, const char *path)
{
        unsigned kind = pair_below(pair, 100);

        if (!depth && kind < 90)
                kind = 90;
        if (depth >= PAIR_DEPTH_MAX || kind < 45) {
                pair_plain(pair, path);
        } else if (kind < 60) {
                pair_union(pair, depth, path);
        } else if (kind < 72) {
                bool map = kind < 66;

                PAIR_BOTH(pair, "{\"type\":\"%s\",\"%s\":", map ? "map" : "array", map ? "values" : "items");
                pair_type(pair, depth + 1, NULL);
                PAIR_BOTH(pair, "}");
        } else {
                pair_record(pair, depth, path);
        }
}

static void pair_make(struct schema_pair *pair, uint64_t seed)
{
        *pair = (struct schema_pair){ .state = seed, .w = &pair->writer, .r = &pair->reader };
        pair_type(pair, 0, "");
}

#endif
