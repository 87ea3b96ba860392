/**
 * Text for people, filled to the width of a terminal. Pure.
 * A blank line in a text begins a new paragraph; lines that begin with a blank stand as they are.
 */
#ifndef RP_WRAP_H
#define RP_WRAP_H

#include <stddef.h>
#include <stdio.h>

enum { RP_HELP_WIDTH = 80 };

/** @returns the length of the block at the start of text: lines to be filled, or lines that stand as they are. */
size_t rp_block_len(const char *text);

/**
 * Prints text so that no line is wider than RP_HELP_WIDTH (a longer word stands alone), and ends with a newline.
 *
 * @param column  where the cursor stands already
 * @param indent  where further lines begin
 */
void rp_wrap(FILE *out, const char *text, size_t column, size_t indent);

#endif
