package keyroute;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes a Java producer by the policy that the librdkafka plugin, the tool and programs in other languages route by:
 * <pre>
 * partitioner.class=keyroute.KeyroutePartitioner
 * keyroute.policy=/etc/keyroute/compiled.json        (from: repartition policy compile)
 * </pre>
 * Topics that the policy does not name are routed as Java does without it. Records without a key keep sticky partitioning:
 * one partition for a batch's worth of bytes (batch.size), then another one at random among those with a leader.
 * Logs one line a topic: the rule's fingerprint and the partition count. Threads may share a producer, as always.
 */
public final class KeyroutePartitioner implements Partitioner {
    private static final Logger LOG = LoggerFactory.getLogger(KeyroutePartitioner.class);
    private static final int BATCH_SIZE = 16384; // the producer's own default

    private Policy policy;
    private int batchSize;
    private final Map<String, Optional<Policy.Rule>> rules = new ConcurrentHashMap<>();
    private final Map<String, Sticky> sticky = new ConcurrentHashMap<>();

    @Override
    public void configure(Map<String, ?> configs) {
        Object file = configs.get("keyroute.policy");
        if (file == null || file.toString().isEmpty()) {
            throw new ConfigException("keyroute.policy is missing: the file that `repartition policy compile` wrote");
        }
        policy = Policy.load(Path.of(file.toString()));
        Object size = configs.get("batch.size");
        batchSize = Math.max(1, size == null ? BATCH_SIZE : Integer.parseInt(size.toString()));
    }

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        int count = cluster.partitionsForTopic(topic).size();
        Optional<Policy.Rule> rule = rules.computeIfAbsent(topic, name -> find(name, count));
        if (keyBytes == null) {
            return sticky.computeIfAbsent(topic, name -> new Sticky()).next(topic, valueBytes, cluster);
        }
        if (rule.isEmpty()) {
            return Utils.toPositive(Utils.murmur2(keyBytes)) % count;
        }
        try {
            return rule.get().partition(keyBytes, count);
        } catch (RefusedException e) {
            throw new RefusedException("keyroute: topic " + topic + ": " + e.getMessage());
        }
    }

    private Optional<Policy.Rule> find(String topic, int count) {
        Policy.Rule rule = policy.rule(topic);
        if (rule == null) {
            LOG.info("keyroute: topic {}: no rule, routed as Java does without a policy ({} partitions)", topic, count);
        } else {
            LOG.info("keyroute: topic {}: policy {} ({} partitions)", topic, rule.fingerprint(), count);
        }
        return Optional.ofNullable(rule);
    }

    /** The producer switches its own stickiness off once it has a partitioner.class, so it is done here as KIP-794 does. */
    private final class Sticky {
        private int partition = -1;
        private long bytes;

        private synchronized int next(String topic, byte[] value, Cluster cluster) {
            List<PartitionInfo> available = cluster.availablePartitionsForTopic(topic);
            if (partition < 0 || bytes >= batchSize) {
                int random = ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE);
                partition = available.isEmpty() ? random % cluster.partitionsForTopic(topic).size()
                    : available.get(random % available.size()).partition();
                bytes = 0;
            }
            bytes += value == null ? 1 : value.length + 1;
            return partition;
        }
    }

    @Override
    public void close() {
    }
}
