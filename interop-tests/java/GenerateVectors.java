import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.StringJoiner;

import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Utils;

/**
 * Asks Kafka's own Java client where keys go. Reads the list of keys (id, key, partition counts) and prints id, the
 * murmur2 hash, and the partition for every count, in the order of the counts:
 *
 *   java -cp 'interop-tests/kafka/lib/*' interop-tests/java/GenerateVectors.java KEYS.tsv >murmur2.kafka-clients.tsv
 */
public class GenerateVectors {
    public static void main(String[] args) throws IOException {
        var out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);

        out.print("# Apache Kafka kafka-clients " + AppInfoParser.getVersion()
                  + ": Utils.murmur2, BuiltInPartitioner.partitionForKey\n");
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            if (line.startsWith("#"))
                continue;
            String[] field = line.split("\t", -1);
            byte[] key = key(field[1]);
            var partitions = new StringJoiner(",");

            for (String count : field[2].split(","))
                partitions.add(Integer.toString(BuiltInPartitioner.partitionForKey(key, Integer.parseInt(count))));
            out.printf("%s\t%08x\t%s\n", field[0], Utils.murmur2(key), partitions);
        }
        out.flush();
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
