import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;

/**
 * Apicurio's Avro serializer: keys as JSON objects, one a line, become the bytes that it writes for them, in hex.
 * usage: Avro.java REGISTRY-URL TOPIC SCHEMA-FILE [NAME=VALUE...]   (properties of the serializer)
 * The URL is that of the Confluent API, from which that of Apicurio's own is known.
 */
public final class Avro {
    public static void main(String[] args) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("apicurio.registry.url", args[0].replace("/apis/ccompat/v7", "/apis/registry/v2"));
        config.put("apicurio.registry.auto-register", "true");
        config.put("apicurio.registry.headers.enabled", "false");
        for (int i = 3; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            config.put(pair[0], pair[1]);
        }
        Schema schema = new Schema.Parser().parse(Files.readString(Path.of(args[2])));
        GenericDatumReader<GenericRecord> reader = new GenericDatumReader<>(schema);
        StringBuilder out = new StringBuilder();
        try (AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>();
             BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            serializer.configure(config, true);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                GenericRecord key = reader.read(null, DecoderFactory.get().jsonDecoder(schema, line));
                out.append(HexFormat.of().formatHex(serializer.serialize(args[1], key))).append('\n');
            }
        }
        System.out.print(out);
        System.out.flush();
        System.exit(0); // its HTTP client keeps threads
    }
}
