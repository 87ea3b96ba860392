import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.serialization.BooleanSerializer;
import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.kafka.common.serialization.FloatSerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Random pairs of a writer's and a reader's schema, no two alike, with data, and what Apache Avro for Java makes of them: a line a
 * projection, "writer TAB reader TAB paths TAB form TAB key in hex TAB expected". Expected is the routing bytes in hex, or
 * "missing" when Java has no value there or cannot read it. One seed gives one output.
 *
 *     java -cp 'avro/*:kafka/lib/*' AvroJudge.java PAIRS SEED
 */
class AvroJudge {
    /** A type as its JSON text for the writer and for the reader. */
    static final class Pair {
        final String writer, reader;
        final List<String> leaves = new ArrayList<>(); // paths by the reader's names, relative; "" for the type itself
        Pair(String writer, String reader) { this.writer = writer; this.reader = reader; }
    }

    static final String[] SPACES = { "", "com.acme", "com.acme.keys", "org.x" };
    static final String[] PROMOTIONS = { "int:long", "int:float", "int:double", "long:float", "long:double", "float:double",
        "string:bytes", "bytes:string" };
    static final String[] MISMATCHES = { "long:int", "string:int", "double:float", "boolean:string", "int:string", "bytes:long" };
    static final String[] PLAIN = { "null", "boolean", "int", "long", "float", "double", "bytes", "string" };
    static final String[] LOGICAL = {
        "{\"type\":\"string\",\"logicalType\":\"uuid\"}",
        "{\"type\":\"int\",\"logicalType\":\"date\"}",
        "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}",
        "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}" };

    final Random random;
    final Set<String> seen = new HashSet<>();
    int names;
    boolean mismatched;
    final Map<String, Integer> tally = new TreeMap<>();

    AvroJudge(long seed) { random = new Random(seed); }

    boolean chance(int percent) { return random.nextInt(100) < percent; }
    <T> T any(T[] of) { return of[random.nextInt(of.length)]; }

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20 || c > 0x7e) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        return out.append('"').toString();
    }

    String name(String prefix) { return prefix + names++; }

    /* A definition's head in one of the ways a name can be written, for both; the reader's may be new, with an alias. */
    String[] heads(String kind, String outer) {
        String space = chance(60) ? outer : any(SPACES);
        String simple = name(kind.substring(0, 1).toUpperCase());
        String full = space.isEmpty() ? simple : space + "." + simple;
        String reader = simple, aliases = "";
        if (chance(25)) {
            reader = simple + "New";
            boolean shortAlias = chance(50);
            aliases = ",\"aliases\":[" + quote(shortAlias && !space.isEmpty() ? simple : full) + "]";
        }
        String readerFull = space.isEmpty() ? reader : space + "." + reader;
        String inner = space;
        return new String[] { head(kind, simple, full, space, outer), head(kind, reader, readerFull, space, outer) + aliases,
            inner, full, readerFull };
    }

    String head(String kind, String simple, String full, String space, String outer) {
        if (space.equals(outer) && chance(50))
            return "\"type\":\"" + kind + "\",\"name\":" + quote(simple);
        if (!space.isEmpty() && chance(50))
            return "\"type\":\"" + kind + "\",\"name\":" + quote(full);
        return "\"type\":\"" + kind + "\",\"name\":" + quote(simple) + ",\"namespace\":" + quote(space);
    }

    Pair leaf(String both) { return leaf(both, both); }

    Pair leaf(String writer, String reader) {
        Pair pair = new Pair(writer, reader);
        pair.leaves.add("");
        return pair;
    }

    Pair enums(String space) {
        String[] heads = heads("enum", space);
        List<String> writer = new ArrayList<>(), reader = new ArrayList<>();
        for (int i = 0, cnt = 1 + random.nextInt(6); i < cnt; i++) writer.add(quote("S" + i));
        reader.addAll(writer);
        java.util.Collections.shuffle(reader, random);
        if (chance(50)) reader.add(random.nextInt(reader.size() + 1), quote("EXTRA"));
        String fallback = "";
        if (reader.size() > 1 && chance(40)) {
            reader.remove(random.nextInt(reader.size()));
            if (chance(80)) fallback = ",\"default\":" + reader.get(random.nextInt(reader.size()));
        }
        return leaf("{" + heads[0] + ",\"symbols\":" + writer + "}", "{" + heads[1] + ",\"symbols\":" + reader + fallback + "}");
    }

    Pair plain(String space) {
        int what = random.nextInt(100);
        if (what < 12) return enums(space);
        if (what < 22) {
            String[] heads = heads("fixed", space);
            int size = random.nextInt(20);
            return leaf("{" + heads[0] + ",\"size\":" + size + "}", "{" + heads[1] + ",\"size\":" + size + "}");
        }
        if (what < 42) {
            String[] types = any(PROMOTIONS).split(":");
            return leaf(quote(types[0]), quote(types[1]));
        }
        if (what < 45 && !mismatched) {
            mismatched = true;
            String[] types = any(MISMATCHES).split(":");
            return leaf(quote(types[0]), quote(types[1]));
        }
        if (what < 55) return leaf(any(LOGICAL));
        if (what < 60) return leaf("{\"type\":" + quote("long") + "}");
        return leaf(quote(any(PLAIN)));
    }

    /* A union of plain types, here or there or on both sides, with the branches in any order. */
    Pair union(String space) {
        List<String> types = new ArrayList<>(List.of(PLAIN));
        java.util.Collections.shuffle(types, random);
        List<String> writer = new ArrayList<>(), reader = new ArrayList<>();
        for (String type : types.subList(0, 1 + random.nextInt(4))) writer.add(quote(type));
        reader.addAll(writer);
        if (chance(40)) {
            Pair named = chance(50) ? enums(space) : plainFixed(space);
            writer.add(random.nextInt(writer.size() + 1), named.writer);
            reader.add(random.nextInt(reader.size() + 1), named.reader);
        }
        if (chance(50)) java.util.Collections.shuffle(reader, random);
        if (chance(30)) {
            String extra = quote(types.get(7));
            if (!reader.contains(extra)) reader.add(random.nextInt(reader.size() + 1), extra);
        }
        int shape = random.nextInt(10);
        if (shape == 0) return leaf(writer.get(0), reader.toString());
        if (shape == 1 && writer.size() == 1) return leaf(writer.toString(), reader.get(0));
        return leaf(writer.toString(), reader.toString());
    }

    Pair plainFixed(String space) {
        String[] heads = heads("fixed", space);
        int size = 1 + random.nextInt(9);
        return leaf("{" + heads[0] + ",\"size\":" + size + "}", "{" + heads[1] + ",\"size\":" + size + "}");
    }

    Pair any(String space, int depth) {
        int what = random.nextInt(100);
        if (depth > 3 || what < 45) return plain(space);
        if (what < 62) return union(space);
        if (what < 72) {
            Pair items = any(space, depth + 1);
            return new Pair("{\"type\":\"array\",\"items\":" + items.writer + "}", "{\"type\":\"array\",\"items\":" + items.reader + "}");
        }
        if (what < 80) {
            Pair values = any(space, depth + 1);
            return new Pair("{\"type\":\"map\",\"values\":" + values.writer + "}", "{\"type\":\"map\",\"values\":" + values.reader + "}");
        }
        Pair record = record(space, depth + 1);
        if (chance(50)) return record;
        boolean first = chance(70);
        Pair nullable = new Pair(first ? "[\"null\"," + record.writer + "]" : "[" + record.writer + ",\"null\"]",
                                 first ? "[\"null\"," + record.reader + "]" : "[" + record.reader + ",\"null\"]");
        nullable.leaves.addAll(record.leaves);
        return nullable;
    }

    /* A field that the reader alone has, with a default. */
    String added(String name, String space) {
        String[][] some = {
            { "\"string\"", "\"caf\\u00e9\"" }, { "\"int\"", "-7" }, { "\"long\"", "9007199254740993" }, { "\"boolean\"", "true" },
            { "\"float\"", "1.5" }, { "\"double\"", "-0.1" }, { "\"bytes\"", "\"\\u0000\\u00ffa\"" }, { "\"null\"", "null" },
            { "[\"null\",\"string\"]", "null" }, { "[\"string\",\"null\"]", "\"eu\"" }, { "[\"long\",\"null\"]", "12" },
            { "[\"null\",\"string\"]", "\"second\"" }, { "[\"null\",\"double\"]", "3" }, { "[\"null\",\"long\"]", "5000000000" },
            { "{\"type\":\"enum\",\"name\":\"" + name("D") + "\",\"symbols\":[\"A\",\"B\"]}", "\"B\"" },
            { "{\"type\":\"fixed\",\"name\":\"" + name("D") + "\",\"size\":2}", "\"\\u00ff\\u0001\"" } };
        String[] one = any(some);
        return "{\"name\":" + quote(name) + ",\"type\":" + one[0] + ",\"default\":" + one[1] + "}";
    }

    Pair record(String outer, int depth) {
        String[] heads = heads("record", outer);
        String space = heads[2];
        List<String> writer = new ArrayList<>(), reader = new ArrayList<>(), leaves = new ArrayList<>();
        for (int i = 0, cnt = 1 + random.nextInt(6); i < cnt; i++) {
            String name = name("f");
            Pair type = depth == 1 && chance(8)
                    ? new Pair("[\"null\"," + quote(heads[3]) + "]", "[\"null\"," + quote(heads[4]) + "]") // itself again
                    : any(space, depth);
            String readerName = name, alias = "";
            if (chance(25)) {
                readerName = name + "new";
                alias = ",\"aliases\":[" + (chance(30) ? "\"unused\"," : "") + quote(name) + "]";
            }
            writer.add("{\"name\":" + quote(name) + ",\"type\":" + type.writer + "}");
            if (cnt > 1 && chance(15)) continue;
            reader.add("{\"name\":" + quote(readerName) + ",\"type\":" + type.reader + alias + "}");
            for (String leaf : type.leaves) leaves.add(leaf.isEmpty() ? readerName : readerName + "." + leaf);
        }
        while (chance(30)) {
            String name = name("added");
            reader.add(added(name, space));
            leaves.add(name);
        }
        if (chance(50)) java.util.Collections.shuffle(reader, random);
        Pair pair = new Pair("{" + heads[0] + ",\"fields\":" + writer + "}", "{" + heads[1] + ",\"fields\":" + reader + "}");
        pair.leaves.addAll(leaves);
        return pair;
    }

    // ---- data ----------------------------------------------------------------------------------------------------

    String text() {
        StringBuilder out = new StringBuilder();
        for (int i = 0, cnt = random.nextInt(4) * random.nextInt(12); i < cnt; i++)
            out.appendCodePoint(chance(80) ? 'a' + random.nextInt(26) : any(new Integer[] { 0, 0xe9, 0x65e5, 0x1f600, 0x7c, 0x22 }));
        return out.toString();
    }

    long number() { return random.nextLong() >> random.nextInt(64); }

    Object datum(Schema schema, int depth) {
        switch (schema.getType()) {
        case NULL: return null;
        case BOOLEAN: return random.nextBoolean();
        case INT: return (int) (random.nextInt() >> random.nextInt(32));
        case LONG: return number();
        case FLOAT: return chance(10) ? any(new Float[] { Float.NaN, -0f, Float.MIN_VALUE, Float.POSITIVE_INFINITY })
                                      : Float.intBitsToFloat(random.nextInt(0x7f7fffff)) * (chance(50) ? 1 : -1);
        case DOUBLE: return chance(10) ? any(new Double[] { Double.NaN, -0d, Double.MIN_VALUE, 1e300 }) : random.nextGaussian() * number();
        case STRING: return text();
        case BYTES: return ByteBuffer.wrap(text().getBytes(StandardCharsets.UTF_8)); // may become a string
        case FIXED: {
            byte[] bytes = new byte[schema.getFixedSize()];
            random.nextBytes(bytes);
            return new GenericData.Fixed(schema, bytes);
        }
        case ENUM: return new GenericData.EnumSymbol(schema, schema.getEnumSymbols().get(random.nextInt(schema.getEnumSymbols().size())));
        case ARRAY: {
            GenericData.Array<Object> array = new GenericData.Array<>(4, schema);
            for (int i = 0, cnt = random.nextInt(depth > 6 ? 1 : 5); i < cnt; i++) array.add(datum(schema.getElementType(), depth + 1));
            return array;
        }
        case MAP: {
            Map<String, Object> map = new LinkedHashMap<>();
            for (int i = 0, cnt = random.nextInt(depth > 6 ? 1 : 4); i < cnt; i++) map.put("k" + i + text(), datum(schema.getValueType(), depth + 1));
            return map;
        }
        case RECORD: {
            GenericData.Record record = new GenericData.Record(schema);
            for (Schema.Field field : schema.getFields()) record.put(field.pos(), datum(field.schema(), depth + 1));
            return record;
        }
        case UNION: {
            List<Schema> types = schema.getTypes();
            if (depth > 6) for (Schema type : types) if (type.getType() == Schema.Type.NULL) return null;
            return datum(types.get(random.nextInt(types.size())), depth + 1);
        }
        default: throw new IllegalStateException(schema.toString());
        }
    }

    byte[] write(Schema schema, Object datum, int blockSize) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        EncoderFactory factory = new EncoderFactory();
        BinaryEncoder encoder = blockSize > 0 ? factory.configureBlockSize(blockSize).blockingBinaryEncoder(out, null)
                                              : factory.directBinaryEncoder(out, null);
        new GenericDatumWriter<Object>(schema).write(datum, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    // ---- what Java says -------------------------------------------------------------------------------------------

    static final Object ABSENT = new Object();

    record Found(Object value, Schema schema) {}

    Found find(Object value, Schema schema, String path) {
        for (String part : path.isEmpty() ? new String[0] : path.split("\\.")) {
            if (!(value instanceof GenericRecord record)) return new Found(ABSENT, null);
            schema = record.getSchema().getField(part).schema();
            value = record.get(part);
        }
        return new Found(value, schema);
    }

    static final Object UNREADABLE = new Object();

    static Object read(Schema writer, Schema reader, byte[] key) throws Exception {
        try {
            return new GenericDatumReader<Object>(writer, reader).read(null, DecoderFactory.get().binaryDecoder(key, null));
        } catch (AvroRuntimeException e) {
            return UNREADABLE;
        }
    }

    /* The schema with those fields alone that lie on the paths. */
    static Schema prune(Schema schema, List<String> paths) {
        if (paths.contains("")) return schema;
        if (schema.getType() == Schema.Type.UNION) {
            List<Schema> types = new ArrayList<>();
            for (Schema type : schema.getTypes()) types.add(prune(type, paths));
            return Schema.createUnion(types);
        }
        if (schema.getType() != Schema.Type.RECORD) return schema;
        Schema pruned = Schema.createRecord(schema.getName(), null, schema.getNamespace(), false);
        for (String alias : schema.getAliases()) pruned.addAlias(alias);
        List<Schema.Field> fields = new ArrayList<>();
        for (Schema.Field field : schema.getFields()) {
            List<String> rest = new ArrayList<>();
            for (String path : paths)
                if (path.equals(field.name())) rest.add("");
                else if (path.startsWith(field.name() + ".")) rest.add(path.substring(field.name().length() + 1));
            if (!rest.isEmpty()) fields.add(new Schema.Field(field, prune(field.schema(), rest)));
        }
        pruned.setFields(fields);
        return pruned;
    }

    static byte[] asJava(Object value) {
        if (value instanceof CharSequence) return new StringSerializer().serialize("t", value.toString());
        if (value instanceof Integer i) return new IntegerSerializer().serialize("t", i);
        if (value instanceof Long l) return new LongSerializer().serialize("t", l);
        if (value instanceof Float f) return new FloatSerializer().serialize("t", f);
        if (value instanceof Double d) return new DoubleSerializer().serialize("t", d);
        if (value instanceof Boolean b) return new BooleanSerializer().serialize("t", b);
        if (value instanceof ByteBuffer bytes) {
            byte[] out = new byte[bytes.remaining()];
            bytes.duplicate().get(out);
            return out;
        }
        if (value instanceof GenericData.Fixed fixed) return fixed.bytes();
        if (value instanceof GenericData.EnumSymbol symbol) return symbol.toString().getBytes(StandardCharsets.UTF_8);
        return null;
    }

    static String hex(byte[] bytes) {
        StringBuilder out = new StringBuilder();
        for (byte b : bytes) out.append(String.format("%02x", b & 0xff));
        return out.toString();
    }

    void count(String what) { tally.merge(what, 1, Integer::sum); }

    String expected(Object read, Schema reader, List<String> paths, boolean java) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (String path : paths) {
            Found found = find(read, reader, path);
            if (found.value == ABSENT) return "missing";
            byte[] bytes = java ? asJava(found.value) : write(found.schema, found.value, 0);
            if (bytes == null) return "missing";
            out.write(bytes);
        }
        return hex(out.toByteArray());
    }

    void judge(PrintStream out) throws Exception {
        names = 0;
        mismatched = false;
        String outer = "";
        Pair pair = chance(85) ? record(outer, 1) : chance(70) ? plain(outer) : union(outer);
        Schema writer, reader;
        try {
            writer = new Schema.Parser().parse(pair.writer);
            reader = new Schema.Parser().parse(pair.reader);
        } catch (AvroRuntimeException e) {
            count("refused by Java's parser");
            return;
        }
        if (pair.leaves.isEmpty()) {
            count("without a plain field");
            return;
        }
        if (!seen.add(pair.writer + "\t" + pair.reader)) {
            count("had before");
            return;
        }
        count("pairs");
        for (int i = 0; i < 2; i++) {
            byte[] key = write(writer, datum(writer, 0), chance(40) ? 64 + random.nextInt(64) : 0);
            Object whole = read(writer, reader, key);
            List<String> leaves = pair.leaves;
            for (int j = 0; j < 3; j++) {
                boolean java = chance(60);
                List<String> paths = new ArrayList<>();
                for (int k = 0, cnt = java ? 1 : 1 + random.nextInt(3); k < cnt; k++) {
                    String leaf = leaves.get(random.nextInt(leaves.size()));
                    if (!paths.contains(leaf)) paths.add(leaf);
                }
                // Java reads all fields or none; what it thinks of these ones it says by a schema that has no others.
                Schema narrow = whole == UNREADABLE ? prune(reader, paths) : reader;
                Object read = whole == UNREADABLE ? read(writer, narrow, key) : whole;
                String want = read == UNREADABLE ? "missing" : expected(read, narrow, paths, java);
                count(read == UNREADABLE ? "unreadable" : want.equals("missing") ? "missing" : java ? "as java" : "as avro");
                out.println(pair.writer + "\t" + pair.reader + "\t" + String.join(",", paths) + "\t" + (java ? "java" : "avro") + "\t"
                            + hex(key) + "\t" + want);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int pairs = Integer.parseInt(args[0]);
        AvroJudge judge = new AvroJudge(Long.parseLong(args[1]));
        PrintStream out = new PrintStream(new java.io.BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
        while (judge.tally.getOrDefault("pairs", 0) < pairs) judge.judge(out);
        out.flush();
        System.err.println(judge.tally);
    }
}
