import java.util.Properties;
import kafka.javaapi.producer.Producer;
import kafka.producer.KeyedMessage;
import kafka.producer.ProducerConfig;

/** Kafka's first producer, in Scala: ScalaProduce text|bytes BOOTSTRAP TAG. The job is on standard input. */
public final class ScalaProduce {
    public static void main(String[] args) throws Exception {
        boolean text = args[0].equals("text");
        var config = new Properties();
        config.setProperty("metadata.broker.list", args[1]);
        config.setProperty("request.required.acks", "1");
        config.setProperty("serializer.class", "kafka.serializer.DefaultEncoder");
        if (text)
            config.setProperty("key.serializer.class", "kafka.serializer.StringEncoder");
        else
            config.setProperty("partitioner.class", "kafka.producer.ByteArrayPartitioner");
        var producer = new Producer<Object, byte[]>(new ProducerConfig(config));
        for (Job.Line line : Job.read())
            producer.send(new KeyedMessage<Object, byte[]>(line.topic(), text ? line.keyAsText() : line.key(),
                                                           line.value(args[2])));
        producer.close();
    }
}
