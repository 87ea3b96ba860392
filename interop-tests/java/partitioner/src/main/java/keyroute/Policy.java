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
            partitions = at.number("partitions", 0);
            at.get("fingerprint");
            fingerprint = at.text("fingerprint", "");
            String name = at.text("hash", "murmur2");
            Hash hash = Hash.BY_NAME.get(name);
            if (hash == null) {
                throw at.error("the Java partitioner has no hash \"" + name + "\": it knows "
                    + String.join(", ", new java.util.TreeSet<>(Hash.BY_NAME.keySet())));
            }
            key = at.has("key") ? Key.read(at.child("key")) : bytes -> bytes;
            rejects = at.has("key") && at.child("key").text("missing", "whole-key").equals("reject");
            placement = at.has("map") ? Placement.read(at.child("map"), hash, folder) : Placement.modulo(hash);
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
        for (JsonObject.Member member : topics.value) {
            String name = member.getName();
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
