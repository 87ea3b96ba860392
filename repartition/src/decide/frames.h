/**
 * Is a schema's id part of the hashed bytes? A registry frame before the key changes the key's hash with its schema, so
 * that one entity lives in several partitions although every record is where its bytes belong. Found by grouping the
 * sampled keys by what stands behind their frame.
 *
 * The signs of a frame can also stand in keys that have none (a big-endian number begins with zeros). So it counts only
 * when most keys carry one, under few ids, and the same payload comes under several ids again and again. Pure.
 */
#ifndef RP_FRAMES_H
#define RP_FRAMES_H

#include "decide/sample.h"
#include "error.h"

#include <keyroute.h>

#define RP_FRAMES_CAUSE "schema id is part of the hashed bytes"

struct rp_frames {
        bool is_cause;         /* the id is part of what was hashed, and entities are torn by it */
        size_t framed, keys;   /* sampled keys that carry a frame, of all whose bytes are known */
        size_t ids;            /* distinct schema ids of numbered frames */
        double torn;           /* payloads in several partitions under several ids, among all keys (estimate) */
        bool is_exact;         /* the sample was complete, so that torn is a count */
        double moved_share;    /* of the sampled records: with the frame taken off they belong elsewhere */
};

/**
 * @param weight  rp_sample_weight(): a payload is seen torn when two of its keys are sampled, so it counts by its square
 * @param hash    that the forecast hashes payloads by; partitions by modulo
 * @returns RP_OK and *out; or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_frames_find(const struct rp_sample_key *keys, size_t key_cnt, double weight, const kr_hash_t *hash,
                        int32_t partition_cnt, struct rp_frames *out, struct rp_error *err);

#endif
