/**
 * Which transactional requests of a producer are still under way. librdkafka asks again by itself when a connection breaks
 * or an answer is late, and reports success once the second request is answered; the first one may yet reach the
 * coordinator. Without an epoch for each transaction (KIP-890) it would then take part in a later transaction of the same
 * producer: end it in its middle, or set its progress back. So success counts only when nothing is under way; else the
 * producer must be made anew, which fences what is late.
 */
#ifndef RP_UNANSWERED_H
#define RP_UNANSWERED_H

#include "io/client.h"

/** Counts of one producer, kept by librdkafka's threads. */
struct rp_unanswered;

/** @returns a count that belongs to the client made of conf; the caller's to free() once that is destroyed. NULL with *err. */
struct rp_unanswered *rp_unanswered_install(rd_kafka_conf_t *conf, struct rp_error *err);

/** @returns how many requests about transactions were sent and never answered. Any thread. */
unsigned rp_unanswered_count(const struct rp_unanswered *unanswered);

#endif
