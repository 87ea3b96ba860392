import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Kafka Streams, from a topic of its own into those of the job: Streams plain|windowed BOOTSTRAP TAG. */
public final class Streams {
    private static final long WINDOW_MS = 1000;

    public static void main(String[] args) throws Exception {
        boolean windowed = args[0].equals("windowed");
        String bootstrap = args[1], tag = args[2], source = tag + "-source";
        List<Job.Line> lines = new ArrayList<>();
        for (Job.Line line : Job.read())
            // There is no window of no key, so no program comes to write one.
            if (windowed && line.key() == null)
                Job.refused(line, new NullPointerException("a windowed key needs a key"));
            else
                lines.add(line);
        fill(bootstrap, source, tag, lines);

        var done = new CountDownLatch(lines.size());
        Serde<byte[]> bytes = Serdes.ByteArray();
        var builder = new StreamsBuilder();
        KStream<byte[], byte[]> records = builder.stream(source, Consumed.with(bytes, bytes));
        if (windowed)
            records.map((key, value) -> KeyValue.pair(new Windowed<>(key, new TimeWindow(0, WINDOW_MS)), value))
                .peek((key, value) -> done.countDown())
                .to((key, value, context) -> topic(context), Produced.with(
                    new WindowedSerdes.TimeWindowedSerde<>(bytes, WINDOW_MS), bytes));
        else
            records.peek((key, value) -> done.countDown())
                .to((key, value, context) -> topic(context), Produced.with(bytes, bytes));

        Path state = Files.createTempDirectory("keyroute-streams");
        var config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("application.id", tag);
        config.put("state.dir", state.toString());
        var failure = new Throwable[1];
        var streams = new KafkaStreams(builder.build(), config);
        streams.setUncaughtExceptionHandler(e -> {
            failure[0] = e;
            while (done.getCount() > 0)
                done.countDown();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        boolean all = done.await(10, TimeUnit.MINUTES);
        streams.close(Duration.ofMinutes(1)); // flushes what it has written
        streams.cleanUp();
        Files.deleteIfExists(state);
        if (!all || failure[0] != null)
            throw new IllegalStateException("not all was written", failure[0]);
    }

    private static String topic(org.apache.kafka.streams.processor.RecordContext context) {
        return new String(context.headers().lastHeader("topic").value());
    }

    private static void fill(String bootstrap, String source, String tag, List<Job.Line> lines) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(config)) {
            admin.createTopics(List.of(new NewTopic(source, 1, (short) 1))).all().get();
        }
        var sent = new ArrayList<Future<?>>();
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (Job.Line line : lines) {
                var record = new ProducerRecord<>(source, line.key(), line.value(tag));
                record.headers().add("topic", line.topic().getBytes());
                sent.add(producer.send(record));
            }
        }
        for (var future : sent)
            future.get();
    }
}
