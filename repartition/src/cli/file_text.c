#include "cli/file_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *rp_file_text(const char *path, size_t *len, struct rp_error *err)
{
        FILE *in = fopen(path, "r");
        char *text = NULL;
        size_t size = 0, got = 0;

        while (in && !ferror(in)) {
                if (got + 1 >= size) {
                        char *grown = realloc(text, size = size ? 2 * size : 65536);

                        if (!grown)
                                break;
                        text = grown;
                }
                got += fread(text + got, 1, size - got - 1, in);
                if (feof(in))
                        break;
        }
        if (!in || !text || !feof(in)) {
                rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read it: %s", path, strerror(errno));
                free(text);
                text = NULL;
        } else {
                text[got] = '\0';
                *len = got;
        }
        if (in)
                fclose(in);
        return text;
}
