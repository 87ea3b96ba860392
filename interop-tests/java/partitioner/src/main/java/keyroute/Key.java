package keyroute;

import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Which bytes of a key route. */
interface Key {
    /** @return the part that routes; null when the key cannot be taken apart */
    byte[] project(byte[] key);

    /** Uses may stand over others this many times. */
    int DEEPEST = 4;

    static Key read(Node at) {
        return read(at, 0);
    }

    private static Key read(Node at, int depth) {
        Key step = readStep(at);
        if (!at.has("over")) {
            return step;
        }
        JsonValue over = at.get("over");
        if (depth == DEEPEST) {
            throw at.error("key uses nest at most " + DEEPEST + " deep");
        }
        Node below = over.isString() ? new Node(new JsonObject().add("use", over), at.path + ".over") : at.child("over");
        Key inner = read(below, depth + 1);
        if (below.text("missing", "").equals("reject")) {
            throw below.error("\"missing\" belongs to the outermost key use, which speaks for all");
        }
        return key -> {
            byte[] part = inner.project(key);
            return part == null ? null : step.project(part);
        };
    }

    private static Key readStep(Node at) {
        String use = at.text("use", "");
        at.choice("missing", "whole-key", "whole-key", "reject");
        switch (use) {
            case "bytes":
                at.allow("use", "over");
                return key -> key;
            case "field":
                return field(at.allow("use", "missing", "over", "delimiter", "index"));
            case "tag":
                return tag(at.allow("use", "missing", "over", "open", "close"));
            case "payload":
                return payload(at.allow("use", "missing", "over", "known-ids", "id-bytes"));
            case "windowed":
                return windowed(at.allow("use", "missing", "over", "form"));
            default:
                throw at.error("the Java partitioner has no key use \"" + use + "\": it knows bytes, field, tag, payload and "
                    + "windowed");
        }
    }

    private static Key field(Node at) {
        byte[] delimiter = at.bytes("delimiter", "");
        if (delimiter.length == 0) {
            throw at.error("\"delimiter\" is missing");
        }
        long[] indexes = at.get("index").isArray() ? at.numbers("index") : new long[] {at.number("index", 0)};
        if (indexes.length == 0) {
            throw at.error("\"index\" is an empty list");
        }
        return key -> {
            List<byte[]> parts = new ArrayList<>();
            int start = 0;
            for (int end; (end = Bytes.find(key, delimiter, start)) >= 0; start = end + delimiter.length) {
                parts.add(Arrays.copyOfRange(key, start, end));
            }
            parts.add(Arrays.copyOfRange(key, start, key.length));
            List<byte[]> chosen = new ArrayList<>();
            for (long index : indexes) {
                int i = (int) (index < 0 ? parts.size() + index : index);
                if (i < 0 || i >= parts.size()) {
                    return null;
                }
                chosen.add(parts.get(i));
            }
            return Bytes.join(chosen, delimiter);
        };
    }

    private static Key tag(Node at) {
        byte[] open = at.bytes("open", "{");
        byte[] close = at.bytes("close", "}");
        if (open.length != 1 || close.length != 1) {
            throw at.error("\"open\" and \"close\": expected one character each");
        }
        return key -> {
            int start = Bytes.find(key, open, 0);
            int end = start < 0 ? -1 : Bytes.find(key, close, start + 1);
            return end <= start + 1 ? key : Arrays.copyOfRange(key, start + 1, end);
        };
    }

    private static Key payload(Node at) {
        int size = at.number("id-bytes", 4);
        if (size != 4 && size != 8) {
            throw at.error("\"id-bytes\": expected 4 or 8, found " + size);
        }
        boolean pinned = at.has("known-ids");
        Set<Long> known = new HashSet<>();
        if (pinned) {
            Arrays.stream(at.numbers("known-ids")).forEach(known::add);
            if (known.isEmpty() || known.stream().anyMatch(id -> id < 1)) {
                throw at.error("\"known-ids\": expected ids from 1 on");
            }
        }
        return key -> {
            if (key.length >= 1 + size && key[0] == 0) {
                long id = 0;
                for (int i = 1; i <= size; i++) {
                    id = id << 8 | key[i] & 0xff;
                }
                if (pinned ? known.contains(id) : id > 0 && id <= (size == 4 ? Integer.MAX_VALUE : Long.MAX_VALUE)) {
                    return Arrays.copyOfRange(key, 1 + size, key.length);
                }
            }
            boolean isGuid = !pinned && key.length >= 17 && key[0] == 1 && (key[9] & 0xc0) == 0x80
                && (key[7] & 0xf0) >= 0x10 && (key[7] & 0xf0) <= 0x80;
            return isGuid ? Arrays.copyOfRange(key, 17, key.length) : key;
        };
    }

    private static Key windowed(Node at) {
        String form = at.choice("form", "time", "time", "store", "session");
        int tail = form.equals("time") ? 8 : form.equals("store") ? 12 : 16;
        return key -> key.length < tail ? null : Arrays.copyOf(key, key.length - tail);
    }
}
