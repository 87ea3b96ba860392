/** A whole file as text, for documents that are changed and not just read. */
#ifndef RP_FILE_TEXT_H
#define RP_FILE_TEXT_H

#include "error.h"

#include <stddef.h>

/** @returns the file's text, the caller's to free(); NULL with *err (RP_ERR_USAGE). Its length goes to *len. */
char *rp_file_text(const char *path, size_t *len, struct rp_error *err);

#endif
