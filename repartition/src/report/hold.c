#include "report/hold.h"

#include "report/text.h"

#include <stdio.h>

char *rp_hold_text(char *text, size_t size, const struct rp_hold *hold)
{
        switch (hold->reason) {
        case RP_HOLD_PAUSED:
                snprintf(text, size, "paused: waits for resume");
                break;
        case RP_HOLD_FLAG_FILE:
                if (hold->trouble)
                        snprintf(text, size, "throttled: cannot look for flag file %.100s: %s", hold->subject, hold->trouble);
                else
                        snprintf(text, size, "throttled: flag file %.200s exists", hold->subject);
                break;
        case RP_HOLD_LAG_UNKNOWN:
                snprintf(text, size, "throttled: the lag of group %.100s is not known%s%s", hold->subject,
                         hold->trouble ? ": " : " yet", hold->trouble ? hold->trouble : "");
                break;
        case RP_HOLD_LAG:
                snprintf(text, size, "throttled: group %.100s lags %s > %s%s", hold->subject,
                         rp_text_count((uint64_t)hold->value).s, rp_text_count((uint64_t)hold->limit).s,
                         hold->is_settling ? ", where it may go on" : "");
                break;
        case RP_HOLD_BYTES:
                snprintf(text, size, "throttled to %s/s", rp_text_bytes((uint64_t)hold->limit).s);
                break;
        case RP_HOLD_RECORDS:
                snprintf(text, size, "throttled to %s records/s", rp_text_count((uint64_t)hold->limit).s);
                break;
        case RP_HOLD_NONE:
        case RP_HOLD_REASON_CNT:
                snprintf(text, size, "%s", "");
                break;
        }
        return text;
}
