/** Java's rule, for tests of jobs that need some rule: a group set-up and its tear-down. */
#ifndef JAVA_RULE_H
#define JAVA_RULE_H

#include <keyroute.h>

/** murmur2 for every topic, from java_rule_set_up() on. A test may put another one there for its own time. */
extern const kr_rule_t *rule;

/** For cmocka_run_group_tests(). */
int java_rule_set_up(void **state);
int java_rule_tear_down(void **state);

#endif
