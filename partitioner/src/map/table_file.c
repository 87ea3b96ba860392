/*
 * Pinned keys from a file: KEY TAB PARTITION[,PARTITION...] a line. The last tab of a line is the one that counts, so a
 * key may hold tabs; nothing is quoted, no line is skipped. Messages name lines, never keys: those may be personal.
 */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The longest line that can be right: a key in hex, a tab, and the partitions with their commas. */
#define LINE_LEN_MAX (2 * KR_TABLE_KEY_LEN_MAX + 1 + KR_TABLE_SPREAD_MAX * 8)

struct reader {
        FILE *file;
        size_t start, end; /* of what was read and not yet taken */
        char buf[4 * LINE_LEN_MAX];
};

/* The next line without its end, or NULL: at the end of the file, after an error, or (*too_long) for an endless one. */
static char *next_line(struct reader *reader, size_t *len, bool *too_long)
{
        size_t searched = 0;

        *too_long = false;
        for (;;) {
                char *line = reader->buf + reader->start;
                size_t left = reader->end - reader->start, got;
                char *end = left > searched ? memchr(line + searched, '\n', left - searched) : NULL;

                if (end) {
                        *len = (size_t)(end - line);
                        reader->start += *len + 1;
                        return line;
                }
                searched = left;
                if (left > LINE_LEN_MAX) {
                        *too_long = true;
                        return NULL;
                }
                memmove(reader->buf, line, left);
                reader->start = 0;
                reader->end = left;
                got = fread(reader->buf + left, 1, sizeof(reader->buf) - left, reader->file);
                reader->end += got;
                if (got)
                        continue;
                *len = left;
                reader->start = reader->end;
                return left && !ferror(reader->file) ? reader->buf : NULL;
        }
}

/* "3" or "3,4,5" up to `end`. @returns how many, or 0 when it is something else; more than there is room for: 0. */
static int32_t parse_partitions(const char *text, const char *end, int32_t *partitions)
{
        int32_t cnt = 0;

        for (;;) {
                int64_t value = 0;

                if (text == end || *text < '0' || *text > '9' || cnt == KR_TABLE_SPREAD_MAX)
                        return 0;
                for (; text < end && *text >= '0' && *text <= '9'; text++)
                        value = value > INT32_MAX ? value : value * 10 + (*text - '0');
                partitions[cnt++] = value > INT32_MAX ? INT32_MAX : (int32_t)value;
                if (text == end)
                        return cnt;
                if (*text++ != ',')
                        return 0;
        }
}

static const char *add_line(struct kr_table *table, const char *line, size_t len, char text[200])
{
        int32_t partitions[KR_TABLE_SPREAD_MAX];
        const char *tab, *end;
        int32_t cnt;

        if (len && line[len - 1] == '\r')
                len--;
        end = line + len;
        tab = len ? memrchr(line, '\t', len) : NULL;
        cnt = tab ? parse_partitions(tab + 1, end, partitions) : 0;
        if (!cnt)
                return "expected a key, a tab, and a partition such as 3 or up to 1024 of them such as 3,4,5";
        return kr_table_add(table, (struct kr_bytes){ (const unsigned char *)line, (size_t)(tab - line) }, partitions,
                            cnt, text);
}

static bool read_lines(struct kr_table *table, struct reader *reader, const char *path, struct kr_error *err)
{
        size_t number = 0, len = 0;
        bool too_long;
        char *line;

        while ((line = next_line(reader, &len, &too_long))) {
                char text[200];
                const char *wrong = ++number == 1 && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)
                                            ? "the file starts with a byte order mark, which would be part of the key"
                                            : add_line(table, line, len, text);

                if (wrong) {
                        snprintf(err->text, sizeof(err->text), "%.250s: line %zu: %s", path, number, wrong);
                        return false;
                }
        }
        if (too_long)
                snprintf(err->text, sizeof(err->text), "%.250s: line %zu: longer than the %d bytes that a row can have",
                         path, number + 1, LINE_LEN_MAX);
        else if (ferror(reader->file))
                snprintf(err->text, sizeof(err->text), "%.250s: cannot read the keys: %s", path, strerror(errno));
        return !too_long && !ferror(reader->file);
}

bool kr_table_read(struct kr_table *table, const char *path, struct kr_error *err)
{
        struct reader *reader = malloc(sizeof(*reader));
        struct stat st;
        bool ok = false;

        if (!reader) {
                snprintf(err->text, sizeof(err->text), "%.250s: out of memory", path);
                return false;
        }
        reader->start = reader->end = 0;
        reader->file = NULL;
        /* Looked at before it is opened: opening a FIFO would wait for a writer. */
        if (!stat(path, &st) && !S_ISREG(st.st_mode))
                snprintf(err->text, sizeof(err->text), "%.250s: expected a file with keys, found %s", path,
                         S_ISDIR(st.st_mode) ? "a directory" : "something that is not a regular file");
        else if (!(reader->file = fopen(path, "rb")))
                snprintf(err->text, sizeof(err->text), "%.250s: cannot read the keys: %s", path, strerror(errno));
        else
                ok = read_lines(table, reader, path, err);
        if (reader->file)
                fclose(reader->file);
        free(reader);
        return ok;
}
