/** The shell's completion, drawn from the same rows as --help. */
#ifndef RP_COMPLETION_H
#define RP_COMPLETION_H

#include <stdio.h>

/** Prints a script for bash. */
void rp_completion_print(FILE *out);

#endif
