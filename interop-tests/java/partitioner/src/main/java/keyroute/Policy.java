package keyroute;

import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import com.eclipsesource.json.ParseException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigException;

/** A compiled policy, as `repartition policy compile` writes it. Immutable; threads may share it. */
public final class Policy {
    /** One topic's rule. */
    public static final class Rule {
        private final int partitions;
        private final String fingerprint;
        private final Key key;
        private final boolean rejects;
        private final Placement placement;

        private Rule(Node at, Path folder) {
            at.allow("partitions", "key", "hash", "map", "locations", "fingerprint");
            partitions = at.number("partitions", 0, 1, 1_000_000);
            at.get("fingerprint");
            fingerprint = at.text("fingerprint", "");
            if (!fingerprint.matches("[0-9a-f]{16}")) {
                throw at.error("\"fingerprint\": expected 16 hexadecimal digits");
            }
            String name = at.text("hash", "murmur2");
            Hash hash = Hash.BY_NAME.get(name);
            if (hash == null) {
                throw at.error("the Java partitioner has no hash \"" + name + "\": it knows "
                    + String.join(", ", new java.util.TreeSet<>(Hash.BY_NAME.keySet())));
            }
            key = at.has("key") ? Key.read(at.child("key")) : bytes -> bytes;
            rejects = at.has("key") && at.child("key").text("missing", "whole-key").equals("reject");
            Placement.Context context = new Placement.Context(hash, Hash.highest(name), partitions, folder);
            placement = at.has("map") ? Placement.read(at.child("map"), context) : Placement.modulo(hash);
            if (at.has("locations")) {
                checkLocations(at.child("locations"));
            }
        }

        /** They do not route; but one who wrote them wrong may have written the rest wrong. */
        private void checkLocations(Node at) {
            BitSet located = new BitSet();
            for (String name : at.value.names()) {
                String[] ends = name.split("-", -1);
                at.as(name, () -> {
                    int first = Integer.parseUnsignedInt(ends[0]);
                    int last = ends.length == 1 ? first : Integer.parseUnsignedInt(ends[1]);
                    int end = partitions == 0 ? 1_000_000 : partitions;
                    if (ends.length > 2 || last < first || last >= end || located.get(first, last + 1).cardinality() > 0
                        || at.text(name, "").isEmpty()) {
                        throw new IllegalArgumentException("expected a range of partitions below " + end
                            + ", each with one location, and a name");
                    }
                    located.set(first, last + 1);
                    return null;
                });
            }
        }

        /** @return 16 hex digits; programs that log the same ones route alike */
        public String fingerprint() {
            return fingerprint;
        }

        /**
         * @param bytes  the serialized key, not null
         * @param count  the partitions that the topic has now
         * @return 0 .. count - 1
         * @throws RefusedException when the policy was made for another count, or rejects the key
         */
        public int partition(byte[] bytes, int count) {
            if (partitions != 0 && partitions != count) {
                throw new RefusedException("the topic has " + count + " partitions, the policy was made for " + partitions
                    + ": records are refused, not misplaced");
            }
            byte[] part = key.project(bytes);
            if (part == null && rejects) {
                throw new RefusedException("the key cannot be taken apart as the policy says, which rejects such keys");
            }
            return placement.of(part == null ? bytes : part, count);
        }
    }

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._*?-]{1,249}");

    private final Map<String, Rule> exact = new HashMap<>();
    private final List<Map.Entry<String, Rule>> patterns = new ArrayList<>();

    /** @throws ConfigException that names the file and the place in it */
    public static Policy load(Path file) {
        try {
            JsonValue root = Json.parse(Files.readString(file, StandardCharsets.UTF_8));
            return new Policy(new Node(root.asObject(), file.toString()), file.toAbsolutePath().getParent());
        } catch (IOException | ParseException | UnsupportedOperationException e) {
            throw new ConfigException("keyroute: " + file + ": not a policy that can be read: " + e);
        }
    }

    private Policy(Node root, Path folder) {
        root.allow("keyroute", "topics", "schemas");
        if (root.number("keyroute", 0) != 1) {
            throw root.error("\"keyroute\": 1 is missing: the version of the policy format");
        }
        Node topics = root.child("topics");
        if (topics.value.isEmpty()) {
            throw topics.error("expected at least one topic");
        }
        for (JsonObject.Member member : topics.value) {
            String name = member.getName();
            if (!NAME.matcher(name).matches() || name.equals(".") || name.equals("..")) {
                throw topics.error("\"" + name + "\" is no name or pattern of a topic");
            }
            Rule rule = new Rule(topics.child(name), folder);
            if (name.contains("*") || name.contains("?")) {
                patterns.add(Map.entry(name, rule));
            } else {
                exact.put(name, rule);
            }
        }
        patterns.sort(Comparator.comparing((Map.Entry<String, Rule> e) -> -literals(e.getKey())).thenComparing(Map.Entry::getKey));
    }

    private static long literals(String pattern) {
        return pattern.chars().filter(c -> c != '*' && c != '?').count();
    }

    /** @return the topic's rule, or null when the policy says nothing of it */
    public Rule rule(String topic) {
        Rule rule = exact.get(topic);
        for (Map.Entry<String, Rule> pattern : patterns) {
            if (rule == null && Pattern.matches(pattern.getKey().replace(".", "\\.").replace("*", ".*").replace("?", "."), topic)) {
                rule = pattern.getValue();
            }
        }
        return rule;
    }
}
