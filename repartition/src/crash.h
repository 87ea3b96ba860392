/**
 * Places where a test build can be made to die, as by kill -9. Other builds (without -DRP_CRASH_POINTS) know nothing of
 * them: neither code nor names are in the program.
 *
 *         make BUILD=build-crash CPPFLAGS=-DRP_CRASH_POINTS build-crash/repartition
 *         KR_CRASH_AT='commit, after:3' build-crash/repartition rewrite ...    dies there, the third time that it comes by
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
