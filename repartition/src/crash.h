/**
 * Places where a program for tests can be made to die, as by kill -9. Others (without -DRP_CRASH_POINTS) know nothing of
 * them: neither code nor names are in the program.
 *
 *         make build/repartition-crash
 *         KR_CRASH_AT='commit, after:3' build/repartition-crash rewrite ...    dies there, the third time that it comes by
 *         KR_CRASH_LIST=FILE ...                                               appends the name of every place it comes by
 */
#ifndef RP_CRASH_H
#define RP_CRASH_H

#ifdef RP_CRASH_POINTS
void rp_crash_point(const char *what, const char *when);
#define RP_CRASH_POINT(what, when) rp_crash_point(what, when)
#else
#define RP_CRASH_POINT(what, when) ((void)0)
#endif

#endif
