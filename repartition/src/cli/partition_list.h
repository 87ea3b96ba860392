/** Partitions that an operator names: "0-99,120". */
#ifndef RP_PARTITION_LIST_H
#define RP_PARTITION_LIST_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Sets chosen[p] for each partition that the text names; the others are left alone.
 * @param option  for messages, such as "--partitions"
 * @param cnt     of chosen: partition numbers go up to cnt - 1
 * @returns RP_ERR_USAGE when the text names none, or one that there is not.
 */
rp_err_t rp_partition_list_parse(const char *option, const char *text, bool *chosen, int32_t cnt, struct rp_error *err);

#endif
