import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

/**
 * Asks other stores, or their own clients, where they put keys. One question a line on standard input, one answer a line
 * on standard output: STORE TAB PARAMETERS (numbers with commas between) TAB KEY (hex).
 */
public class Stores {
    private interface Store {
        String place(int[] parameters, byte[] key) throws Exception;
    }

    private static final Map<String, Object> indices = new HashMap<>();

    public static void main(String[] args) throws Exception {
        Map<String, Store> stores = new HashMap<>();
        stores.put("elasticsearch", Stores::elasticsearch);
        stores.put("opensearch", Stores::openSearch);
        stores.put("cassandra", Stores::cassandra);
        stores.put("yugabytedb", Stores::yugabyteDb);
        stores.put("couchbase", Stores::couchbase);
        stores.put("flink-text", (p, key) -> flink(p, text(key)));
        stores.put("flink-int", (p, key) -> flink(p, ByteBuffer.wrap(key).getInt()));
        stores.put("flink-long", (p, key) -> flink(p, ByteBuffer.wrap(key).getLong()));
        stores.put("jump", (p, key) -> String.valueOf(
                com.google.common.hash.Hashing.consistentHash(ByteBuffer.wrap(key).getLong(), p[0])));
        stores.put("murmur3", (p, key) -> String.valueOf(
                com.google.common.hash.Hashing.murmur3_32_fixed().hashBytes(key).asInt() & 0x7fffffff));
        stores.put("string", (p, key) -> String.valueOf(text(key).hashCode() & 0x7fffffff));

        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] part = line.split("\t", -1);
            String[] number = part[1].isEmpty() ? new String[0] : part[1].split(",");
            int[] parameters = new int[number.length];
            for (int i = 0; i < number.length; i++)
                parameters[i] = Integer.parseInt(number[i]);
            out.println(stores.get(part[0]).place(parameters, HexFormat.of().parseHex(part[2])));
        }
        out.flush();
    }

    private static String text(byte[] key) {
        return new String(key, StandardCharsets.UTF_8);
    }

    /** Parameters: shards, routing shards, routing partition size. With a size above 1 keys are ROUTING:ID. */
    private static String elasticsearch(int[] p, byte[] key) {
        var routing = (org.elasticsearch.cluster.routing.IndexRouting) indices.computeIfAbsent(
                "elasticsearch " + p[0] + " " + p[1] + " " + p[2], name -> {
                    var settings = org.elasticsearch.common.settings.Settings.builder()
                            .put("index.version.created", org.elasticsearch.index.IndexVersion.current().id())
                            .put("index.number_of_shards", p[0])
                            .put("index.number_of_replicas", 0)
                            .put("index.routing_partition_size", p[2]);
                    var index = org.elasticsearch.cluster.metadata.IndexMetadata.builder("index").settings(settings)
                            .setRoutingNumShards(p[1]);
                    if (p[2] > 1)
                        index.putMapping("{\"_doc\":{\"_routing\":{\"required\":true}}}");
                    return org.elasticsearch.cluster.routing.IndexRouting.fromIndexMetadata(index.build());
                });
        String[] part = split(p[2], text(key));
        return String.valueOf(routing.getShard(part[1], part[0]));
    }

    private static String openSearch(int[] p, byte[] key) {
        var index = (org.opensearch.cluster.metadata.IndexMetadata) indices.computeIfAbsent(
                "opensearch " + p[0] + " " + p[1] + " " + p[2], name -> {
                    var settings = org.opensearch.common.settings.Settings.builder()
                            .put("index.version.created", org.opensearch.Version.CURRENT.id)
                            .put("index.number_of_shards", p[0])
                            .put("index.number_of_replicas", 0)
                            .put("index.routing_partition_size", p[2]);
                    return org.opensearch.cluster.metadata.IndexMetadata.builder("index").settings(settings)
                            .setRoutingNumShards(p[1]).build();
                });
        String[] part = split(p[2], text(key));
        return String.valueOf(
                org.opensearch.cluster.routing.OperationRouting.generateShardId(index, part[1], part[0]));
    }

    /** The routing, null where there is none, and the id. */
    private static String[] split(int size, String key) {
        int colon = key.indexOf(':');
        return size > 1 ? new String[] {key.substring(0, colon), key.substring(colon + 1)} : new String[] {null, key};
    }

    private static String cassandra(int[] p, byte[] key) throws Exception {
        Field field = Class.forName("com.datastax.driver.core.Token$M3PToken").getDeclaredField("FACTORY");
        field.setAccessible(true);
        Object factory = field.get(null);
        Method hash = Class.forName("com.datastax.driver.core.Token$Factory").getDeclaredMethod("hash", ByteBuffer.class);
        hash.setAccessible(true);
        return hash.invoke(factory, ByteBuffer.wrap(key)).toString();
    }

    private static String yugabyteDb(int[] p, byte[] key) throws Exception {
        Method fold = com.yugabyte.driver.core.policies.PartitionAwarePolicy.class
                .getDeclaredMethod("getKey", byte[].class);
        fold.setAccessible(true);
        return fold.invoke(null, key).toString();
    }

    /** Parameters: vBuckets, a power of two. */
    private static String couchbase(int[] p, byte[] key) {
        return String.valueOf(net.spy.memcached.DefaultHashAlgorithm.CRC_HASH.hash(text(key)) & (p[0] - 1));
    }

    /** Parameters: maximum parallelism, parallelism. */
    private static String flink(int[] p, Object key) {
        int group = org.apache.flink.runtime.state.KeyGroupRangeAssignment.assignToKeyGroup(key, p[0]);
        int operator = org.apache.flink.runtime.state.KeyGroupRangeAssignment.assignKeyToParallelOperator(key, p[0], p[1]);
        return group + "," + operator;
    }
}
