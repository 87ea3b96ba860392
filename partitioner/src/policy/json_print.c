/* jansson prints an array one element a line or a whole document on one line; a table of slots reads badly as either. */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 110, INDENT = 2 };

struct printer {
        FILE *out;
        size_t column;
};

static void put(struct printer *printer, const char *text)
{
        fputs(text, printer->out);
        printer->column += strlen(text);
}

static void new_line(struct printer *printer, int depth)
{
        fprintf(printer->out, "\n%*s", depth * INDENT, "");
        printer->column = (size_t)(depth * INDENT);
}

static char *compact(const json_t *value)
{
        return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static bool print_text(struct printer *printer, const json_t *value)
{
        char *text = compact(value);

        if (text)
                put(printer, text);
        free(text);
        return text;
}

static bool print_array(struct printer *printer, const json_t *array, int depth)
{
        put(printer, "[");
        for (size_t i = 0; i < json_array_size(array); i++) {
                char *text = compact(json_array_get(array, i));

                if (!text)
                        return false;
                if (printer->column + strlen(text) + 2 > LINE_MAX)
                        new_line(printer, depth + 1);
                else if (i)
                        put(printer, " ");
                put(printer, text);
                put(printer, i + 1 < json_array_size(array) ? "," : "");
                free(text);
        }
        put(printer, "]");
        return true;
}

static bool print(struct printer *printer, const json_t *value, int depth)
{
        const char *key;
        json_t *member;
        bool first = true;

        if (json_is_array(value))
                return print_array(printer, value, depth);
        if (!json_is_object(value) || !json_object_size(value))
                return print_text(printer, value);
        put(printer, "{");
        json_object_foreach((json_t *)value, key, member)
        {
                json_t *name = json_string(key);
                bool ok;

                put(printer, first ? "" : ",");
                first = false;
                new_line(printer, depth + 1);
                ok = name && print_text(printer, name);
                put(printer, ": ");
                json_decref(name);
                if (!ok || !print(printer, member, depth + 1))
                        return false;
        }
        new_line(printer, depth);
        put(printer, "}");
        return true;
}

char *kr_json_print(const json_t *value)
{
        char *text = NULL;
        size_t len = 0;
        struct printer printer = { open_memstream(&text, &len), 0 };
        bool ok;

        if (!printer.out)
                return NULL;
        ok = print(&printer, value, 0);
        put(&printer, "\n");
        if (fclose(printer.out) || !ok) {
                free(text);
                text = NULL;
        }
        return text;
}
