/** The sources of a command line: SRC... DST, or SRC+SRC2 DST where other operands go before. */
#ifndef RP_SOURCE_NAMES_H
#define RP_SOURCE_NAMES_H

#include "decide/topics.h"
#include "error.h"

#include <keyroute.h>

/**
 * Sorts the sources and names them together.
 * @param has_sides  source and target may be two clusters, and then have one name
 * @param why        a source must not be the target
 * @param names      source_cnt of them
 * @returns RP_ERR_USAGE when two are the same, or one is the target.
 */
rp_err_t rp_sources_name(const char *const *sources, int32_t source_cnt, const char *target, bool has_sides, const char *why,
                         const char **names, char label[RP_TOPICS_LABEL_SIZE], struct rp_error *err);

/**
 * Takes apart what several topics are called together; no topic's name has a plus in it.
 * @param text   is written to; the names stay in it
 * @returns how many; RP_TOPICS_MAX + 1 for any number above
 */
int32_t rp_sources_split(char *text, const char *names[RP_TOPICS_MAX]);

/**
 * The rule for the target: its own, else that of the sources.
 * @returns RP_ERR_USAGE when there is none, or the sources have different ones.
 */
rp_err_t rp_sources_rule(const kr_policy_t *policy, const char *policy_file, const char *const *names, int32_t source_cnt,
                         const char *target, const kr_rule_t **rule, struct rp_error *err);

#endif
