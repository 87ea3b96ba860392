import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a consumer group as applications write them: subscribes, polls, commits, and leaves. Prints PARTITION TAB
 * OFFSET TAB VALUE of each record that it committed.
 * Run as a source file: java -cp 'interop-tests/kafka/lib/*' interop-tests/java/Consume.java --help
 */
public final class Consume {
    private static final String USAGE = String.join("\n",
        "usage: Consume.java --bootstrap-server ADDRESS --topic TOPIC --group GROUP [option...]",
        "  --at-most N         leave after so many records; default: all that can be read",
        "  -X NAME=VALUE       a property of the consumer; repeatable");

    public static void main(String[] args) {
        Properties config = new Properties();
        config.put("key.deserializer", StringDeserializer.class.getName());
        config.put("value.deserializer", StringDeserializer.class.getName());
        config.put("enable.auto.commit", "false");
        config.put("isolation.level", "read_committed");
        config.put("auto.offset.reset", "none"); // to go on where nothing is stored would be a mistake to be seen
        config.put("max.poll.records", "200");
        String topic = null;
        long atMost = Long.MAX_VALUE;
        for (int i = 0; i < args.length; i += 2) {
            if (i + 1 == args.length) {
                usage();
            }
            switch (args[i]) {
                case "--bootstrap-server" -> config.put("bootstrap.servers", args[i + 1]);
                case "--topic" -> topic = args[i + 1];
                case "--group" -> config.put("group.id", args[i + 1]);
                case "--at-most" -> atMost = Long.parseLong(args[i + 1]);
                case "-X" -> {
                    String[] pair = args[i + 1].split("=", 2);
                    config.put(pair[0], pair[1]);
                }
                default -> usage();
            }
        }
        if (topic == null || !config.containsKey("bootstrap.servers") || !config.containsKey("group.id")) {
            usage();
        }
        consume(config, topic, atMost);
    }

    private static void usage() {
        System.err.println(USAGE);
        System.exit(2);
    }

    /** Whether it holds partitions and has read them all, to the first transaction that is open. */
    private static boolean isAtEnd(KafkaConsumer<String, String> consumer) {
        Set<TopicPartition> held = consumer.assignment();
        return !held.isEmpty() && consumer.endOffsets(held).entrySet().stream()
            .allMatch(end -> consumer.position(end.getKey()) >= end.getValue());
    }

    private static void consume(Properties config, String topic, long atMost) {
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(List.of(topic));
            long seen = 0;
            while (seen < atMost) {
                List<ConsumerRecord<String, String>> records = new ArrayList<>();
                consumer.poll(Duration.ofMillis(200)).forEach(records::add);
                if (records.isEmpty()) {
                    if (isAtEnd(consumer)) {
                        break;
                    }
                    continue;
                }
                consumer.commitSync();
                seen += records.size();
                for (ConsumerRecord<String, String> record : records) {
                    out.append(record.partition()).append('\t').append(record.offset()).append('\t')
                        .append(record.value()).append('\n');
                }
            }
        }
        System.out.print(out);
    }
}
