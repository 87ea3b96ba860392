#define RP_WITH_RDKAFKA
#include "io/kafka_group.h"

#include "io/newer.h"

#include <stdlib.h>
#include <string.h>

/* Old versions tell the generation only in the serialized form: this mark, then the generation, then texts. */
static int32_t generation_of(rd_kafka_t *rk, const rd_kafka_consumer_group_metadata_t *metadata)
{
        static const char mark[7] = "CGMDv2:";
        int32_t generation = -1;
        void *bytes = NULL;
        size_t size = 0;
        rd_kafka_error_t *kerr;

        if (rd_kafka_consumer_group_metadata_generation_id)
                return rd_kafka_consumer_group_metadata_generation_id(metadata);
        kerr = rd_kafka_consumer_group_metadata_write(metadata, &bytes, &size);
        if (kerr) {
                rd_kafka_error_destroy(kerr);
                return -1;
        }
        if (size >= sizeof(mark) + sizeof(generation) && !memcmp(bytes, mark, sizeof(mark)))
                memcpy(&generation, (char *)bytes + sizeof(mark), sizeof(generation));
        rd_kafka_mem_free(rk, bytes);
        return generation;
}

/*
 * The trap: librdkafka forgets its generation and its member id the moment it learns that it is out, which may be before
 * we hear of it. Offsets that come without a generation and a member are what a plain consumer stores, and the cluster
 * takes them without any check; a zombie would thus write over its successor's progress, and double its records.
 */
rp_err_t rp_kafka_group_metadata(struct rp_group *group, rd_kafka_consumer_group_metadata_t **out, struct rp_error *err)
{
        rd_kafka_t *rk = rp_kafka_group_client(group)->rk;
        rd_kafka_consumer_group_metadata_t *metadata = rd_kafka_consumer_group_metadata(rk);

        *out = NULL;
        if (metadata && generation_of(rk, metadata) >= 0 && !rd_kafka_assignment_lost(rk)) {
                *out = metadata;
                return RP_OK;
        }
        if (metadata)
                rd_kafka_consumer_group_metadata_destroy(metadata);
        return rp_fail(err, RP_ERR_ABORT_BATCH, "this instance is not a member of group \"%s\" any more", group->name);
}
