#include "report/progress.h"

#include "report/text.h"

#include <unistd.h>

enum { TERMINAL_EVERY_MS = 200, LOG_EVERY_MS = 10000 };

void rp_progress_line_start(struct rp_progress_line *line, FILE *out, bool wanted, const char *label, int64_t now_ms)
{
        *line = (struct rp_progress_line){ .out = wanted ? out : NULL, .label = label, .started_ms = now_ms };
        line->terminal = wanted && isatty(fileno(out));
        line->printed_ms = now_ms;
}

void rp_progress_line_update(struct rp_progress_line *line, uint64_t done, uint64_t total, uint64_t records,
                             int64_t now_ms)
{
        int64_t elapsed = now_ms - line->started_ms;
        double share = total ? (double)done / (double)total : 1;

        if (!line->out || now_ms - line->printed_ms < (line->terminal ? TERMINAL_EVERY_MS : LOG_EVERY_MS))
                return;
        line->printed_ms = now_ms;
        line->shown = true;
        fprintf(line->out, "%s%s  %s  %s records  %s/s", line->terminal ? "\r\033[K" : "", line->label,
                rp_text_share(share).s, rp_text_count(records).s,
                rp_text_count(elapsed > 0 ? (uint64_t)((double)records * 1000 / (double)elapsed) : 0).s);
        if (share >= 0.01 && share < 1)
                fprintf(line->out, "  %s left", rp_text_duration((int64_t)((double)elapsed * (1 - share) / share)).s);
        if (line->why && *line->why)
                fprintf(line->out, "  (%s)", line->why);
        if (!line->terminal)
                fputc('\n', line->out);
        fflush(line->out);
}

void rp_progress_line_clear(struct rp_progress_line *line)
{
        if (line->out && line->terminal && line->shown) {
                fputs("\r\033[K", line->out);
                fflush(line->out);
        }
}

void rp_progress_line_end(struct rp_progress_line *line)
{
        rp_progress_line_clear(line);
        line->out = NULL;
}
