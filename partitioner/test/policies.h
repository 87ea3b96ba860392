/** Policies for tests: JSON with ' for ", from memory or from a folder that is gone afterwards. */
#ifndef KR_TEST_POLICIES_H
#define KR_TEST_POLICIES_H

#include "policy/policy.h"

/** A policy of one topic "t" whose rule has these fields; fails the test when it does not parse. */
kr_policy_t *policy_of(const char *rule_fmt, ...) __attribute__((format(printf, 1, 2)));

/** The only rule of a policy. */
const kr_rule_t *rule_of(const kr_policy_t *policy);

/** The error that such a rule gives; fails the test when it parses. Static storage. */
const char *error_of(const char *rule);

/** Makes and removes a folder for files; a group's setup and teardown. */
int folder_setup(void **state);
int folder_teardown(void **state);

/** Writes a file into it (' becomes " when the name ends in .json). @returns its path, valid until the third call on. */
const char *file_write(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Loads it; fails the test when it does not parse. */
kr_policy_t *file_load(const char *path);

#endif
