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
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * A worker of Kafka Connect with a source connector that hands out the job: Connect CONVERTER [NAME=VALUE...] BOOTSTRAP TAG.
 * The further settings are the connector's. The job is on standard input.
 */
public final class Connect {
    private static List<Job.Line> lines;
    private static String tag;
    private static boolean isText;
    private static CountDownLatch written;

    public static void main(String[] args) throws Exception {
        lines = Job.read();
        tag = args[args.length - 1];
        isText = !args[0].endsWith("ByteArrayConverter");
        written = new CountDownLatch(lines.size());

        Path folder = Files.createTempDirectory("keyroute-connect");
        Path connector = folder.resolve("connector.properties"), offsets = folder.resolve("offsets");
        var settings = new ArrayList<>(List.of("name=matrix", "connector.class=Connect$Connector", "tasks.max=1"));
        for (int i = 1; i < args.length - 2; i++)
            settings.add(args[i]);
        Files.write(connector, settings);

        var cli = new ConnectStandalone();
        var connect = cli.startConnect(Map.of(
            "bootstrap.servers", args[args.length - 2], "listeners", "http://127.0.0.1:0",
            "key.converter", args[0], "key.converter.schemas.enable", "false",
            "value.converter", "org.apache.kafka.connect.converters.ByteArrayConverter",
            "offset.storage.file.filename", offsets.toString()));
        cli.processExtraArgs(connect, new String[] { connector.toString() });
        boolean all = written.await(4, TimeUnit.MINUTES);
        connect.stop();
        connect.awaitStop();
        for (Path file : List.of(connector, offsets, folder))
            Files.deleteIfExists(file);
        if (!all)
            throw new IllegalStateException(written.getCount() + " records were not written");
        System.exit(0); // threads of the REST server may live on
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
        private boolean handedOut;

        @Override public void start(Map<String, String> settings) { }
        @Override public void stop() { }
        @Override public String version() { return "1"; }
        @Override public void commitRecord(SourceRecord record, RecordMetadata metadata) { written.countDown(); }

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
                    Schema.BYTES_SCHEMA, line.value(tag)));
            return records;
        }
    }
}
