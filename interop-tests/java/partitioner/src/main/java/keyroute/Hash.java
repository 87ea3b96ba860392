package keyroute;

import java.util.Map;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Utils;

/** The functions of docs/policy-format.md, with their sign handling. Values are 0 .. 2^32 - 1. */
interface Hash {
    long of(byte[] data);

    Map<String, Hash> BY_NAME = Map.of(
        "murmur2", data -> Utils.murmur2(data) & 0x7fffffffL,
        "murmur2-unsigned", data -> Utils.murmur2(data) & 0xffffffffL,
        "crc32", Hash::crc32,
        "fnv1a-unsigned", data -> fnv1a(data) & 0xffffffffL,
        "fnv1a-masked", data -> fnv1a(data) & 0x7fffffffL,
        "fnv1a-abs", data -> Math.abs((long) fnv1a(data)));

    /** The highest value of a function, but for the one key in billions whose absolute value is 2^31. */
    static long highest(String name) {
        return name.endsWith("-unsigned") || name.equals("crc32") ? 0xffffffffL : 0x7fffffffL;
    }

    private static long crc32(byte[] data) {
        CRC32 crc = new CRC32();
        crc.update(data);
        return crc.getValue();
    }

    private static int fnv1a(byte[] data) {
        int h = 0x811c9dc5;
        for (byte b : data) {
            h = (h ^ (b & 0xff)) * 0x01000193;
        }
        return h;
    }
}
