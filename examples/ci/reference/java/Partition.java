// Where kafka-clients puts a key. java -cp 'target/dependency/*' Partition.java, on a JDK of 17 or later
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

public class Partition {
    public static void main(String[] args) throws IOException {
        int partitions = Integer.parseInt(System.getenv("KEYROUTE_PARTITIONS"));
        var keys = new BufferedReader(new InputStreamReader(System.in));
        var answers = new StringBuilder();
        for (String line; (line = keys.readLine()) != null; ) {
            byte[] key = HexFormat.of().parseHex(line);
            answers.append(BuiltInPartitioner.partitionForKey(key, partitions)).append('\n');
        }
        System.out.print(answers);
    }
}
