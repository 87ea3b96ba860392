#include "decide/holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rp_holder_print(const struct rp_holder *holder, char out[RP_HOLDER_TEXT_SIZE])
{
        snprintf(out, RP_HOLDER_TEXT_SIZE, "repartition/%s/%ld/%" PRIu64 "/%" PRIu64, holder->host, holder->pid,
                 holder->started, holder->numbered);
}

bool rp_holder_parse(struct rp_holder *holder, const char *text)
{
        int used = -1;

        *holder = (struct rp_holder){ 0 };
        return sscanf(text, "repartition/%71[^/]/%ld/%" SCNu64 "/%" SCNu64 "%n", holder->host, &holder->pid,
                      &holder->started, &holder->numbered, &used) == 4 && used > 0 && !text[used];
}

rp_holder_state_t rp_holder_judge(const struct rp_holder *holder, const struct rp_holder *me,
                                  const struct rp_process_facts *facts)
{
        if (strcmp(holder->host, me->host) != 0 || holder->numbered != me->numbered || !holder->numbered)
                return RP_HOLDER_UNKNOWN;
        if (!facts->exists || (holder->started && facts->started && holder->started != facts->started))
                return RP_HOLDER_DEAD;
        return facts->is_stopped ? RP_HOLDER_UNKNOWN : RP_HOLDER_LIVES;
}
