import java.util.ArrayList;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Kafka's own producer, of any version: Produce [NAME=VALUE...] BOOTSTRAP TAG. The job is on standard input. */
public final class Produce {
    public static void main(String[] args) throws Exception {
        String tag = args[args.length - 1];
        var config = new Properties();
        config.setProperty("bootstrap.servers", args[args.length - 2]);
        config.setProperty("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        config.setProperty("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        for (int i = 0; i < args.length - 2; i++) {
            String[] pair = args[i].split("=", 2);
            config.setProperty(pair[0], pair[1]);
        }
        var sent = new ArrayList<Future<RecordMetadata>>();
        var producer = new KafkaProducer<byte[], byte[]>(config);
        for (Job.Line line : Job.read())
            sent.add(producer.send(new ProducerRecord<>(line.topic(), line.key(), line.value(tag))));
        for (var future : sent)
            future.get();
        producer.close();
    }
}
