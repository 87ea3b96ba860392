#include "report/text.h"

#include "report/key_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct rp_text format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct rp_text format(const char *fmt, ...)
{
        struct rp_text text;
        va_list args;

        va_start(args, fmt);
        vsnprintf(text.s, sizeof(text.s), fmt, args);
        va_end(args);
        return text;
}

struct rp_text rp_text_count(uint64_t count)
{
        struct rp_text text;
        char digits[24];
        size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

        for (size_t i = 0; i < len; i++) {
                if (i && (len - i) % 3 == 0)
                        text.s[at++] = ',';
                text.s[at++] = digits[i];
        }
        text.s[at] = '\0';
        return text;
}

struct rp_text rp_text_share(double share)
{
        double percent = share * 100;

        if (percent > 0 && percent < 0.1)
                return format("<0.1 %%");
        if (percent < 100 && percent > 99.9)
                return format(">99.9 %%");
        return format("%.1f %%", percent);
}

struct rp_text rp_text_percent(uint64_t part, uint64_t whole)
{
        double share = whole ? (double)part / (double)whole : 0;

        if (part < whole && share >= 1) /* lost in the division */
                share = nextafter(1, 0);
        return rp_text_share(share);
}

struct rp_text rp_text_bytes(uint64_t bytes)
{
        static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
        double value = (double)bytes;
        size_t unit = 0;

        while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
                value /= 1000;
                unit++;
        }
        return unit ? format("%.1f %s", value, units[unit]) : format("%" PRIu64 " B", bytes);
}

struct rp_text rp_text_duration(int64_t ms)
{
        int64_t s = ms / 1000;

        if (ms < 1000)
                return format("%" PRId64 " ms", ms);
        if (s < 60)
                return format("%" PRId64 ".%" PRId64 " s", s, ms % 1000 / 100);
        if (s < 3600)
                return format("%" PRId64 " min %02" PRId64 " s", s / 60, s % 60);
        if (s < 86400)
                return format("%" PRId64 " h %02" PRId64 " min", s / 3600, s % 3600 / 60);
        return format("%" PRId64 " d %02" PRId64 " h", s / 86400, s % 86400 / 3600);
}

static struct rp_text time_text(int64_t ms, bool with_ms)
{
        time_t s = (time_t)(ms / 1000);
        struct tm tm;
        char date[40];

        if (ms < 0)
                return format("no time");
        /* RFC 3339 ends with the year 9999; producers that send microseconds get there. */
        if (!gmtime_r(&s, &tm) || tm.tm_year > 9999 - 1900 || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
                return format("%" PRId64 " ms", ms);
        return with_ms ? format("%s.%03dZ", date, (int)(ms % 1000)) : format("%sZ", date);
}

struct rp_text rp_text_time(int64_t ms)
{
        return time_text(ms, false);
}

struct rp_text rp_text_time_ms(int64_t ms)
{
        return time_text(ms, true);
}

size_t rp_text_width(const char *text)
{
        size_t width = 0;

        for (; *text; text++)
                width += (*text & 0xc0) != 0x80;
        return width;
}

void rp_text_bars(FILE *out, const uint64_t *values, size_t cnt, size_t columns)
{
        static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        uint64_t max = 0;

        if (columns > cnt)
                columns = cnt;
        for (size_t i = 0; i < cnt; i++)
                if (values[i] > max)
                        max = values[i];
        for (size_t c = 0; c < columns; c++) {
                uint64_t top = 0;

                for (size_t i = c * cnt / columns; i < (c + 1) * cnt / columns; i++)
                        if (values[i] > top)
                                top = values[i];
                fputs(bars[max ? (size_t)((double)top / (double)max * 7 + 0.5) : 0], out);
        }
}

void rp_text_shell_word(FILE *out, const char *word)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:,=@%+";

        if (*word && strspn(word, plain) == strlen(word)) {
                fputs(word, out);
                return;
        }
        fputc('\'', out);
        for (; *word; word++)
                if (*word == '\'')
                        fputs("'\\''", out);
                else
                        fputc(*word, out);
        fputc('\'', out);
}

void rp_text_key(FILE *out, const void *key, size_t len, size_t max)
{
        const unsigned char *bytes = key;
        size_t shown = len;

        if (len > max) {
                shown = max;
                while (shown && (bytes[shown] & 0xc0) == 0x80) /* never cut inside a character */
                        shown--;
        }
        if (rp_is_printable(bytes, shown)) {
                fwrite(bytes, 1, shown, out);
        } else {
                fputs("0x", out);
                for (size_t i = 0; i < shown; i++)
                        fprintf(out, "%02x", bytes[i]);
        }
        if (shown < len)
                fputs("…", out);
}

struct rp_table {
        char *alignment;
        size_t columns;
        char **cells;
        size_t cnt, size;
};

static void *checked(void *memory)
{
        if (!memory)
                abort(); /* a report's few lines: nothing sensible is left to do without them */
        return memory;
}

struct rp_table *rp_table_new(const char *alignment)
{
        struct rp_table *table = checked(calloc(1, sizeof(*table)));

        table->alignment = checked(strdup(alignment));
        table->columns = strlen(alignment);
        return table;
}

void rp_table_cell(struct rp_table *table, const char *fmt, ...)
{
        va_list args;

        if (table->cnt == table->size) {
                table->size = table->size ? table->size * 2 : 64;
                table->cells = checked(realloc(table->cells, table->size * sizeof(*table->cells)));
        }
        va_start(args, fmt);
        if (vasprintf(&table->cells[table->cnt++], fmt, args) < 0)
                abort();
        va_end(args);
}

void rp_table_print(const struct rp_table *table, FILE *out, size_t indent, size_t gap)
{
        size_t *width = checked(calloc(table->columns, sizeof(*width)));

        for (size_t i = 0; i < table->cnt; i++) {
                size_t w = rp_text_width(table->cells[i]);

                if (w > width[i % table->columns])
                        width[i % table->columns] = w;
        }
        for (size_t row = 0; row < table->cnt; row += table->columns) {
                size_t pad = indent;

                for (size_t c = 0; c < table->columns && row + c < table->cnt; c++) {
                        const char *cell = table->cells[row + c];
                        size_t rest = width[c] - rp_text_width(cell);

                        if (table->alignment[c] == 'r')
                                pad += rest;
                        if (*cell) {
                                fprintf(out, "%*s%s", (int)pad, "", cell);
                                pad = 0;
                        } else if (table->alignment[c] == 'r') {
                                rest = 0;
                        }
                        pad += gap + (table->alignment[c] == 'l' ? rest : 0);
                }
                fputc('\n', out);
        }
        free(width);
}

void rp_table_free(struct rp_table *table)
{
        if (!table)
                return;
        for (size_t i = 0; i < table->cnt; i++)
                free(table->cells[i]);
        free(table->cells);
        free(table->alignment);
        free(table);
}
