import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;

/**
 * A judge of copied topics that shares no code with what copied them: Kafka's own consumers (read_committed), Kafka's own
 * murmur2, and digests written down here once more. Compares, up to the ends that the topics have now,
 * <ul>
 * <li>the multisets of (key, value, headers in order, timestamp), where NULL is not empty,</li>
 * <li>the order of each key's records; a key that lives in several partitions is read as the merge of these by
 *     (timestamp, partition), or its order is left alone (--split-keys ignore),</li>
 * <li>the partition of every keyed record with murmur2 modulo the partition count.</li>
 * </ul>
 * Holds a digest a key, not records: 32 bytes a key, and what the consumers fetch ahead.
 * Run as a source file: java -cp 'interop-tests/kafka/lib/*' interop-tests/java/CompareTopics.java --help
 */
public final class CompareTopics {
    private static final String USAGE = String.join("\n",
        "usage: CompareTopics.java --bootstrap-server ADDRESS [option...] SOURCE TARGET...",
        "  --target-bootstrap-server ADDRESS  of the targets, when they lie in another cluster",
        "  --split-keys merge|ignore          order of keys in several partitions: as merged by time, or not judged",
        "  -X NAME=VALUE                      a property of all consumers; repeatable",
        "prints one JSON object on one line for each target. Exit code: 0 all equal and well placed, 1 not, 2 usage");

    private static final int BUFFER = 20_000;   // records of one partition that wait for the others, at most
    private static final int BUFFER_BYTES = 8 << 20;

    private String sourceBootstrap;
    private String targetBootstrap;
    private boolean ignoreSplit;
    private final List<String> topics = new ArrayList<>();
    private final Properties config = new Properties();

    public static void main(String[] args) throws Exception {
        // It warns of every partition whose end is asked for before it is read, which is what has to be done here.
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.internals.OffsetFetcherUtils", "error");
        try {
            CompareTopics compare = new CompareTopics();
            compare.parse(args);
            boolean equal = true;
            for (String target : compare.topics.subList(1, compare.topics.size())) {
                equal &= compare.run(compare.topics.get(0), target);
            }
            System.exit(equal ? 0 : 1);
        } catch (IllegalArgumentException e) {
            System.err.println("CompareTopics.java: " + e.getMessage());
            System.exit(2);
        }
    }

    private void parse(String[] args) {
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--bootstrap-server", "-b" -> sourceBootstrap = valueOf(args, i++);
                case "--target-bootstrap-server" -> targetBootstrap = valueOf(args, i++);
                case "--split-keys" -> {
                    String how = valueOf(args, i++);
                    if (!how.equals("merge") && !how.equals("ignore")) {
                        throw new IllegalArgumentException("--split-keys " + how + ": expected merge or ignore");
                    }
                    ignoreSplit = how.equals("ignore");
                }
                case "-X" -> {
                    String[] pair = valueOf(args, i++).split("=", 2);
                    if (pair.length != 2) {
                        throw new IllegalArgumentException("-X " + pair[0] + ": expected NAME=VALUE");
                    }
                    config.put(pair[0], pair[1]);
                }
                case "--help", "-h" -> {
                    System.out.println(USAGE);
                    System.exit(0);
                }
                default -> topics.add(args[i]);
            }
        }
        if (topics.size() < 2 || sourceBootstrap == null) {
            throw new IllegalArgumentException("expected --bootstrap-server and at least two topics\n" + USAGE);
        }
    }

    private static String valueOf(String[] args, int at) {
        if (at + 1 >= args.length) {
            throw new IllegalArgumentException(args[at] + " needs a value");
        }
        return args[at + 1];
    }

    private boolean run(String sourceTopic, String targetTopic) throws Exception {
        Keys keys = new Keys();
        Side source = new Side(sourceTopic, 0, keys);
        Side target = new Side(targetTopic, 1, keys);
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            Callable<Void> a = () -> source.read(sourceBootstrap, config);
            Callable<Void> b = () -> target.read(targetBootstrap == null ? sourceBootstrap : targetBootstrap, config);
            for (Future<Void> done : List.of(pool.submit(a), pool.submit(b))) {
                done.get();
            }
        } finally {
            pool.shutdownNow();
        }
        boolean content = source.records == target.records && source.sum[0] == target.sum[0] && source.sum[1] == target.sum[1];
        keys.judge(ignoreSplit);
        boolean equal = content && keys.contentDiffers == 0 && keys.orderDiffers == 0 && target.misplaced == 0;
        System.out.printf("{\"equal\": %b, \"content_equal\": %b, \"keys\": %d, \"keys_content_differs\": %d, "
                + "\"keys_order_differs\": %d, \"keys_order_not_judged\": %d, \"source\": %s, \"target\": %s}%n", equal, content,
                keys.count, keys.contentDiffers, keys.orderDiffers, keys.notJudged, source.json(), target.json());
        return equal;
    }

    /** One topic, read as the merge of its partitions by (timestamp, partition), each partition in its own order. */
    private static final class Side {
        private final String topic;
        private final int side;
        private final Keys keys;
        private int partitions;
        private long records;
        private long keyless;
        private long tombstones;
        private long headers;
        private long bytes;
        private long misplaced;
        private final long[] sum = new long[2];
        private final Map<Integer, Lane> lanes = new HashMap<>();

        Side(String topic, int side, Keys keys) {
            this.topic = topic;
            this.side = side;
            this.keys = keys;
        }

        String json() {
            return String.format("{\"topic\": \"%s\", \"partitions\": %d, \"records\": %d, \"keyless\": %d, \"tombstones\": %d, "
                    + "\"headers\": %d, \"bytes\": %d, \"misplaced\": %d, \"content_digest\": \"%016x%016x\"}", topic, partitions,
                    records, keyless, tombstones, headers, bytes, misplaced, sum[0], sum[1]);
        }

        Void read(String bootstrap, Properties config) {
            Properties all = new Properties();
            all.put("bootstrap.servers", bootstrap);
            all.put("isolation.level", "read_committed");
            all.put("enable.auto.commit", "false");
            all.put("auto.offset.reset", "none");
            all.put("allow.auto.create.topics", "false");
            all.put("max.poll.records", "5000");
            all.putAll(config);
            try (KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                List<TopicPartition> parts = new ArrayList<>();
                for (PartitionInfo info : consumer.partitionsFor(topic)) {
                    parts.add(new TopicPartition(topic, info.partition()));
                }
                partitions = parts.size();
                Map<TopicPartition, Long> firsts = consumer.beginningOffsets(parts);
                Map<TopicPartition, Long> ends = consumer.endOffsets(parts); // read_committed: the last stable ones
                consumer.assign(parts);
                for (TopicPartition part : parts) {
                    consumer.seek(part, firsts.get(part));
                    lanes.put(part.partition(), new Lane(part, ends.get(part), firsts.get(part) >= ends.get(part)));
                }
                merge(consumer);
            }
            return null;
        }

        private void merge(KafkaConsumer<byte[], byte[]> consumer) {
            PriorityQueue<Lane> heads = new PriorityQueue<>();
            int hungry = 0;
            for (Lane lane : lanes.values()) {
                if (!lane.done) {
                    hungry++;
                }
            }
            while (hungry > 0 || !heads.isEmpty()) {
                if (hungry > 0) {
                    ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofMillis(500));
                    for (TopicPartition part : polled.partitions()) {
                        lanes.get(part.partition()).take(polled.records(part));
                    }
                    for (Lane lane : lanes.values()) {
                        boolean wasHungry = !lane.done && !lane.inHeap;
                        // Past the end by position: what stands there last may be a transaction's mark, not a record.
                        if (!lane.done && lane.queue.isEmpty() && consumer.position(lane.part) >= lane.end) {
                            lane.done = true;
                        }
                        if (!lane.queue.isEmpty() && !lane.inHeap) {
                            lane.inHeap = true;
                            heads.add(lane);
                        }
                        if (wasHungry && (lane.done || lane.inHeap)) {
                            hungry--;
                        }
                        boolean full = lane.queue.size() >= BUFFER || lane.bytes >= BUFFER_BYTES || lane.isComplete;
                        if (full != lane.isPaused) {
                            lane.isPaused = full;
                            if (full) {
                                consumer.pause(List.of(lane.part));
                            } else {
                                consumer.resume(List.of(lane.part));
                            }
                        }
                    }
                }
                while (hungry == 0 && !heads.isEmpty()) {
                    Lane lane = heads.poll();
                    digest(lane.pop());
                    lane.inHeap = !lane.queue.isEmpty();
                    if (lane.inHeap) {
                        heads.add(lane);
                    } else if (consumer.position(lane.part) >= lane.end) {
                        lane.done = true;
                    } else {
                        hungry++;
                        lane.isPaused = false;
                        consumer.resume(List.of(lane.part));
                    }
                }
            }
        }

        private void digest(ConsumerRecord<byte[], byte[]> rec) {
            Digest all = new Digest();
            all.field(rec.key());
            all.field(rec.value());
            all.number(rec.timestamp());
            int count = 0;
            for (Header header : rec.headers()) {
                all.field(header.key().getBytes(StandardCharsets.UTF_8));
                all.field(header.value());
                count++;
            }
            all.number(count);
            all.finish();
            records++;
            headers += count;
            sum[0] += all.a;
            sum[1] += all.b;
            bytes += (rec.key() == null ? 0 : rec.key().length) + (rec.value() == null ? 0 : rec.value().length);
            if (rec.value() == null) {
                tombstones++;
            }
            if (rec.key() == null) {
                keyless++;
                return;
            }
            if (Utils.toPositive(Utils.murmur2(rec.key())) % partitions != rec.partition()) {
                misplaced++;
            }
            keys.add(side, rec.key(), rec.partition(), all);
        }
    }

    /** One partition's records that wait for their turn. */
    private static final class Lane implements Comparable<Lane> {
        private final TopicPartition part;
        private final long end;
        private final ArrayDeque<ConsumerRecord<byte[], byte[]>> queue = new ArrayDeque<>();
        private long bytes;
        private boolean done;       // read to its end, and all given out
        private boolean isComplete; // all that is wanted is in the queue
        private boolean inHeap;
        private boolean isPaused;

        Lane(TopicPartition part, long end, boolean done) {
            this.part = part;
            this.end = end;
            this.done = done;
            this.isComplete = done;
        }

        void take(List<ConsumerRecord<byte[], byte[]>> records) {
            for (ConsumerRecord<byte[], byte[]> rec : records) {
                if (rec.offset() >= end) {
                    isComplete = true;
                    return;
                }
                queue.add(rec);
                bytes += size(rec);
            }
        }

        ConsumerRecord<byte[], byte[]> pop() {
            ConsumerRecord<byte[], byte[]> rec = queue.poll();
            bytes -= size(rec);
            return rec;
        }

        private static long size(ConsumerRecord<byte[], byte[]> rec) {
            return Math.max(0, rec.serializedKeySize()) + Math.max(0, rec.serializedValueSize()) + 100L;
        }

        @Override
        public int compareTo(Lane other) {
            ConsumerRecord<byte[], byte[]> mine = queue.peek();
            ConsumerRecord<byte[], byte[]> theirs = other.queue.peek();
            int byTime = Long.compare(mine.timestamp(), theirs.timestamp());
            return byTime != 0 ? byTime : Integer.compare(part.partition(), other.part.partition());
        }
    }

    /** 128 bits over fields of which each tells its length, so that no two records share an encoding. */
    private static final class Digest {
        private long a = 0x6a09e667f3bcc909L;
        private long b = 0xbb67ae8584caa73bL;

        void field(byte[] data) {
            number(data == null ? -1 : data.length);
            if (data == null) {
                return;
            }
            int i = 0;
            for (; i + 8 <= data.length; i += 8) {
                number((data[i] & 0xffL) | (data[i + 1] & 0xffL) << 8 | (data[i + 2] & 0xffL) << 16
                        | (data[i + 3] & 0xffL) << 24 | (data[i + 4] & 0xffL) << 32 | (data[i + 5] & 0xffL) << 40
                        | (data[i + 6] & 0xffL) << 48 | (data[i + 7] & 0xffL) << 56);
            }
            long tail = 0;
            for (; i < data.length; i++) {
                tail = tail << 8 | data[i] & 0xffL;
            }
            number(tail);
        }

        /** Two different invertible steps: a multiplication and a rotation each. */
        void number(long value) {
            a = Long.rotateLeft((a ^ value) * 0x9e3779b97f4a7c15L, 29);
            b = Long.rotateLeft((b + value) * 0xc2b2ae3d27d4eb4fL, 37) ^ a;
        }

        void finish() {
            a = mix(a ^ Long.rotateLeft(b, 32));
            b = mix(b + a);
        }
    }

    private static long mix(long h) {
        h = (h ^ h >>> 30) * 0xbf58476d1ce4e5b9L;
        h = (h ^ h >>> 27) * 0x94d049bb133111ebL;
        return h ^ h >>> 31;
    }

    /** By key: a chain of digests a side (order), and the difference of the sums (content). Open addressing. */
    private static final class Keys {
        private static final int SPLIT = -2;
        private long[] slots = new long[4 << 16]; // hash, chain of source, chain of target, sum of source - sum of target
        private int[] partitions = new int[2 << 16]; // of the key on each side plus one; 0: none yet, SPLIT: several
        private int size = 1 << 16;
        private int count;
        private long contentDiffers;
        private long orderDiffers;
        private long notJudged;

        synchronized void add(int side, byte[] key, int partition, Digest digest) {
            Digest name = new Digest();
            name.field(key);
            name.finish();
            int at = find(name.a == 0 ? 1 : name.a);
            slots[4 * at + 1 + side] = mix(slots[4 * at + 1 + side] * 0x9e3779b97f4a7c15L + digest.a ^ digest.b);
            slots[4 * at + 3] += side == 0 ? digest.b : -digest.b;
            int seen = partitions[2 * at + side];
            partitions[2 * at + side] = seen == 0 || seen == partition + 1 ? partition + 1 : SPLIT;
        }

        private int find(long hash) {
            if (count * 3L > size * 2L) {
                grow();
            }
            int at = (int) hash & size - 1;
            while (slots[4 * at] != 0 && slots[4 * at] != hash) {
                at = at + 1 & size - 1;
            }
            if (slots[4 * at] == 0) {
                slots[4 * at] = hash;
                count++;
            }
            return at;
        }

        private void grow() {
            long[] old = slots;
            int[] places = partitions;
            int oldSize = size;
            size *= 2;
            slots = new long[4 * size];
            partitions = new int[2 * size];
            for (int i = 0; i < oldSize; i++) {
                if (old[4 * i] != 0) {
                    int at = (int) old[4 * i] & size - 1;
                    while (slots[4 * at] != 0) {
                        at = at + 1 & size - 1;
                    }
                    System.arraycopy(old, 4 * i, slots, 4 * at, 4);
                    System.arraycopy(places, 2 * i, partitions, 2 * at, 2);
                }
            }
        }

        void judge(boolean ignoreSplit) {
            for (int i = 0; i < size; i++) {
                if (slots[4 * i] == 0) {
                    continue;
                }
                boolean isSplit = partitions[2 * i] == SPLIT || partitions[2 * i + 1] == SPLIT;
                if (slots[4 * i + 3] != 0) {
                    contentDiffers++;
                } else if (slots[4 * i + 1] != slots[4 * i + 2]) {
                    if (isSplit && ignoreSplit) {
                        notJudged++;
                    } else {
                        orderDiffers++;
                    }
                }
            }
        }
    }
}
