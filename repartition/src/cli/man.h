/** The man page, drawn from the same rows as --help. */
#ifndef RP_MAN_H
#define RP_MAN_H

#include <stdio.h>

void rp_man_print(FILE *out);

#endif
