/* The way back from a cutover is a file that people keep, and edit. Whatever the bytes: refused, or the same when printed. */
#include "decide/rollback.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = strndup((const char *)data, size), *printed, *reprinted;
        struct rp_rollback rollback, again;
        struct rp_error err = { .code = RP_OK };

        if (!text)
                abort();
        if (rp_rollback_parse(&rollback, text, "file", &err) == RP_OK) {
                printed = rp_rollback_print(&rollback);
                if (!printed || rp_rollback_parse(&again, printed, "file", &err) != RP_OK)
                        abort();
                reprinted = rp_rollback_print(&again);
                if (!reprinted || strcmp(printed, reprinted))
                        abort();
                rp_rollback_release(&again);
                free(printed);
                free(reprinted);
        } else if (err.code != RP_ERR_USAGE || !strstr(err.text, "file")) {
                abort();
        }
        rp_rollback_release(&rollback);
        free(text);
        return 0;
}
