#include "decide/library.h"

#define V(major, minor, patch) ((uint32_t)(major) << 24 | (minor) << 16 | (patch) << 8)

/*
 * Not listed, since the tool does not come near them: batch reading across seek, pause and rebalance (2.0.x; jobs read each
 * partition from a queue of its own), doubled messages after an offset validation (2.1.0; the reader drops what it has
 * seen), the consumer's own position after an end of partition (2.2.0 to 2.13.1; positions are counted here), an idempotence
 * error after a message that may have been stored (before 2.3.0; the producer is made anew), telemetry's assertion (2.5.0;
 * telemetry is turned off), KIP-890 (lacking everywhere; after an uncertain outcome the producer is made anew).
 */
static const struct rp_library_flaw flaws[] = {
        { 0, V(1, 8, 2), RP_LIBRARY_WRITE, 1, "issue 3575",
          "after quick changes of leaders a transaction can be committed without the records that it began with" },
        { V(1, 8, 2), V(1, 9, 0), RP_LIBRARY_WRITE, 1, "changelog of 1.9.0",
          "after a topic was missing from a broker's metadata for a moment, records can be lost although they were reported "
          "as delivered" },
        { V(1, 9, 0), V(2, 0, 0), RP_LIBRARY_WRITE, 0, "changelog of 2.0.0",
          "after an idempotence error the producer can find itself fenced: the run then ends as if another one had taken over; "
          "start it again" },
        { V(2, 2, 0), V(2, 5, 0), RP_LIBRARY_WRITE, 0, "issue 4736",
          "large batches cannot always be sent again after a broker has moved: the run loses time by new starts" },
        { V(2, 4, 0), V(2, 10, 0), RP_LIBRARY_WRITE | RP_LIBRARY_GROUP, 0, "issues 4778 and 4964",
          "a topic that is deleted and made again meanwhile can crash the process; what was committed stands" },
        { V(1, 6, 0), V(2, 6, 1), RP_LIBRARY_GROUP, 0, "issue 4783",
          "the cooperative-sticky assignment can spin without end for some orders of members: an instance that uses a whole "
          "core and does not move must be started again" },
        { V(2, 10, 0), V(2, 10, 1), RP_LIBRARY_GROUP, 0, "issue 5051",
          "a consumer that loses all brokers while its group changes can corrupt memory" },
};

size_t rp_library_flaws(uint32_t version, unsigned uses, const struct rp_library_flaw **out, size_t max)
{
        size_t cnt = 0;

        for (int fatal = 1; fatal >= 0; fatal--)
                for (size_t i = 0; i < sizeof(flaws) / sizeof(*flaws); i++)
                        if (flaws[i].is_fatal == fatal && flaws[i].uses & uses && version >= flaws[i].since &&
                            version < flaws[i].fixed && cnt < max)
                                out[cnt++] = &flaws[i];
        return cnt;
}
