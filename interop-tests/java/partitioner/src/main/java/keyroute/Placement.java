package keyroute;

import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import com.eclipsesource.json.ParseException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** From the bytes that route to a partition: the maps of docs/policy-format.md. */
interface Placement {
    int of(byte[] data, int count);

    static Placement modulo(Hash hash) {
        return (data, count) -> (int) (hash.of(data) % count);
    }

    /** What a map must know of its rule. */
    final class Context {
        final Hash hash;
        final long highest;
        final int partitions;
        final Path folder;

        /** @param partitions  0 when the rule does not pin them */
        Context(Hash hash, long highest, int partitions, Path folder) {
            this.hash = hash;
            this.highest = highest;
            this.partitions = partitions;
            this.folder = folder;
        }
    }

    /** Maps stand in others this many times. */
    int DEEPEST = 4;

    static Placement read(Node at, Context context) {
        return read(at, context, 0);
    }

    private static Placement read(Node at, Context context, int depth) {
        Hash hash = context.hash;
        String kind = at.text("kind", "");
        if (depth > DEEPEST) {
            throw at.error("maps stand at most " + DEEPEST + " deep");
        }
        if (!kind.equals("modulo") && context.partitions == 0) {
            throw at.error("this map names partitions: the rule needs \"partitions\", their count");
        }
        switch (kind) {
            case "modulo":
                at.allow("kind");
                return modulo(hash);
            case "slots":
                return slots(at.allow("kind", "slots", "stride", "runs", "owners"), context);
            case "hash-range":
                return hashRange(at.allow("kind", "bounds", "owners"), context);
            case "range":
                return range(at.allow("kind", "bounds", "owners"), context);
            case "table":
                return table(at.allow("kind", "keys", "file", "key-format", "else", "delimiter", "first", "first-bytes"),
                             context, depth);
            case "two-level":
                return twoLevel(at.allow("kind", "fanout", "delimiter", "first", "first-bytes"), context);
            default:
                throw at.error("the Java partitioner has no map \"" + kind + "\"");
        }
    }

    private static Placement slots(Node at, Context context) {
        int slots = at.number("slots", 0, 1, 1 << 24);
        if (at.has("owners") == at.has("runs") || slots == 0) {
            throw at.error("expected \"slots\", and either \"owners\" or \"runs\"");
        }
        int[] owners = at.has("owners") ? owners(at, slots, context) : unpack(at, slots, context);
        return (data, count) -> owners[(int) (context.hash.of(data) % slots)];
    }

    private static int[] unpack(Node at, int slots, Context context) {
        int stride = at.number("stride", 0, 1, slots);
        if (stride == 0 || slots % stride != 0) {
            throw at.error("\"stride\": expected a number that divides the " + slots + " slots");
        }
        return at.as("runs", () -> {
            int[] owners = new int[slots];
            int i = 0;
            for (JsonValue run : at.get("runs").asArray()) {
                int owner = partition(run.asArray().get(0), context);
                int length = run.asArray().get(1).asInt();
                if (run.asArray().size() != 2 || length < 1 || length > slots - i) {
                    throw new IllegalArgumentException("a run is a partition and a length, and all have " + slots
                        + " slots together");
                }
                for (int end = i + length; i < end; i++) {
                    owners[i % (slots / stride) * stride + i / (slots / stride)] = owner;
                }
            }
            if (i != slots) {
                throw new IllegalArgumentException("they are shorter than the " + slots + " slots");
            }
            return owners;
        });
    }

    private static int partition(JsonValue value, Context context) {
        int owner = value.asInt();
        if (owner < 0 || owner >= context.partitions) {
            throw new IllegalArgumentException("there is no partition " + owner + " among " + context.partitions);
        }
        return owner;
    }

    private static int[] owners(Node at, int size, Context context) {
        return at.as("owners", () -> {
            JsonArray owners = at.get("owners").asArray();
            if (owners.size() != size) {
                throw new IllegalArgumentException("expected " + size + " partitions, found " + owners.size());
            }
            return owners.values().stream().mapToInt(owner -> partition(owner, context)).toArray();
        });
    }

    private static Placement hashRange(Node at, Context context) {
        long[] bounds = at.numbers("bounds");
        for (int i = 0; i < bounds.length; i++) {
            if (bounds[i] < 1 || bounds[i] > context.highest || i > 0 && bounds[i] <= bounds[i - 1]) {
                throw at.error("\"bounds\": expected rising hash values from 1 to " + context.highest);
            }
        }
        int[] owners = owners(at, bounds.length + 1, context);
        return (data, count) -> {
            int i = Arrays.binarySearch(bounds, context.hash.of(data));
            return owners[i < 0 ? -i - 1 : i + 1]; // a bound belongs to the range that it starts
        };
    }

    private static Placement range(Node at, Context context) {
        byte[][] bounds = at.as("bounds", () -> at.get("bounds").asArray().values().stream().map(Placement::octets)
            .toArray(byte[][]::new));
        for (int i = 0; i < bounds.length; i++) {
            if (bounds[i].length == 0 || i > 0 && Arrays.compareUnsigned(bounds[i - 1], bounds[i]) >= 0) {
                throw at.error("\"bounds\": expected keys that rise, byte by byte");
            }
        }
        if (!at.has("owners") && bounds.length + 1 != context.partitions) {
            throw at.error("\"owners\" is missing: " + (bounds.length + 1) + " ranges for " + context.partitions + " partitions");
        }
        int[] owners = at.has("owners") ? owners(at, bounds.length + 1, context) : null;
        return (data, count) -> {
            int i = Arrays.binarySearch(bounds, data, Arrays::compareUnsigned);
            int range = i < 0 ? -i - 1 : i + 1;
            return owners == null ? range : owners[range];
        };
    }

    private static Placement table(Node at, Context context, int depth) {
        Hash hash = context.hash;
        Map<ByteBuffer, int[]> rows = new HashMap<>();
        boolean isHex = at.choice("key-format", "text", "text", "hex").equals("hex");
        if (!at.has("keys") && !at.has("file")) {
            throw at.error("\"keys\" and \"file\" are missing: which keys are pinned");
        }
        if (at.has("keys")) {
            for (JsonObject.Member row : at.child("keys").value) {
                at.as("keys", () -> rows.put(ByteBuffer.wrap(decode(row.getName(), isHex)), pins(row.getValue(), context)));
            }
        }
        if (at.has("file")) {
            readRows(rows, at, context.folder.resolve(at.text("file", "")), isHex, context);
        }
        Placement otherwise = at.has("else") ? read(at.child("else"), context, depth + 1) : modulo(hash);
        Split split = at.has("delimiter") || at.has("first-bytes") ? Split.read(at) : null;
        return (data, count) -> {
            byte[][] parts = split == null ? new byte[][] {data, new byte[0]} : split.of(data);
            int[] owners = rows.get(ByteBuffer.wrap(parts[0]));
            if (owners == null) {
                return otherwise.of(data, count);
            }
            return owners.length == 1 ? owners[0] : owners[(int) (hash.of(parts[1]) % owners.length)];
        };
    }

    private static int[] pins(JsonValue value, Context context) {
        JsonArray owners = value.isArray() ? value.asArray() : new JsonArray().add(value);
        if (owners.isEmpty()) {
            throw new IllegalArgumentException("a key has at least one partition");
        }
        return owners.values().stream().mapToInt(owner -> partition(owner, context)).toArray();
    }

    private static void readRows(Map<ByteBuffer, int[]> rows, Node at, Path file, boolean isHex, Context context) {
        try {
            // Latin-1 keeps every byte of a key as it is.
            for (String line : Files.readString(file, StandardCharsets.ISO_8859_1).split("\n")) {
                if (line.isEmpty()) {
                    continue;
                }
                String row = line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
                int tab = row.lastIndexOf('\t');
                byte[] key = isHex ? decode(row.substring(0, tab), true)
                    : row.substring(0, tab).getBytes(StandardCharsets.ISO_8859_1);
                rows.put(ByteBuffer.wrap(key), pins(Json.parse("[" + row.substring(tab + 1) + "]"), context));
            }
        } catch (IOException | IndexOutOfBoundsException | IllegalArgumentException | ParseException e) {
            throw at.error("cannot read the table " + file + ": " + e);
        }
    }

    private static Placement twoLevel(Node at, Context context) {
        Hash hash = context.hash;
        Split split = Split.read(at);
        int fanout = at.number("fanout", 0, 1, context.partitions);
        if (fanout == 0) {
            throw at.error("\"fanout\" is missing");
        }
        return (data, count) -> {
            byte[][] parts = split.of(data);
            return (int) ((hash.of(parts[0]) % count + hash.of(parts[1]) % fanout) % count);
        };
    }

    /** The first part of a key and the rest; the delimiter belongs to neither. */
    interface Split {
        byte[][] of(byte[] data);

        static Split read(Node at) {
            if (at.has("first-bytes")) {
                int length = at.number("first-bytes", 0, 1, Integer.MAX_VALUE);
                if (at.has("delimiter") || at.has("first")) {
                    throw at.error("\"first-bytes\" splits without a delimiter; give one of them");
                }
                return data -> cut(data, Math.min(length, data.length), Math.min(length, data.length));
            }
            byte[] delimiter = at.bytes("delimiter", "");
            int first = at.number("first", 1, 1, Integer.MAX_VALUE);
            if (delimiter.length == 0) {
                throw at.error("\"delimiter\" or \"first-bytes\" is missing");
            }
            return data -> {
                int end = -1;
                for (int i = 0, start = 0; i < first; i++, start = end + delimiter.length) {
                    end = Bytes.find(data, delimiter, start);
                    if (end < 0) {
                        return cut(data, data.length, data.length);
                    }
                }
                return cut(data, end, end + delimiter.length);
            };
        }

        private static byte[][] cut(byte[] data, int end, int start) {
            return new byte[][] {Arrays.copyOf(data, end), Arrays.copyOfRange(data, start, data.length)};
        }
    }

    /** "text" or {"hex": "00ff"} */
    private static byte[] octets(JsonValue bound) {
        return bound.isString() ? decode(bound.asString(), false) : decode(bound.asObject().get("hex").asString(), true);
    }

    private static byte[] decode(String text, boolean isHex) {
        if (!isHex) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        if (text.length() % 2 != 0) {
            throw new IllegalArgumentException("\"" + text + "\" is not pairs of hexadecimal digits");
        }
        byte[] out = new byte[text.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }
}
