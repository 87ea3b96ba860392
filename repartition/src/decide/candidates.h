/**
 * The ways in which a client may have chosen partitions: every hash function of the core, and the rule that judges when
 * it is none of them; and forms of the key that decide/forms.h found worth a look. Each is asked through kr_rule_partition()
 * or kr_rule_route() alone.
 */
#ifndef RP_CANDIDATES_H
#define RP_CANDIDATES_H

#include "error.h"

#include <keyroute.h>

enum { RP_FORMS_MAX = 2, RP_FORM_KEY_MAX = 1024 };

/** Another encoding of a key. */
struct rp_form_bytes {
        size_t len;
        unsigned char data[RP_FORM_KEY_MAX];
};

/** A form of the key that is hashed in place of its bytes: what a policy's key use makes of it, or another encoding. */
struct rp_form {
        const char *name;
        const char *key; /* "key" of a policy, as JSON; or NULL */
        bool (*encode)(const unsigned char *key, size_t len, struct rp_form_bytes *out); /* false: does not apply */
};

struct rp_way {
        const char *name;       /* the hash function's, or what the judging rule calls itself */
        const char *clients;    /* who places records so, one line */
        const char *fix;        /* what they set to route as Java does, one line */
        const kr_rule_t *rule;
        bool is_client;         /* some client's own rule; false for other stores' functions */
        bool takes_any_count;   /* may be asked for partition counts that the topic had before */
        kr_policy_t *policy;    /* owned; NULL when the rule is somebody else's */
        const struct rp_form *form; /* NULL: the key's own bytes */
        char label[64], form_fix[320]; /* of one with a form: what name and fix point to */
};

/** All ways, the most likely first: this order settles what the records leave open. */
struct rp_ways {
        struct rp_way *list;
        size_t cnt;
        size_t judge; /* the way that judges */
};

/**
 * @param judge          the rule that says where keys belong; borrowed as long as the ways are
 * @param partition_cnt  of the topic; the judging rule accepts it
 * @returns RP_OK and *ways, the caller's to rp_ways_release(); or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_ways_init(struct rp_ways *ways, const kr_rule_t *judge, int32_t partition_cnt, struct rp_error *err);
void rp_ways_release(struct rp_ways *ways);

/** Takes a way with a form over, its policy included. At most RP_FORMS_MAX of them. */
void rp_ways_add_form(struct rp_ways *ways, const struct rp_way *way);

/** The way's decision in full. False when its form does not apply to this key. */
bool rp_way_route(const struct rp_way *way, const void *key, size_t key_len, int32_t partition_cnt,
                  struct kr_routing *routing);

/** Where the way puts the key; negative when it cannot say. */
int32_t rp_way_partition(const struct rp_way *way, const void *key, size_t key_len, int32_t partition_cnt);

#endif
