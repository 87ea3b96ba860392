package keyroute;

import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
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

    static Placement read(Node at, Hash hash, Path folder) {
        String kind = at.text("kind", "");
        switch (kind) {
            case "modulo":
                at.allow("kind");
                return modulo(hash);
            case "slots":
                return slots(at.allow("kind", "slots", "stride", "runs", "owners"), hash);
            case "hash-range":
                return hashRange(at.allow("kind", "bounds", "owners"), hash);
            case "range":
                return range(at.allow("kind", "bounds", "owners"));
            case "table":
                return table(at.allow("kind", "keys", "file", "key-format", "else", "delimiter", "first", "first-bytes"), hash,
                             folder);
            case "two-level":
                return twoLevel(at.allow("kind", "fanout", "delimiter", "first", "first-bytes"), hash);
            default:
                throw at.error("the Java partitioner has no map \"" + kind + "\"");
        }
    }

    private static Placement slots(Node at, Hash hash) {
        int[] owners = at.has("owners") ? ints(at.numbers("owners")) : unpack(at);
        return (data, count) -> owners[(int) (hash.of(data) % owners.length)];
    }

    private static int[] unpack(Node at) {
        JsonArray runs = at.get("runs").asArray();
        int slots = at.number("slots", 0);
        int stride = at.number("stride", 0);
        int[] owners = new int[slots];
        int i = 0;
        for (JsonValue run : runs) {
            int owner = run.asArray().get(0).asInt();
            for (int left = run.asArray().get(1).asInt(); left > 0; left--, i++) {
                if (i == slots) {
                    throw at.error("\"runs\" are longer than \"slots\"");
                }
                owners[i % (slots / stride) * stride + i / (slots / stride)] = owner;
            }
        }
        if (i != slots) {
            throw at.error("\"runs\" are shorter than \"slots\"");
        }
        return owners;
    }

    private static Placement hashRange(Node at, Hash hash) {
        long[] bounds = at.numbers("bounds");
        int[] owners = ints(at.numbers("owners"));
        if (owners.length != bounds.length + 1) {
            throw at.error("expected one owner more than bounds");
        }
        return (data, count) -> {
            int i = Arrays.binarySearch(bounds, hash.of(data));
            return owners[i < 0 ? -i - 1 : i + 1]; // a bound belongs to the range that it starts
        };
    }

    private static Placement range(Node at) {
        byte[][] bounds = at.get("bounds").asArray().values().stream().map(Placement::octets).toArray(byte[][]::new);
        int[] owners = at.has("owners") ? ints(at.numbers("owners")) : null;
        return (data, count) -> {
            int i = Arrays.binarySearch(bounds, data, Arrays::compareUnsigned);
            int range = i < 0 ? -i - 1 : i + 1;
            return owners == null ? range : owners[range];
        };
    }

    private static Placement table(Node at, Hash hash, Path folder) {
        Map<ByteBuffer, int[]> rows = new HashMap<>();
        boolean isHex = at.text("key-format", "text").equals("hex");
        if (at.has("keys")) {
            for (JsonObject.Member row : at.child("keys").value) {
                JsonValue owners = row.getValue();
                rows.put(ByteBuffer.wrap(decode(row.getName(), isHex)), owners.isArray()
                    ? owners.asArray().values().stream().mapToInt(JsonValue::asInt).toArray() : new int[] {owners.asInt()});
            }
        }
        if (at.has("file")) {
            readRows(rows, at, folder.resolve(at.text("file", "")), isHex);
        }
        Placement otherwise = at.has("else") ? read(at.child("else"), hash, folder) : modulo(hash);
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

    private static void readRows(Map<ByteBuffer, int[]> rows, Node at, Path file, boolean isHex) {
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
                rows.put(ByteBuffer.wrap(key), Arrays.stream(row.substring(tab + 1).split(",")).mapToInt(Integer::parseInt)
                    .toArray());
            }
        } catch (IOException | IndexOutOfBoundsException | NumberFormatException e) {
            throw at.error("cannot read the table " + file + ": " + e);
        }
    }

    private static Placement twoLevel(Node at, Hash hash) {
        Split split = Split.read(at);
        int fanout = at.get("fanout").asInt();
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
                int length = at.number("first-bytes", 0);
                return data -> cut(data, Math.min(length, data.length), Math.min(length, data.length));
            }
            byte[] delimiter = at.bytes("delimiter", "");
            int first = at.number("first", 1);
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

    private static int[] ints(long[] numbers) {
        return Arrays.stream(numbers).mapToInt(Math::toIntExact).toArray();
    }

    /** "text" or {"hex": "00ff"} */
    private static byte[] octets(JsonValue bound) {
        return bound.isString() ? decode(bound.asString(), false) : decode(bound.asObject().get("hex").asString(), true);
    }

    private static byte[] decode(String text, boolean isHex) {
        if (!isHex) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        byte[] out = new byte[text.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }
}
