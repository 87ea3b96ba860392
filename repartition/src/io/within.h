/**
 * Calls that may never return. librdkafka does not keep the time-outs of its transactional calls: when the coordinator of
 * the group is down, rd_kafka_send_offsets_to_transaction() waits for ever (librdkafka issues 5456 and 5511, in all
 * versions up to 2.16 at least).
 */
#ifndef RP_WITHIN_H
#define RP_WITHIN_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Calls fn(arg) in a thread of its own and waits for it.
 * @param release  is called with arg by that thread, should fn return after all when nobody waits any more
 * @returns true when it returned in time: arg is the caller's. Else false, and it may still be running: arg belongs to it,
 *          and what else fn uses must be left alone for ever.
 */
bool rp_call_within(int64_t ms, void (*fn)(void *arg), void (*release)(void *arg), void *arg);

#endif
