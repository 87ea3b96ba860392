/** A schema registry for tests: an HTTP server whose answers the test sets, a policy that asks it, and its log. */
#ifndef KR_TEST_REGISTRIES_H
#define KR_TEST_REGISTRIES_H

#include "http_server.h"
#include "key/schemas.h"
#include "policy/policy.h"

#include <stdatomic.h>

enum { LATER_S = 60 }; /* what has not happened then will not; against hangs, not a measure */

/** A group's setup and teardown: an empty registry. */
int registry_setup(void **state);
int registry_teardown(void **state);

/** Sets what GET path answers from now on; a path of NULL is for all that are not set. Strings must stay. */
void registry_says(const char *path, struct http_reply reply);

/** The same for an Avro schema of JSON text, with a registry's other fields such as "\"id\":7" (may be ""). */
void registry_has(const char *path, const char *schema, const char *more);

/** Ends the server, and starts it again on the same port. */
void registry_stop(void);
void registry_start(void);

int registry_port(void);
unsigned registry_requests(void);

/** @returns the head of the last request, valid until the next call. */
const char *registry_last_request(void);

/** A policy for topic "t" with registry "main" at our server; ' stands for ". `registry`: more of its members, `schema`
 * and `key` likewise, such as ",'wait_ms':50". Fails the test when it does not parse. */
kr_policy_t *registry_policy(const char *registry, const char *schema, const char *key);

/** As the above with all of the policy's text; %d in it is the server's port. NULL with *err. */
kr_policy_t *registry_parse(struct kr_error *err, const char *text);

/** Counts of the policy's client. */
struct kr_schema_counts registry_counts(const kr_policy_t *policy);

/** Routes the Avro record {"a": long 1, "id": text} under a Confluent frame with this schema id. */
kr_key_outcome_t route_framed(const kr_policy_t *policy, int id, const char *text, struct kr_routing *routing);

/** Routes until the outcome is this one; fails the test when it does not come. */
void route_until(const kr_policy_t *policy, int id, const char *text, kr_key_outcome_t outcome);

/** Fails the test unless the key's partition is that of the plain text. */
void assert_routes_as_text(const kr_policy_t *policy, int id, const char *text);

/** For kr_policy_start(): keeps the lines. */
void log_line(int level, const char *text, void *opaque);

/** Waits until a line holds this text; fails the test when none does. */
void log_await(const char *text);

/** How many lines hold it. */
unsigned log_count(const char *text);
bool log_empty(void);

#define SCHEMA_A "{\"type\":\"record\",\"name\":\"K\",\"fields\":[{\"name\":\"a\",\"type\":\"long\"}," \
                 "{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"n\",\"type\":\"int\"}]}"
/** The same fields in another order. */
#define SCHEMA_B "{\"type\":\"record\",\"name\":\"K\",\"fields\":[{\"name\":\"id\",\"type\":\"string\"}," \
                 "{\"name\":\"a\",\"type\":\"long\"},{\"name\":\"n\",\"type\":\"int\"}]}"

#endif
