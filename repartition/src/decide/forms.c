#include "decide/forms.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        PAIRS_MAX = 2000,  /* looked at: what bounds the cost */
        GROUPS_MIN = 15,   /* distinct hashed bytes below which nothing is concluded */
        HASHES_MAX = 64
};

static const double REST_MIN = 0.02;    /* share that must be unexplained */
static const double SHARE_MIN = 0.05;   /* of the unexplained pairs that a form must explain */
static const double ODDS = 1000;

/* ---- other encodings of a key ------------------------------------------------------------------------------------ */

static bool quote(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        if (memchr(key, '"', len) || memchr(key, '\\', len) || len + 2 > sizeof(out->data))
                return false;
        out->data[0] = '"';
        memcpy(out->data + 1, key, len);
        out->data[len + 1] = '"';
        out->len = len + 2;
        return true;
}

static bool unquote(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        if (len < 2 || key[0] != '"' || key[len - 1] != '"' || memchr(key, '\\', len) || len > sizeof(out->data))
                return false;
        out->len = len - 2;
        memcpy(out->data, key + 1, out->len);
        return true;
}

/* One character of well-formed UTF-8 (no overlong forms matter here: they only make no candidate). */
static size_t read_utf8(const unsigned char *at, size_t len, uint32_t *code)
{
        size_t more = at[0] < 0x80 ? 0 : at[0] >> 5 == 6 ? 1 : at[0] >> 4 == 14 ? 2 : at[0] >> 3 == 30 ? 3 : len;

        if (more >= len)
                return 0;
        *code = more ? at[0] & (0x3fu >> more) : at[0];
        for (size_t i = 1; i <= more; i++) {
                if (at[i] >> 6 != 2)
                        return 0;
                *code = *code << 6 | (at[i] & 0x3f);
        }
        return more + 1;
}

bool rp_form_utf16(const unsigned char *key, size_t len, bool big, struct rp_form_bytes *out)
{
        out->len = 0;
        for (size_t at = 0; at < len;) {
                uint32_t code, units[2];
                size_t used = read_utf8(key + at, len - at, &code), cnt = 1;

                if (!used || out->len + 4 > sizeof(out->data))
                        return false;
                at += used;
                units[0] = code;
                if (code > 0xffff) {
                        units[0] = 0xd800 + ((code - 0x10000) >> 10);
                        units[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
                        cnt = 2;
                }
                for (size_t u = 0; u < cnt; u++) {
                        out->data[out->len++] = (unsigned char)(big ? units[u] >> 8 : units[u]);
                        out->data[out->len++] = (unsigned char)(big ? units[u] : units[u] >> 8);
                }
        }
        return true;
}

static bool utf16le(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        return rp_form_utf16(key, len, false, out) && out->len;
}

static bool utf16be(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        return rp_form_utf16(key, len, true, out) && out->len;
}

/* Decimal text that a number prints as, and nothing else. */
static bool read_number(const unsigned char *key, size_t len, int64_t *value)
{
        char text[24], again[24];
        char *end;

        if (!len || len >= sizeof(text))
                return false;
        memcpy(text, key, len);
        text[len] = '\0';
        *value = strtoll(text, &end, 10);
        snprintf(again, sizeof(again), "%" PRId64, *value);
        return !*end && !strcmp(text, again);
}

static void put_big_endian(int64_t value, size_t len, struct rp_form_bytes *out)
{
        for (size_t i = 0; i < len; i++)
                out->data[i] = (unsigned char)((uint64_t)value >> 8 * (len - 1 - i));
        out->len = len;
}

static bool int32_of_text(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        int64_t value;

        if (!read_number(key, len, &value) || value < INT32_MIN || value > INT32_MAX)
                return false;
        put_big_endian(value, 4, out);
        return true;
}

static bool int64_of_text(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        int64_t value;

        if (!read_number(key, len, &value))
                return false;
        put_big_endian(value, 8, out);
        return true;
}

static bool text_of_int(const unsigned char *key, size_t len, struct rp_form_bytes *out)
{
        uint64_t value = 0;

        if (len != 4 && len != 8)
                return false;
        for (size_t i = 0; i < len; i++)
                value = value << 8 | key[i];
        out->len = (size_t)snprintf((char *)out->data, sizeof(out->data), "%" PRId64,
                                    len == 4 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value);
        return true;
}

#define PART(delimiter, index, name) \
        { name, "{\"use\":\"field\",\"delimiter\":\"" delimiter "\",\"index\":" index "}", NULL }
#define PARTS(delimiter) PART(delimiter, "0", "first part by " delimiter), PART(delimiter, "-1", "last part by " delimiter)

static const struct rp_form forms[] = {
        { "frame stripped", "{\"use\":\"payload\"}", NULL },
        { "JSON quotes put on", NULL, quote },
        { "JSON quotes taken off", NULL, unquote },
        { "as UTF-16LE", NULL, utf16le },
        { "as UTF-16BE", NULL, utf16be },
        { "text as int32", NULL, int32_of_text },
        { "text as int64", NULL, int64_of_text },
        { "int as text", NULL, text_of_int },
        PARTS("|"), PARTS(":"), PARTS("."), PARTS("-"), PARTS("/"), PARTS(","),
        { "time window off", "{\"use\":\"windowed\"}", NULL },
        { "store's window off", "{\"use\":\"windowed\",\"form\":\"store\"}", NULL },
        { "session off", "{\"use\":\"windowed\",\"form\":\"session\"}", NULL },
        { "part in braces", "{\"use\":\"tag\"}", NULL },
};

enum { FORM_CNT = sizeof(forms) / sizeof(forms[0]) };

const struct rp_form *rp_form_at(size_t i)
{
        return i < FORM_CNT ? &forms[i] : NULL;
}

/* ---- what stands out ---------------------------------------------------------------------------------------------- */

struct observed {
        const struct rp_sample_key *key;
        int32_t partition;
        bool explained; /* by a form that was taken in meanwhile */
        uint64_t group; /* of the form that is looked at: keys whose hashed bytes are the same. 0: it does not apply */
};

struct screen {
        struct observed *pairs;
        size_t cnt;
        int32_t partition_cnt;
        double chance;  /* the share of the fullest partition */
        struct rp_way plain;
};

static bool make_way(struct rp_way *way, const struct rp_form *form, const kr_hash_t *hash)
{
        char text[256];
        struct kr_error err;

        *way = (struct rp_way){ .form = form, .clients = kr_hash_clients(hash), .is_client = true };
        snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"*\":{\"hash\":\"%s\"%s%s}}}", kr_hash_name(hash),
                 form && form->key ? ",\"key\":" : "", form && form->key ? form->key : "");
        way->policy = kr_policy_parse(text, strlen(text), "candidate", &err);
        way->rule = way->policy ? kr_policy_rule_at(way->policy, 0) : NULL;
        return way->policy != NULL;
}

static bool is_explained(const struct rp_explanation *found, const struct rp_sample_key *key, int32_t partition)
{
        for (size_t i = 0; i < found->cause_cnt; i++)
                if (rp_way_partition(found->causes[i].way, key->key, key->key_len, found->causes[i].partition_cnt) ==
                    partition)
                        return true;
        return false;
}

static bool screen_init(struct screen *screen, const struct rp_explanation *found, const struct rp_sample_key *keys,
                        size_t key_cnt, int32_t partition_cnt)
{
        size_t *partitions = calloc((size_t)partition_cnt, sizeof(*partitions)), most = 0;

        *screen = (struct screen){ malloc(PAIRS_MAX * sizeof(*screen->pairs)), 0, partition_cnt, 0, { 0 } };
        if (!screen->pairs || !partitions || !make_way(&screen->plain, NULL, kr_hash_find("murmur2"))) {
                free(partitions);
                return false;
        }
        for (size_t k = 0; k < key_cnt; k++)
                for (size_t c = 0; c < keys[k].cell_cnt && screen->cnt < PAIRS_MAX; c++) {
                        int32_t partition = keys[k].cells[c].partition;

                        if (!keys[k].key || !keys[k].key_len || is_explained(found, &keys[k], partition))
                                continue;
                        screen->pairs[screen->cnt++] = (struct observed){ &keys[k], partition, false, 0 };
                        if (++partitions[partition] > most)
                                most = partitions[partition];
                }
        screen->chance = screen->cnt ? fmax((double)most / (double)screen->cnt, 1.0 / partition_cnt) : 1;
        free(partitions);
        return true;
}

static void screen_release(struct screen *screen)
{
        kr_policy_free(screen->plain.policy);
        free(screen->pairs);
}

static int by_group(const void *a, const void *b)
{
        const struct observed *left = a, *right = b;

        if (left->group != right->group)
                return left->group < right->group ? -1 : 1;
        return left->key->hash < right->key->hash ? -1 : left->key->hash > right->key->hash;
}

/* Sorts the pairs by what the form makes of their keys; those first to which it does not apply. @returns the groups. */
static size_t group_pairs(struct screen *screen, const struct rp_way *way)
{
        size_t cnt = 0;

        for (size_t i = 0; i < screen->cnt; i++) {
                struct observed *pair = &screen->pairs[i];
                struct kr_routing routing, plain;

                pair->group = 0;
                if (pair->explained || !rp_way_route(way, pair->key->key, pair->key->key_len, screen->partition_cnt, &routing))
                        continue;
                kr_rule_route(screen->plain.rule, pair->key->key, pair->key->key_len, screen->partition_cnt, &plain);
                if (routing.hash != plain.hash)
                        pair->group = routing.hash + 1;
        }
        qsort(screen->pairs, screen->cnt, sizeof(*screen->pairs), by_group);
        for (size_t i = 0; i < screen->cnt; i++)
                cnt += screen->pairs[i].group && (!i || screen->pairs[i].group != screen->pairs[i - 1].group);
        return cnt;
}

/* Log-likelihood that the function gains over the fullest partition's share; 0 when it explains too little. */
static double gain(const struct screen *screen, const struct rp_way *way, size_t group_cnt)
{
        double hits = 0, p = screen->chance, q;
        size_t pairs = 0;

        for (size_t i = 0; i < screen->cnt;) {
                uint64_t group = screen->pairs[i].group;
                size_t of_group = 0, hit = 0;

                for (; i < screen->cnt && screen->pairs[i].group == group; i++, of_group++)
                        hit += rp_way_partition(way, screen->pairs[i].key->key, screen->pairs[i].key->key_len,
                                                screen->partition_cnt) == screen->pairs[i].partition;
                if (!group)
                        continue;
                hits += (double)hit / (double)of_group;
                pairs += hit;
        }
        q = hits / (double)group_cnt;
        if (p >= 1 || q <= p || (double)pairs - p * (double)screen->cnt < SHARE_MIN * (double)screen->cnt)
                return 0;
        return (double)group_cnt * (q * log(q / p) + (q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0));
}

/* The form and function that gain most beyond their price. False when none does. */
static bool find_best(struct screen *screen, struct rp_way *best)
{
        double best_gain = 0;

        *best = (struct rp_way){ 0 };
        for (size_t f = 0; f < FORM_CNT; f++) {
                struct rp_way way;
                const kr_hash_t *hash;
                size_t groups;

                if (!make_way(&way, &forms[f], kr_hash_find("murmur2")))
                        continue;
                groups = group_pairs(screen, &way);
                kr_policy_free(way.policy);
                if (groups < GROUPS_MIN)
                        continue;
                for (size_t h = 0; h < HASHES_MAX && (hash = kr_hash_at(h)); h++) {
                        double it, price = log((double)groups) / 2 + log(FORM_CNT * (double)HASHES_MAX * ODDS);

                        if (!kr_hash_is_client(hash) || !make_way(&way, &forms[f], hash))
                                continue;
                        it = gain(screen, &way, groups) - price;
                        if (it > best_gain) {
                                kr_policy_free(best->policy);
                                *best = way;
                                best_gain = it;
                        } else {
                                kr_policy_free(way.policy);
                        }
                }
        }
        return best->policy != NULL;
}

size_t rp_forms_add(struct rp_ways *ways, const struct rp_explanation *found, const struct rp_sample_key *keys,
                    size_t key_cnt, int32_t partition_cnt)
{
        struct screen screen;
        struct rp_way way;
        size_t added = 0;

        if (found->state != RP_EXPLAINED || found->rest == RP_REST_NONE || found->rest_share < REST_MIN)
                return 0;
        if (screen_init(&screen, found, keys, key_cnt, partition_cnt))
                for (; added < RP_FORMS_MAX && find_best(&screen, &way); added++) {
                        rp_ways_add_form(ways, &way);
                        for (size_t i = 0; i < screen.cnt; i++)
                                if (rp_way_partition(&way, screen.pairs[i].key->key, screen.pairs[i].key->key_len,
                                                     partition_cnt) == screen.pairs[i].partition)
                                        screen.pairs[i].explained = true;
                }
        screen_release(&screen);
        return added;
}
