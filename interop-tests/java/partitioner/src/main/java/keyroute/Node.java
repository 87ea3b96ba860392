package keyroute;

import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;

/** An object of the policy with its path, for errors that say where. */
final class Node {
    final JsonObject value;
    final String path;

    Node(JsonObject value, String path) {
        this.value = value;
        this.path = path;
        Set<String> seen = new HashSet<>();
        for (String name : value.names()) { // the parser keeps them all, and would answer with the last one
            if (!seen.add(name)) {
                throw error("\"" + name + "\" stands there twice");
            }
        }
    }

    ConfigException error(String what) {
        return new ConfigException("keyroute: " + path + ": " + what);
    }

    /** What this program does not know might route otherwise than it thinks, so it must not be ignored. */
    Node allow(String... fields) {
        Set<String> known = new HashSet<>(Arrays.asList(fields));
        for (JsonObject.Member member : value) {
            if (member.getName().equals("comment")) {
                text("comment", "");
            } else if (!known.contains(member.getName())) {
                throw error("the Java partitioner does not know \"" + member.getName() + "\"");
            }
        }
        return this;
    }

    boolean has(String field) {
        return value.get(field) != null;
    }

    JsonValue get(String field) {
        JsonValue member = value.get(field);
        if (member == null) {
            throw error("\"" + field + "\" is missing; is this a compiled policy? See `repartition policy compile`");
        }
        return member;
    }

    Node child(String field) {
        return new Node(as(field, get(field)::asObject), path + "." + field);
    }

    String text(String field, String otherwise) {
        return has(field) ? as(field, get(field)::asString) : otherwise;
    }

    int number(String field, int otherwise) {
        return has(field) ? as(field, get(field)::asInt) : otherwise;
    }

    /** A whole number of a range; it must stand there unless otherwise lies outside of the range. */
    int number(String field, int otherwise, int least, int most) {
        int number = has(field) || otherwise >= least ? number(field, otherwise) : otherwise;
        if (has(field) && (number < least || number > most)) {
            throw error("\"" + field + "\": expected a whole number from " + least + " to " + most + ", found " + number);
        }
        return number;
    }

    /** One of the names that there are. */
    String choice(String field, String otherwise, String... names) {
        String name = text(field, otherwise);
        if (!Arrays.asList(names).contains(name)) {
            throw error("no " + field + " \"" + name + "\": " + String.join(" or ", names));
        }
        return name;
    }

    byte[] bytes(String field, String otherwise) {
        return text(field, otherwise).getBytes(StandardCharsets.UTF_8);
    }

    /** Owners and bounds: numbers, or hexadecimal in quotes. */
    long[] numbers(String field) {
        return as(field, () -> get(field).asArray().values().stream()
            .mapToLong(item -> item.isString() ? Long.parseLong(item.asString().substring(2), 16) : item.asLong()).toArray());
    }

    interface Reading<T> {
        T read();
    }

    <T> T as(String field, Reading<T> reading) {
        try {
            return reading.read();
        } catch (UnsupportedOperationException | IllegalArgumentException | IndexOutOfBoundsException | NullPointerException e) {
            throw error("\"" + field + "\" is not of the form that docs/policy-format.md gives it: " + e.getMessage());
        }
    }
}
