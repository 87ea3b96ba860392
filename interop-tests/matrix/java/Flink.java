import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TopicSelector;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.connectors.kafka.partitioner.FlinkFixedPartitioner;

/** A job of Apache Flink with a KafkaSink, of one task: Flink none|fixed BOOTSTRAP TAG. The job is on standard input. */
public final class Flink {
    public static void main(String[] args) throws Exception {
        String tag = args[2];
        List<String> lines = new ArrayList<>(); // topic, key and value in hexadecimal, which Flink can take along
        for (Job.Line line : Job.read())
            lines.add(line.topic() + "\t" + (line.key() == null ? "-" : hex(line.key())) + "\t" + hex(line.value(tag)));

        var record = KafkaRecordSerializationSchema.<String>builder()
            .setTopicSelector((TopicSelector<String>) line -> line.split("\t")[0])
            .setKeySerializationSchema((SerializationSchema<String>) line -> bytes(line, 1))
            .setValueSerializationSchema((SerializationSchema<String>) line -> bytes(line, 2));
        if (args[0].equals("fixed"))
            record.setPartitioner(new FlinkFixedPartitioner<>());
        var flink = StreamExecutionEnvironment.createLocalEnvironment(1);
        flink.fromData(lines).sinkTo(KafkaSink.<String>builder().setBootstrapServers(args[1]).setRecordSerializer(record.build())
            .build());
        flink.execute();
        System.exit(0); // threads of its cluster live on
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static byte[] bytes(String line, int field) {
        String text = line.split("\t")[field];
        return text.equals("-") ? null : HexFormat.of().parseHex(text);
    }
}
