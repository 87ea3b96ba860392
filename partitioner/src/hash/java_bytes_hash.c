/*
 * java.util.Arrays.hashCode(byte[]): h = 31 h + byte, bytes signed, from 1 (Java SE, Arrays). Reduced by |h| with MIN
 * as 0, as the ByteArrayPartitioner of Kafka's Scala producer does.
 */
#include "hash.h"

uint64_t kr_java_bytes_hash(const void *key, size_t key_len)
{
        const signed char *byte = key;
        uint32_t h = 1;

        while (key_len-- > 0)
                h = 31 * h + (uint32_t)*byte++;
        return kr_sign_abs_min0(h);
}
