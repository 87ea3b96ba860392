#include "cli/neighbour.h"

#include <string.h>
#include <unistd.h>

/* The loop is stuck then, and so is its progress line. */
static void say(void *arg, const char *text)
{
        const struct rp_neighbour_job *job = arg;

        fprintf(stderr, "%srepartition %s: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", job->command, text);
}

rp_err_t rp_neighbour_open(struct rp_governor **governor, const struct rp_neighbour_args *args,
                           const struct rp_neighbour_job *job, struct rp_error *err)
{
        struct rp_governor_config config = {
                .kind = job->command, .job = job->job, .source = job->source, .target = job->target, .client = job->client,
                .bytes_per_second = args->throttle_bytes, .records_per_second = args->throttle_records,
                .groups = args->control_groups.items, .group_cnt = args->control_groups.cnt, .lag_max = args->max_lag,
                .transaction_ms = job->transaction_ms,
                .flag_files = args->flag_files.items, .flag_file_cnt = args->flag_files.cnt,
                .panic_file = args->panic_file, .control_path = args->control_socket, .status_path = args->status_file,
                .metrics_path = args->metrics_file, .metrics_address = args->metrics_listen, .timeout_ms = job->timeout_ms,
                .sides = job->sides, .side_cnt = job->side_cnt, .say = job->quiet ? NULL : say, .say_arg = (void *)job,
        };
        rp_err_t rc;

        *governor = NULL;
        if (args->status_file && args->metrics_file && !strcmp(args->status_file, args->metrics_file))
                return rp_fail(err, RP_ERR_USAGE, "--status-file and --metrics-file are both %.300s: each needs a file of its own",
                               args->status_file);
        rc = rp_governor_new(governor, &config, err);
        if (rc == RP_OK && args->metrics_listen && !job->quiet)
                fprintf(stderr, "repartition %s: metrics at port %d\n", job->command, rp_governor_metrics_port(*governor));
        return rc;
}

void rp_neighbour_show(struct rp_governor *governor, const struct rp_neighbour_job *job, struct rp_progress_line *line,
                       bool quiet)
{
        struct rp_error complaint;

        line->why = rp_governor_why(governor);
        if (!rp_governor_take_complaint(governor, &complaint) || quiet)
                return;
        rp_progress_line_clear(line);
        rp_die(job->command, &complaint); /* as an error is printed; but the job goes on, whatever the code */
        fprintf(stderr, "repartition %s: the job goes on without it\n", job->command);
}

int rp_neighbour_close(struct rp_governor *governor, const struct rp_neighbour_job *job,
                       const struct rp_neighbour_end *end)
{
        const char *state = end->code == RP_ERR_FENCED ? "fenced" : end->code != RP_OK ? "failed"
                          : end->is_stopped            ? "stopped" : "finished";
        int exit_code = rp_exit_code(end->code);

        if (end->code == RP_OK && end->is_stopped && !end->is_time_over)
                exit_code = end->signal ? 128 + end->signal : RP_EXIT_INCOMPLETE;
        rp_governor_end(governor, state, exit_code, end->err, end->result);
        if (end->code == RP_OK && end->is_stopped && !end->signal && rp_governor_stopper(governor))
                fprintf(stderr, "repartition %s: stopped: %s. The same command takes it up again\n", job->command,
                        rp_governor_stopper(governor));
        rp_governor_free(governor);
        return exit_code;
}
