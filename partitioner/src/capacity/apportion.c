#include "apportion.h"

#include "../policy/locations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* total * weight needs more than 64 bits. */
__extension__ typedef unsigned __int128 wide;

/*
 * JSON's decimals arrive as doubles. The double nearest to a decimal of six places gives that decimal back exactly when
 * it is multiplied, rounded and divided again; anything else was written with more places.
 */
static bool from_double(double real, uint64_t *weight)
{
        if (!(real >= 0 && real <= 1e6))
                return false;
        *weight = (uint64_t)(real * 1e6 + 0.5);
        return (double)*weight / 1e6 == real;
}

bool kr_weight_parse(const struct kr_json *at, uint64_t *weight, struct kr_error *err)
{
        bool ok = false;

        if (json_is_string(at->value))
                ok = strlen(json_string_value(at->value)) == json_string_length(at->value) &&
                     kr_decimal_parse(json_string_value(at->value), KR_WEIGHT_MAX / KR_WEIGHT_ONE, weight);
        else if (json_is_real(at->value))
                ok = from_double(json_real_value(at->value), weight);
        else if (json_is_integer(at->value)) {
                json_int_t value = json_integer_value(at->value);

                ok = value >= 0 && value <= 1000000;
                *weight = ok ? (uint64_t)value * KR_WEIGHT_ONE : 0;
        }
        return ok || kr_json_fail(at, err, "expected a weight from 0 to 1000000 with at most six decimals, such as 2 or "
                                           "\"1.5\"");
}

bool kr_weights_parse(const struct kr_json *at, uint64_t *weights, int32_t partition_cnt, struct kr_error *err)
{
        const uint64_t unset = UINT64_MAX;
        uint64_t others = unset;
        bool any = false;
        const char *key;
        json_t *value;

        for (int32_t p = 0; p < partition_cnt; p++)
                weights[p] = at->value ? unset : KR_WEIGHT_ONE;
        if (!at->value)
                return true;
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"0-11\": 2, \"12\": \"1.5\", \"*\": 1}");
        json_object_foreach(at->value, key, value)
        {
                struct kr_json member = kr_json_member(at, key);
                int32_t first, last;
                uint64_t weight;

                if (!kr_weight_parse(&member, &weight, err))
                        return false;
                if (!strcmp(key, "*")) {
                        others = weight;
                        continue;
                }
                if (!kr_partition_range_parse(key, partition_cnt, &first, &last, &member, err))
                        return false;
                for (int32_t p = first; p <= last; p++) {
                        if (weights[p] != unset)
                                return kr_json_fail(&member, err, "partition %" PRId32 " has two weights", p);
                        weights[p] = weight;
                }
        }
        for (int32_t p = 0; p < partition_cnt; p++) {
                if (weights[p] == unset)
                        weights[p] = others;
                if (weights[p] == unset)
                        return kr_json_fail(at, err,
                                            "partition %" PRId32 " has no weight; \"*\" stands for all that are not "
                                            "named, 0 drains one", p);
                any = any || weights[p];
        }
        return any || kr_json_fail(at, err, "every weight is 0: no partition is left for the keys");
}

struct claim {
        uint64_t remainder;
        bool keeps; /* holds more than its floor: the unit would stay where it is */
        uint32_t party;
};

static int by_claim(const void *a, const void *b)
{
        const struct claim *x = a, *y = b;

        if (x->remainder != y->remainder)
                return x->remainder > y->remainder ? -1 : 1;
        if (x->keeps != y->keeps)
                return x->keeps ? -1 : 1;
        return x->party < y->party ? -1 : x->party > y->party;
}

bool kr_apportion(const uint64_t *weights, size_t cnt, uint64_t total, const uint64_t *held, uint64_t *quotas)
{
        struct claim *claims = calloc(cnt, sizeof(*claims));
        uint64_t sum = 0, left = total;

        if (!claims)
                return false;
        for (size_t i = 0; i < cnt; i++)
                sum += weights[i];
        for (size_t i = 0; i < cnt; i++) {
                wide share = (wide)total * weights[i];

                quotas[i] = (uint64_t)(share / sum);
                claims[i] = (struct claim){ (uint64_t)(share % sum), held && held[i] > quotas[i], (uint32_t)i };
                left -= quotas[i];
        }
        qsort(claims, cnt, sizeof(*claims), by_claim);
        /* left is smaller than the number of remainders above 0, so a weight of 0 never gets a unit. */
        for (size_t i = 0; i < left; i++)
                quotas[claims[i].party]++;
        free(claims);
        return true;
}

struct ledger {
        uint64_t *surplus; /* what a party has to give */
        uint64_t *want;    /* what a party has to get */
        int32_t party_cnt;
};

static bool gives(const struct ledger *ledger, int32_t owner)
{
        return owner >= ledger->party_cnt || ledger->surplus[owner];
}

static void move(struct ledger *ledger, int32_t *owner, int32_t to)
{
        if (*owner < ledger->party_cnt)
                ledger->surplus[*owner]--;
        ledger->want[to]--;
        *owner = to;
}

bool kr_reassign(int32_t *owners, size_t slot_cnt, const uint64_t *quotas, int32_t party_cnt)
{
        size_t cnt = (size_t)party_cnt;
        bool homes = slot_cnt % cnt == 0;
        struct ledger ledger = { calloc(2 * cnt, sizeof(uint64_t)), NULL, party_cnt };
        int32_t to = 0;

        if (!ledger.surplus)
                return false;
        ledger.want = ledger.surplus + cnt;
        for (size_t s = 0; s < slot_cnt; s++)
                if (owners[s] < party_cnt)
                        ledger.surplus[owners[s]]++;
        for (size_t p = 0; p < cnt; p++) {
                uint64_t held = ledger.surplus[p];

                ledger.surplus[p] = held > quotas[p] ? held - quotas[p] : 0;
                ledger.want[p] = held < quotas[p] ? quotas[p] - held : 0;
        }
        for (size_t s = 0; homes && s < slot_cnt; s++) {
                int32_t home = (int32_t)(s % cnt);

                if (ledger.want[home] && gives(&ledger, owners[s]))
                        move(&ledger, &owners[s], home);
        }
        for (int pass = homes ? 0 : 1; pass < 2; pass++)
                for (size_t s = slot_cnt; s-- > 0;) {
                        if (!gives(&ledger, owners[s]) || (!pass && (size_t)owners[s] == s % cnt))
                                continue;
                        while (to < party_cnt && !ledger.want[to])
                                to++;
                        if (to == party_cnt)
                                break;
                        move(&ledger, &owners[s], to);
                }
        free(ledger.surplus);
        return true;
}
