import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;

/**
 * What people use in Java to repartition a topic, each written as its manual shows it and with exactly-once on: the peers
 * that `repartition rewrite` is measured beside (make bench). Copies COUNT records of SOURCE into TARGET and ends.
 * Prints one line of JSON: records, ms between the first record and the last commit.
 */
public final class Peers {
    private static final String USAGE = "usage: Peers.java streams-to|streams-repartition|plain BOOTSTRAP SOURCE TARGET COUNT";
    private static final int TRANSACTION_RECORDS = 50_000; // as interop-tests/bench/bare_loop.c

    public static void main(String[] args) throws Exception {
        if (args.length != 5) {
            System.err.println(USAGE);
            System.exit(2);
        }
        long count = Long.parseLong(args[4]);
        long ms = switch (args[0]) {
            case "streams-to" -> streams(args[1], args[2], args[3], count, 0);
            case "streams-repartition" -> streams(args[1], args[2], args[3], count, 16);
            case "plain" -> plain(args[1], args[2], args[3], count);
            default -> throw new IllegalArgumentException(USAGE);
        };
        System.out.printf("{\"records\": %d, \"ms\": %d, \"records_per_s\": %d, \"heap\": \"%s\"}%n", count, ms,
            count * 1000 / Math.max(ms, 1), ManagementFactory.getRuntimeMXBean().getInputArguments());
    }

    /** partitions 0: straight from topic to topic; else by way of a repartition topic of so many partitions. */
    private static long streams(String bootstrap, String source, String target, long count, int partitions)
        throws Exception {
        Path state = Files.createTempDirectory("keyroute-peers");
        Properties config = new Properties();
        config.put("application.id", "peers-" + target);
        config.put("bootstrap.servers", bootstrap);
        config.put("processing.guarantee", "exactly_once_v2");
        config.put("default.key.serde", Serdes.ByteArraySerde.class);
        config.put("default.value.serde", Serdes.ByteArraySerde.class);
        config.put("auto.offset.reset", "earliest");
        config.put("replication.factor", "1");
        config.put("num.stream.threads", partitions == 0 ? "1" : "2");
        config.put("state.dir", state.toString());
        AtomicLong seen = new AtomicLong();
        AtomicLong began = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        StreamsBuilder builder = new StreamsBuilder();
        KStream<byte[], byte[]> stream = builder.stream(source);
        if (partitions > 0) {
            stream = stream.repartition(Repartitioned.numberOfPartitions(partitions));
        }
        stream.peek((key, value) -> {
            long number = seen.incrementAndGet();
            if (number == 1) {
                began.set(System.nanoTime());
            }
            if (number == count) {
                done.countDown();
            }
        }).to(target);
        KafkaStreams app = new KafkaStreams(builder.build(), config);
        app.start();
        done.await();
        app.close(Duration.ofSeconds(60)); // commits
        return (System.nanoTime() - began.get()) / 1_000_000;
    }

    private static long plain(String bootstrap, String source, String target, long count) {
        Map<String, Object> in = new HashMap<>();
        in.put("bootstrap.servers", bootstrap);
        in.put("group.id", "peers-" + target);
        in.put("isolation.level", "read_committed");
        in.put("enable.auto.commit", false);
        in.put("auto.offset.reset", "earliest");
        in.put("max.poll.records", 5000);
        Map<String, Object> out = new HashMap<>();
        out.put("bootstrap.servers", bootstrap);
        out.put("transactional.id", "peers-" + target);
        out.put("linger.ms", 5);
        long copied = 0;
        long open = 0;
        long began = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(in, new ByteArrayDeserializer(), new ByteArrayDeserializer());
             KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(out, new ByteArraySerializer(), new ByteArraySerializer())) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            producer.initTransactions();
            consumer.subscribe(List.of(source));
            while (copied < count) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    if (copied == 0) {
                        began = System.nanoTime();
                    }
                    if (open++ == 0) {
                        producer.beginTransaction();
                    }
                    producer.send(new ProducerRecord<>(target, null, record.timestamp(), record.key(), record.value(),
                                                       record.headers()));
                    offsets.put(new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    copied++;
                }
                if (open >= TRANSACTION_RECORDS || open > 0 && copied >= count) {
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    producer.commitTransaction();
                    offsets.clear();
                    open = 0;
                }
            }
        }
        return (System.nanoTime() - began) / 1_000_000;
    }
}
