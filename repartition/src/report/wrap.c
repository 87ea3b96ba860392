#include "report/wrap.h"

#include <stdbool.h>
#include <string.h>

size_t rp_block_len(const char *text)
{
        bool verbatim = *text == ' ';
        size_t len = 0;

        while (text[len] && !(text[len] == '\n' && (text[len + 1] == '\n' || (text[len + 1] == ' ') != verbatim)))
                len++;
        return len;
}

static size_t word_width(const char *word, size_t len)
{
        size_t width = 0;

        for (size_t i = 0; i < len; i++)
                width += ((unsigned char)word[i] & 0xc0) != 0x80; /* later bytes of a UTF-8 character have no width */
        return width;
}

static void fill(FILE *out, const char *text, size_t text_len, size_t column, size_t indent)
{
        bool first = true; /* of the line: no blank before it */

        for (size_t i = 0, len; i < text_len; i += len) {
                size_t width;

                i += strspn(text + i, " \n");
                len = strcspn(text + i, " \n");
                if (i >= text_len)
                        break;
                width = word_width(text + i, len);
                if (!first && column + 1 + width > RP_HELP_WIDTH) {
                        fprintf(out, "\n%*s", (int)indent, "");
                        column = indent;
                        first = true;
                }
                if (!first) {
                        fputc(' ', out);
                        column++;
                }
                fwrite(text + i, 1, len, out);
                column += width;
                first = false;
        }
        fputc('\n', out);
}

static void stand(FILE *out, const char *text, size_t text_len, size_t indent)
{
        for (size_t i = 0, len; i < text_len; i += len + 1) {
                len = strcspn(text + i, "\n");
                fprintf(out, "%*s%.*s\n", i ? (int)indent : 0, "", (int)len, text + i);
        }
}

void rp_wrap(FILE *out, const char *text, size_t column, size_t indent)
{
        text += strspn(text, "\n");
        if (!*text)
                fputc('\n', out);
        while (*text) {
                size_t len = rp_block_len(text), breaks;

                if (*text == ' ')
                        stand(out, text, len, indent);
                else
                        fill(out, text, len, column, indent);
                text += len;
                breaks = strspn(text, "\n");
                text += breaks;
                if (!*text)
                        break;
                if (breaks > 1)
                        fputc('\n', out);
                fprintf(out, "%*s", (int)indent, "");
                column = indent;
        }
}
