/*
 * What stands beside stored offsets, and in a member's client.id, may be anybody's. Whatever the bytes: no note, or one that is
 * the same when it is printed and read again. The first byte says which kind is looked for.
 */
#include "decide/follow_note.h"
#include "decide/holder.h"
#include "decide/job_list.h"
#include "decide/lead.h"
#include "decide/repair_pass.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be(bool is_so)
{
        if (!is_so)
                abort();
}

static void check_note(const char *text)
{
        struct rp_note note, again;
        char *printed;

        if (!rp_note_parse(&note, text))
                return;
        printed = rp_note_print(&note);
        must_be(printed && rp_note_parse(&again, printed) && !memcmp(&note, &again, sizeof(note)));
        rp_note_add_pass(&note, note.first);
        must_be(note.pass_cnt && note.pass_cnt <= RP_NOTE_PASS_MAX && note.ends[note.pass_cnt - 1] == note.first);
        free(printed);
}

static void check_follow_note(const char *text)
{
        struct rp_follow_note note, again;
        char *printed;

        if (!rp_follow_note_parse(&note, text))
                return;
        printed = rp_follow_note_print(&note);
        must_be(printed && rp_follow_note_parse(&again, printed));
        must_be(note.from == again.from && note.time_ms == again.time_ms && note.epoch == again.epoch &&
                !strcmp(note.job, again.job) && note.partition_cnt == again.partition_cnt);
        rp_follow_begin(&note, 3, true);
        free(printed);
}

static void check_lead_note(const char *text)
{
        struct rp_lead_note note, again;
        char *printed;

        if (!rp_lead_note_parse(&note, text))
                return;
        printed = rp_lead_note_print(&note);
        must_be(printed && rp_lead_note_parse(&again, printed) && !memcmp(&note, &again, sizeof(note)));
        free(printed);
}

static void check_pass(const char *text)
{
        struct rp_repair_pass pass;
        char printed[RP_NOTE_JOB_SIZE];

        if (!rp_repair_pass_parse(&pass, text))
                return;
        rp_repair_pass_print(printed, &pass);
        must_be(!strcmp(printed, text) && rp_repair_pass_is_alike(&pass, &pass));
}

static void check_holder(const char *text)
{
        static const struct rp_process_facts facts = { .exists = true, .started = 5 };
        struct rp_holder holder, again;
        char printed[RP_HOLDER_TEXT_SIZE];

        if (!rp_holder_parse(&holder, text))
                return;
        rp_holder_print(&holder, printed);
        must_be(rp_holder_parse(&again, printed) && again.pid == holder.pid && again.started == holder.started);
        rp_holder_judge(&holder, &again, &facts);
}

static void check_lane(const char *text)
{
        struct rp_job_lane lane = { .next = 7, .end = 9 };

        rp_job_lane_note(&lane, text);
        rp_job_extent(&lane, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static void (*const checks[])(const char *text) = { check_note, check_follow_note, check_lead_note, check_pass,
                                                            check_holder, check_lane };
        char *text = size ? strndup((const char *)data + 1, size - 1) : NULL;

        if (text)
                checks[data[0] % (sizeof(checks) / sizeof(*checks))](text);
        free(text);
        return 0;
}
