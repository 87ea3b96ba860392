import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The job that the matrix gives a client: lines of TOPIC, TAB and the key in hexadecimal, - for none. */
final class Job {
    record Line(int number, String topic, byte[] key) {
        String keyAsText() {
            return key == null ? null : new String(key, StandardCharsets.UTF_8);
        }

        byte[] value(String tag) {
            return (tag + "\t" + number).getBytes(StandardCharsets.US_ASCII);
        }
    }

    private Job() {
    }

    static List<Line> read() throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var lines = new ArrayList<Line>();

        for (String line; (line = in.readLine()) != null;) {
            int tab = line.indexOf('\t');
            String key = line.substring(tab + 1);
            lines.add(new Line(lines.size(), line.substring(0, tab),
                               key.equals("-") ? null : java.util.HexFormat.of().parseHex(key)));
        }
        return lines;
    }

    static void refused(Line line, Exception why) {
        System.out.println("refused\t" + line.number() + "\t" + why.toString().replaceAll("\\s+", " "));
    }
}
