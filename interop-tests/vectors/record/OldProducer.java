import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.StringJoiner;

import kafka.producer.ByteArrayPartitioner;
import kafka.producer.DefaultPartitioner;
import kafka.producer.Partitioner;

/** Kafka's Scala producer 0.8.2.2: DefaultPartitioner over the key as a String, ByteArrayPartitioner over its bytes. */
public class OldProducer {
    public static void main(String[] args) throws IOException {
        Partitioner byText = new DefaultPartitioner(null);
        Partitioner byBytes = new ByteArrayPartitioner(null);

        try (var text = new PrintStream(args[1] + "/java-string-hash.kafka-0.8.tsv");
             var bytes = new PrintStream(args[1] + "/java-bytes-hash.kafka-0.8.tsv")) {
            text.print("# Apache Kafka kafka_2.10 0.8.2.2: kafka.producer.DefaultPartitioner over new String(key, UTF_8);"
                       + " raw: String.hashCode\n");
            bytes.print("# Apache Kafka kafka_2.10 0.8.2.2: kafka.producer.ByteArrayPartitioner;"
                        + " raw: Arrays.hashCode(byte[])\n");
            for (String line : Files.readAllLines(Path.of(args[0]))) {
                if (line.startsWith("#"))
                    continue;
                String[] field = line.split("\t", -1);
                byte[] key = key(field[1]);
                String decoded = new String(key, StandardCharsets.UTF_8);

                row(text, field, decoded.hashCode(), byText, decoded);
                row(bytes, field, Arrays.hashCode(key), byBytes, key);
            }
        }
    }

    private static void row(PrintStream out, String[] field, int raw, Partitioner partitioner, Object key) {
        var partitions = new StringJoiner(",");

        for (String count : field[2].split(","))
            partitions.add(Integer.toString(partitioner.partition(key, Integer.parseInt(count))));
        out.printf("%s\t%08x\t%s\n", field[0], raw, partitions);
    }

    private static byte[] key(String spec) {
        if (!spec.startsWith("gen:"))
            return HexFormat.of().parseHex(spec);
        byte[] key = new byte[Integer.parseInt(spec.substring(4))];
        for (int i = 0; i < key.length; i++)
            key[i] = (byte) (i * 131 + 7);
        return key;
    }
}
