#define RP_WITH_RDKAFKA
#include "io/zero_time.h"

#include <string.h>

/* No sane time, and no sane anything else that may stand beside it. */
static const int64_t STAND_IN = INT64_C(0x7a65726f54694d65);

enum { WORDS = 8 /* all of them inside librdkafka's message, whose private part is much longer */ };

static rd_kafka_resp_err_t on_send(rd_kafka_t *rk, rd_kafka_message_t *message, void *opaque)
{
        struct rp_zero_time *zero = opaque;
        char *after = (char *)(message + 1);
        static const int64_t nothing = 0;

        (void)rk;
        if (!zero->is_wanted)
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        for (int i = 0; i < WORDS && !zero->is_done; i++, after += sizeof(int64_t)) {
                if (memcmp(after, &STAND_IN, sizeof(STAND_IN)) != 0)
                        continue;
                memcpy(after, &nothing, sizeof(nothing));
                zero->is_done = rd_kafka_message_timestamp(message, NULL) == 0;
                if (!zero->is_done)
                        memcpy(after, &STAND_IN, sizeof(STAND_IN));
        }
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *text, size_t text_size)
{
        (void)conf;
        (void)text;
        (void)text_size;
        return rd_kafka_interceptor_add_on_send(rk, "zero-time", on_send, opaque);
}

rp_err_t rp_zero_time_install(rd_kafka_conf_t *conf, struct rp_zero_time *zero, struct rp_error *err)
{
        rd_kafka_resp_err_t kerr = rd_kafka_conf_interceptor_add_on_new(conf, "zero-time", on_new, zero);

        return kerr ? rp_fail_resp(err, NULL, kerr, "cannot add an interceptor") : RP_OK;
}

int64_t rp_zero_time_begin(struct rp_zero_time *zero, int64_t timestamp_ms)
{
        zero->is_wanted = timestamp_ms == 0;
        zero->is_done = false;
        return zero->is_wanted ? STAND_IN : timestamp_ms;
}

bool rp_zero_time_done(struct rp_zero_time *zero)
{
        bool is_well = zero->is_done || !zero->is_wanted;

        zero->is_wanted = false;
        return is_well;
}
