#include "decide/job_name.h"

#include <stdio.h>

void rp_rewrite_default_name(char *out, size_t size, const char *source, const char *target)
{
        snprintf(out, size, "keyroute.%s.%s", source, target);
}

void rp_follow_default_name(char *out, size_t size, const char *source, const char *target)
{
        snprintf(out, size, "keyroute.follow.%s%s%s", source, target ? "." : "", target ? target : "");
}

void rp_repair_default_name(char *out, size_t size, const char *topic)
{
        snprintf(out, size, "keyroute.repair.%s", topic);
}
