/**
 * Finds the librdkafka that called us. A host may bundle its own copy, or hold two at once, so the plugin links none:
 * each configuration carries a table of the functions of exactly the copy that loaded the plugin for it.
 */
#ifndef KR_BIND_H
#define KR_BIND_H

#include "keyroute.h"

#include <librdkafka/rdkafka.h>

/* What the plugin calls; all of it is in librdkafka 2.0.2 and later, and in much older ones. */
#define KR_RDKAFKA_FUNCTIONS(X)                 \
        X(conf_set)                             \
        X(conf_get)                             \
        X(conf_get_default_topic_conf)          \
        X(conf_set_default_topic_conf)          \
        X(conf_interceptor_add_on_conf_set)     \
        X(conf_interceptor_add_on_conf_dup)     \
        X(conf_interceptor_add_on_conf_destroy) \
        X(conf_interceptor_add_on_new)          \
        X(interceptor_add_on_thread_start)      \
        X(interceptor_add_on_destroy)           \
        X(interceptor_add_on_send)              \
        X(interceptor_add_on_acknowledgement)   \
        X(interceptor_add_on_consume)           \
        X(topic_conf_new)                       \
        X(topic_conf_get)                       \
        X(topic_conf_set_partitioner_cb)        \
        X(topic_conf_set_opaque)                \
        X(topic_new)                            \
        X(topic_destroy)                        \
        X(topic_name)                           \
        X(type)                                 \
        X(version_str)                          \
        X(log_print)                            \
        X(last_error)                           \
        X(err2str)                              \
        X(msg_partitioner_random)               \
        X(msg_partitioner_consistent)           \
        X(msg_partitioner_consistent_random)    \
        X(msg_partitioner_murmur2)              \
        X(msg_partitioner_murmur2_random)       \
        X(msg_partitioner_fnv1a)                \
        X(msg_partitioner_fnv1a_random)

/** lib->conf_set is the host's rd_kafka_conf_set, and so on. The header gives the prototypes and nothing to link. */
struct kr_rdkafka {
#define KR_MEMBER(name) __typeof__(rd_kafka_##name) *name;
        KR_RDKAFKA_FUNCTIONS(KR_MEMBER)
#undef KR_MEMBER
};

/**
 * Fills the table from the object (shared library or executable) that holds the address `caller`: by its dynamic
 * symbols, or, where it was linked in statically and exports none, by the symbol table in its file.
 *
 * @param caller   an address in librdkafka's code: the return address of conf_init
 * @returns false, with *err saying which object and what to do, when a function cannot be found in that very object.
 */
bool kr_bind(struct kr_rdkafka *lib, const void *caller, struct kr_error *err);

#endif
