package keyroute;

import java.io.ByteArrayOutputStream;
import java.util.List;

/** Finding and joining. */
final class Bytes {
    private Bytes() {
    }

    /** @return the first place at or behind `from`, or -1 */
    static int find(byte[] in, byte[] what, int from) {
        for (int i = from; i <= in.length - what.length; i++) {
            int j = 0;
            while (j < what.length && in[i + j] == what[j]) {
                j++;
            }
            if (j == what.length) {
                return i;
            }
        }
        return -1;
    }

    static byte[] join(List<byte[]> parts, byte[] delimiter) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < parts.size(); i++) {
            if (i > 0) {
                out.writeBytes(delimiter);
            }
            out.writeBytes(parts.get(i));
        }
        return out.toByteArray();
    }
}
