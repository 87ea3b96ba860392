/** repartition route --preset: where other stores put keys. Beside cmd_route.c, which reads the keys. */
#ifndef RP_ROUTE_PRESET_H
#define RP_ROUTE_PRESET_H

#include "cli/key_format.h"
#include "error.h"

#include <keyroute.h>

/** Prints every preset: what it prints, its parameters, where its rule stands. */
void rp_list_presets(bool json);

/**
 * The preset that a spec names, for keys of this format: numbers and UUIDs settle its `type` where the spec does not.
 * @returns RP_OK and *out, the caller's to kr_preset_free(); or RP_ERR_USAGE with *err
 */
rp_err_t rp_preset_open(const char *spec, const char *key_format, kr_preset_t **out, struct rp_error *err);

/**
 * Prints where the key goes: the key as it was given and the placement's fields with tabs between, or a JSON object.
 * @param locations  names of the buckets, printed last; or NULL
 * @returns RP_OK, or RP_ERR_USAGE with *err when the key is not of the preset's type
 */
rp_err_t rp_print_placement(const kr_preset_t *preset, const char *spec, const struct rp_key *key, const char *text,
                            size_t len, const kr_locations_t *locations, bool json, struct rp_error *err);

#endif
