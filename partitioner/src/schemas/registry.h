/**
 * The client of a policy's registries; see struct kr_schemas for what its functions promise.
 *
 * Threads of the client ask (a few, started when there is something to ask); a record that meets a new schema leaves an
 * errand and waits for it at most so long. The one lock guards the errands and all but lookups in the cache. It is never
 * held while anybody asks, compiles or logs.
 *
 * Fork: the threads do not exist in a child, and the lock may be held there by nobody. So a child takes neither: what is
 * in the cache goes on routing, new schemas stay unresolved, and freeing the policy leaks. A process that forks loads
 * its policy, which a plugin does when the producer's configuration is made, in the child.
 */
#ifndef KR_REGISTRY_H
#define KR_REGISTRY_H

#include "../key/schemas.h"

struct kr_schema_client *kr_client_open(const struct kr_schemas_conf *conf, struct kr_error *err);
void kr_client_close(struct kr_schema_client *client);
struct kr_schema_view *kr_client_view(struct kr_schema_client *client, const struct kr_schema_view_conf *conf,
                                      struct kr_error *err);
void kr_client_start(struct kr_schema_client *client, kr_log_fn *log, void *opaque);
void kr_client_counts(struct kr_schema_client *client, struct kr_schema_counts *counts);
struct kr_avro_plan *kr_view_plan(struct kr_schema_view *view, const char *which, struct kr_error *err);
kr_key_outcome_t kr_client_project(struct kr_schema_view *view, struct kr_bytes *bytes, struct kr_scratch *scratch);

#endif
