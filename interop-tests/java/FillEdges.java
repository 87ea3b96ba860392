import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Fills a topic with all that a copy may change: FillEdges.java BOOTSTRAP TOPIC COUNT SEED. Values of 20 to 20,000 bytes (most
 * are small), tombstones, empty values, empty keys, records without a key, headers with names that come twice, with NULL and
 * with empty values, the times 0 and 1 among rising ones. Java's own partitioner places them, idempotently, so each key lies
 * in one partition, in the order in which it was sent. The same seed makes the same records.
 */
public final class FillEdges {
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[2]);
        Random random = new Random(Long.parseLong(args[3]));
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("linger.ms", "20");
        config.put("batch.size", "200000");
        config.put("compression.type", "lz4");
        byte[] stuff = new byte[20_000 + 4096];
        random.nextBytes(stuff);
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < count && failure.get() == null; i++) {
                producer.send(record(args[1], i, count, random, stuff), (metadata, e) -> {
                    if (e != null) {
                        failure.compareAndSet(null, e);
                    }
                });
            }
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        System.err.println("filled " + count + " records");
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, int i, int count, Random random, byte[] stuff) {
        int dice = random.nextInt(1000);
        byte[] key = dice < 20 ? null : dice < 22 ? new byte[0] : ("key-" + random.nextInt(Math.max(count / 10, 1))).getBytes();
        byte[] value = value(random, stuff);
        long time = dice == 500 ? 0 : dice == 501 ? 1 : 1_790_000_000_000L + i;
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, null, time, key, value);
        if (random.nextInt(5) == 0) {
            record.headers().add("trace", ("t" + i).getBytes()).add("trace", "again".getBytes());
            record.headers().add("none", null).add("empty", new byte[0]).add("", new byte[] {0});
        }
        return record;
    }

    private static byte[] value(Random random, byte[] stuff) {
        int dice = random.nextInt(1000);
        if (dice < 30) {
            return null;
        }
        if (dice < 50) {
            return new byte[0];
        }
        int size = dice < 900 ? 20 + random.nextInt(180) : dice < 990 ? 200 + random.nextInt(1800) : 2000 + random.nextInt(18_001);
        byte[] value = new byte[size];
        System.arraycopy(stuff, random.nextInt(4096), value, 0, size);
        return value;
    }
}
