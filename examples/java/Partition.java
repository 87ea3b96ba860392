/*
 * The Java client needs nothing from Keyroute: its own rule is the policy's default. This asks the client itself, in the
 * form that interop-tests/vectors/check talks, so that a team can hold its client's version against the golden vectors:
 *
 *   interop-tests/vectors/check -- java -cp 'LIBS/*' examples/java/Partition.java
 *
 * Reads lines "N<TAB>HEXKEY", prints one partition a line.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

public class Partition {
    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        for (String line; (line = in.readLine()) != null; ) {
            int tab = line.indexOf('\t');
            int partitions = Integer.parseInt(line.substring(0, tab));
            out.println(BuiltInPartitioner.partitionForKey(HexFormat.of().parseHex(line.substring(tab + 1)), partitions));
        }
        out.flush();
    }
}
