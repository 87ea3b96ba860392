/* repartition ctl: asks and steers a running job through its control socket. */
#include "cli/command.h"
#include "clock.h"
#include "io/control.h"
#include "report/json.h"
#include "report/status.h"

#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
};

static const struct rp_option options[] = {
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { ANSWER_MS = 10000, PAUSE_MS = 30000, LOOK_AGAIN_MS = 50 };

/* @returns RP_OK and *status, a new reference; or what went wrong. */
static rp_err_t ask(const char *path, const char *line, json_t **status, struct rp_error *err)
{
        char *text;
        json_t *reply;
        rp_err_t rc = rp_control_ask(path, line, ANSWER_MS, &text, err);

        if (rc != RP_OK)
                return rc;
        reply = json_loads(text, 0, NULL);
        free(text);
        *status = json_incref(json_object_get(reply, "status"));
        if (!json_is_object(*status)) {
                const char *error = json_string_value(json_object_get(reply, "error"));

                json_decref(*status);
                rc = error ? rp_fail(err, RP_ERR_USAGE, "%s", error)
                           : rp_fail(err, RP_ERR_USAGE, "what listens at %.300s is no job of repartition", path);
        }
        json_decref(reply);
        return rc;
}

static const char *state_of(const json_t *status)
{
        const char *state = json_string_value(json_object_get(status, "state"));

        return state ? state : "";
}

/* Until what was open is committed: who pauses a job wants to rely on it. */
static rp_err_t await_pause(const char *path, json_t **status, struct rp_error *err)
{
        int64_t until = rp_clock_ms() + PAUSE_MS;

        while (!strcmp(state_of(*status), "pausing")) {
                rp_err_t rc;

                if (rp_clock_ms() > until)
                        return rp_fail(err, RP_ERR_RETRY, "the job will pause, but its transaction is still open: do brokers "
                                       "answer?");
                rp_clock_sleep_ms(LOOK_AGAIN_MS);
                json_decref(*status);
                *status = NULL;
                rc = ask(path, "status", status, err);
                if (rc != RP_OK)
                        return rc;
        }
        return RP_OK;
}

static rp_err_t join(char *line, size_t size, char **words, int cnt, struct rp_error *err)
{
        size_t used = 0;

        for (int i = 0; i < cnt; i++) {
                int len;

                if (strpbrk(words[i], "\r\n"))
                        return rp_fail(err, RP_ERR_USAGE, "a command is one line");
                len = snprintf(line + used, size - used, "%s%s", i ? " " : "", words[i]);
                if (len < 0 || (size_t)len >= size - used)
                        return rp_fail(err, RP_ERR_USAGE, "the command is too long");
                used += (size_t)len;
        }
        return RP_OK;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        const char *path = operands[0], *command = operands[1];
        char line[RP_CONTROL_LINE_MAX];
        json_t *status = NULL;
        struct rp_error err;
        rp_err_t rc = join(line, sizeof(line), operands + 1, operand_cnt - 1, &err);

        if (rc == RP_OK)
                rc = ask(path, line, &status, &err);
        if (rc == RP_OK && !strcmp(command, "pause"))
                rc = await_pause(path, &status, &err);
        if (rc != RP_OK) {
                json_decref(status);
                return rp_die("ctl", &err);
        }
        if (rp_is_json(&args->common)) {
                rp_json_print(status, stdout);
                return RP_EXIT_CLEAN;
        }
        if (!strcmp(command, "status"))
                rp_status_print(status, stdout);
        else
                printf("%s\n", state_of(status));
        json_decref(status);
        return RP_EXIT_CLEAN;
}

const struct rp_command rp_cmd_ctl = {
        .name = "ctl",
        .operands = "SOCKET COMMAND [NAME=VALUE...]",
        .summary = "Asks and steers a running job",
        .description =
                "SOCKET is the path that the job was given by --control-socket. COMMAND is one of\n\n"
                "  status    what the job does, how fast, for how long still, why it waits\n"
                "  pause     commits what is open, and waits; returns when that is done\n"
                "  resume    goes on\n"
                "  stop      commits what is open, and ends; the same command takes it up again\n"
                "  set       changes limits at once, one or several: throttle-bytes=10M,\n"
                "            throttle-records=5K (none: no limit), max-lag=20K,\n"
                "            transaction-ms=500\n\n"
                "All print the state that the job is in then; as JSON the whole status. Exit code 3 when nothing listens\n"
                "at SOCKET or the job does not answer.",
        .examples = "  repartition ctl /run/keyroute/orders.sock status\n"
                    "  repartition ctl /run/keyroute/orders.sock set throttle-bytes=2M\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = -1,
        .run = run,
};
