#include "error.h"

#include <stdarg.h>
#include <stdio.h>

rp_err_t rp_fail(struct rp_error *err, rp_err_t code, const char *fmt, ...)
{
        va_list args;

        err->code = code;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
        return code;
}

int rp_exit_code(rp_err_t code)
{
        switch (code) {
        case RP_OK:
                return RP_EXIT_CLEAN;
        case RP_ERR_USAGE:
                return RP_EXIT_USAGE;
        case RP_ERR_FENCED:
                return RP_EXIT_FENCED;
        default:
                return RP_EXIT_INCOMPLETE;
        }
}
