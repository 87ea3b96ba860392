import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.cloud.stream.function.StreamBridge;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.support.MessageBuilder;

/** Spring Cloud Stream's Kafka binder: Spring expression|record-key BOOTSTRAP TAG. The job is on standard input. */
@Configuration
@EnableAutoConfiguration
public class Spring {
    public static void main(String[] args) throws Exception {
        List<Job.Line> lines = Job.read();
        var settings = new HashMap<String, Object>(Map.of(
            "spring.main.banner-mode", "off", "logging.level.root", "off", "spring.jmx.enabled", "false",
            "spring.cloud.stream.kafka.binder.brokers", args[1],
            "spring.cloud.stream.kafka.binder.auto-create-topics", "false"));
        for (String topic : lines.stream().map(Job.Line::topic).distinct().toList()) {
            String producer = "spring.cloud.stream.bindings." + topic + ".producer.";
            if (args[0].equals("expression")) {
                settings.put(producer + "partition-key-expression", "headers['partitionKey']");
                settings.put(producer + "partition-count", topic.substring(topic.lastIndexOf('-') + 1));
            }
        }
        var application = new SpringApplication(Spring.class);
        application.setDefaultProperties(settings);
        try (var context = application.run()) {
            var bridge = context.getBean(StreamBridge.class);
            for (Job.Line line : lines)
                try {
                    bridge.send(line.topic(), MessageBuilder.withPayload(line.value(args[2]))
                        .setHeader("kafka_messageKey", line.key()).setHeader("partitionKey", line.keyAsText()).build());
                } catch (RuntimeException e) { // a key that it cannot route by
                    Job.refused(line, e);
                }
        } // which waits for what is under way
    }
}
