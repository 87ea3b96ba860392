import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own Java producer with its default partitioner, fed from lines of KEY TAB VALUE [TAB TIMESTAMP_MS].
 * The bytes of key and value are sent as they are in the file. interop-tests/python/produce.py takes the same lines.
 * Run as a source file: java -cp 'interop-tests/kafka/lib/*' interop-tests/java/Produce.java --help
 */
public final class Produce {
    private static final String USAGE = String.join("\n",
        "usage: Produce.java --bootstrap-server ADDRESS --topic TOPIC [option...] [FILE]",
        "  FILE               lines of KEY TAB VALUE [TAB TIMESTAMP_MS]; standard input when absent or -",
        "  --null-keys        an empty key field is no key (else: the empty key)",
        "  --null-values      an empty value field is no value, a tombstone (else: the empty value)",
        "  --hex-keys         the key field is hexadecimal",
        "  --report           print PARTITION TAB OFFSET of each record, in the order of the lines",
        "  -X NAME=VALUE      a property of the producer; repeatable");

    /** More records in flight than this, and reading waits: the file may be larger than memory. */
    private static final int MAX_IN_FLIGHT = 100_000;

    private String topic;
    private boolean nullKeys;
    private boolean nullValues;
    private boolean hexKeys;
    private boolean report;
    private String file = "-";
    private final Properties config = new Properties();

    public static void main(String[] args) throws Exception {
        try {
            Produce produce = new Produce();
            produce.parse(args);
            long count = produce.run();
            System.err.println("produced " + count + " records");
        } catch (IllegalArgumentException | IOException e) {
            System.err.println("Produce.java: " + e.getMessage());
            System.exit(2);
        } catch (ExecutionException e) {
            System.err.println("Produce.java: a record was not delivered: " + e.getCause());
            System.exit(1);
        }
    }

    private void parse(String[] args) {
        String bootstrap = null;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--bootstrap-server", "-b" -> bootstrap = valueOf(args, i++);
                case "--topic", "-t" -> topic = valueOf(args, i++);
                case "--null-keys" -> nullKeys = true;
                case "--null-values" -> nullValues = true;
                case "--hex-keys" -> hexKeys = true;
                case "--report" -> report = true;
                case "-X" -> {
                    String[] pair = valueOf(args, i++).split("=", 2);
                    if (pair.length != 2) {
                        throw new IllegalArgumentException("-X " + pair[0] + ": expected NAME=VALUE");
                    }
                    config.put(pair[0], pair[1]);
                }
                case "--help", "-h" -> {
                    System.out.println(USAGE);
                    System.exit(0);
                }
                default -> {
                    if (args[i].startsWith("-") && !args[i].equals("-")) {
                        throw new IllegalArgumentException("unknown option " + args[i] + "\n" + USAGE);
                    }
                    file = args[i];
                }
            }
        }
        if (bootstrap == null || topic == null) {
            throw new IllegalArgumentException("--bootstrap-server and --topic are needed\n" + USAGE);
        }
        config.put("bootstrap.servers", bootstrap);
    }

    private static String valueOf(String[] args, int option) {
        if (option + 1 == args.length) {
            throw new IllegalArgumentException(args[option] + " needs a value");
        }
        return args[option + 1];
    }

    private long run() throws IOException, ExecutionException, InterruptedException {
        long count = 0;
        Queue<Future<RecordMetadata>> inFlight = new ArrayDeque<>();
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
        try (InputStream in = new BufferedInputStream(file.equals("-") ? System.in : new FileInputStream(file), 1 << 16);
             KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            while (readLine(in, line)) {
                inFlight.add(producer.send(parseRecord(line.toByteArray(), ++count)));
                if (inFlight.size() > MAX_IN_FLIGHT) {
                    settle(inFlight.remove(), out);
                }
            }
            producer.flush();
            while (!inFlight.isEmpty()) {
                settle(inFlight.remove(), out);
            }
        } finally {
            out.flush();
        }
        return count;
    }

    private void settle(Future<RecordMetadata> sent, PrintStream out) throws ExecutionException, InterruptedException {
        RecordMetadata at = sent.get();
        if (report) {
            out.print(at.partition() + "\t" + at.offset() + "\n");
        }
    }

    private ProducerRecord<byte[], byte[]> parseRecord(byte[] line, long number) {
        int keyEnd = indexOfTab(line, 0);
        if (keyEnd == line.length) {
            throw new IllegalArgumentException("line " + number + ": expected KEY TAB VALUE");
        }
        int valueEnd = indexOfTab(line, keyEnd + 1);
        byte[] key = Arrays.copyOfRange(line, 0, keyEnd);
        byte[] value = Arrays.copyOfRange(line, keyEnd + 1, valueEnd);
        Long timestamp = null;
        try {
            if (valueEnd < line.length) {
                timestamp = Long.valueOf(new String(line, valueEnd + 1, line.length - valueEnd - 1));
            }
            if (hexKeys) {
                key = HexFormat.of().parseHex(new String(key));
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("line " + number + ": " + e.getMessage());
        }
        return new ProducerRecord<>(topic, null, timestamp, nullKeys && key.length == 0 ? null : key,
                                    nullValues && value.length == 0 ? null : value);
    }

    private static int indexOfTab(byte[] line, int from) {
        int i = from;
        while (i < line.length && line[i] != '\t') {
            i++;
        }
        return i;
    }

    /** Reads up to the next newline, as bytes: no character set comes between the file and the key. */
    private static boolean readLine(InputStream in, ByteArrayOutputStream line) throws IOException {
        line.reset();
        int b = in.read();
        if (b < 0) {
            return false;
        }
        while (b >= 0 && b != '\n') {
            line.write(b);
            b = in.read();
        }
        return true;
    }
}
