#include "cli/place.h"

rp_err_t rp_place_capacities(const struct rp_place_args *args, struct rp_named_list *list, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < args->capacities.cnt; i++)
                rc = rp_capacities_parse(list, args->capacities.items[i], "--capacity", err);
        return rc;
}

rp_err_t rp_place_loads(const struct rp_place_args *args, struct rp_loads *loads, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < args->loads.cnt; i++)
                rc = rp_loads_load(loads, args->loads.items[i], err);
        return rc;
}
