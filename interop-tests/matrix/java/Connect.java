import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.cli.ConnectStandalone;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * A worker of Kafka Connect with a source connector that hands out the job: Connect CONVERTER [FUNCTION] BOOTSTRAP TAG.
 * With FUNCTION, records are change events that Debezium's PartitionRouting routes by it. The job is on standard input.
 */
public final class Connect {
    private static final Map<String, String> CONVERTERS = Map.of(
        "bytes", "org.apache.kafka.connect.converters.ByteArrayConverter",
        "string", "org.apache.kafka.connect.storage.StringConverter",
        "json", "org.apache.kafka.connect.json.JsonConverter");

    private static List<Job.Line> lines;
    private static String tag;
    private static boolean isText;
    private static boolean isChange;
    private static CountDownLatch written;

    public static void main(String[] args) {
        try {
            work(args);
            System.exit(0);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1); // threads of the worker live on
        }
    }

    private static void work(String[] args) throws Exception {
        lines = Job.read();
        tag = args[args.length - 1];
        isText = !args[0].equals("bytes");
        isChange = args.length > 3;
        written = new CountDownLatch(lines.size());

        Path folder = Files.createTempDirectory("keyroute-connect");
        Path connector = folder.resolve("connector.properties"), offsets = folder.resolve("offsets");
        var settings = new ArrayList<>(List.of("name=matrix", "connector.class=Connect$Connector", "tasks.max=1"));
        if (isChange)
            settings.addAll(routing(args[1]));
        Files.write(connector, settings);

        var cli = new ConnectStandalone();
        var connect = cli.startConnect(Map.of(
            "bootstrap.servers", args[args.length - 2], "listeners", "http://127.0.0.1:0",
            "key.converter", CONVERTERS.get(args[0]), "key.converter.schemas.enable", "false",
            "value.converter", CONVERTERS.get("bytes"),
            "offset.storage.file.filename", offsets.toString()));
        cli.processExtraArgs(connect, new String[] { connector.toString() });
        boolean all = written.await(10, TimeUnit.MINUTES);
        connect.stop();
        connect.awaitStop();
        for (Path file : List.of(connector, offsets, folder))
            Files.deleteIfExists(file);
        if (!all)
            throw new IllegalStateException(written.getCount() + " records were not written");
    }

    /** It must be told each topic's partition count, and the value must be an envelope; what lay in that is unpacked again. */
    private static List<String> routing(String function) {
        var settings = new ArrayList<String>();
        var names = new ArrayList<String>();
        for (String topic : lines.stream().map(Job.Line::topic).distinct().toList()) {
            String count = topic.substring(topic.lastIndexOf('-') + 1), transform = "transforms.to" + count;
            names.add("to" + count);
            settings.addAll(List.of(
                "predicates.is" + count + ".type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
                "predicates.is" + count + ".pattern=" + topic,
                transform + ".type=io.debezium.transforms.partitions.PartitionRouting",
                transform + ".predicate=is" + count,
                transform + ".partition.payload.fields=change.key",
                transform + ".partition.topic.num=" + count,
                transform + ".partition.hash.function=" + function));
        }
        settings.addAll(List.of(
            "predicates=" + String.join(",", names).replace("to", "is"),
            "transforms=" + String.join(",", names) + ",unpack",
            "transforms.unpack.type=org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.unpack.field=line",
            "errors.tolerance=all")); // a record that it cannot route is left out
        return settings;
    }

    public static final class Connector extends SourceConnector {
        @Override public void start(Map<String, String> settings) { }
        @Override public void stop() { }
        @Override public ConfigDef config() { return new ConfigDef(); }
        @Override public String version() { return "1"; }
        @Override public Class<? extends Task> taskClass() { return Lines.class; }
        @Override public List<Map<String, String>> taskConfigs(int most) { return List.of(new HashMap<>()); }
    }

    public static final class Lines extends SourceTask {
        private static final Schema ROW = SchemaBuilder.struct().field("key", Schema.OPTIONAL_STRING_SCHEMA).build();
        private static final Schema ENVELOPE = SchemaBuilder.struct().name("matrix.Envelope").field("op", Schema.STRING_SCHEMA)
            .field("after", ROW).field("line", Schema.BYTES_SCHEMA).build();
        private boolean handedOut;

        @Override public void start(Map<String, String> settings) { }
        @Override public void stop() { }
        @Override public String version() { return "1"; }

        @Override public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            if (metadata == null) // left out
                Job.refused(lines.get((Integer) record.sourceOffset().get("line")), new DataException("no field to route by"));
            written.countDown();
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            if (handedOut) {
                Thread.sleep(50);
                return null;
            }
            handedOut = true;
            var records = new ArrayList<SourceRecord>();
            for (Job.Line line : lines)
                records.add(new SourceRecord(Map.of(), Map.of("line", line.number()), line.topic(), null,
                    isText ? Schema.OPTIONAL_STRING_SCHEMA : Schema.OPTIONAL_BYTES_SCHEMA, isText ? line.keyAsText() : line.key(),
                    isChange ? ENVELOPE : Schema.BYTES_SCHEMA, isChange ? envelope(line) : line.value(tag)));
            return records;
        }

        private static Struct envelope(Job.Line line) {
            return new Struct(ENVELOPE).put("op", "c").put("line", line.value(tag))
                .put("after", new Struct(ROW).put("key", line.keyAsText()));
        }
    }
}
