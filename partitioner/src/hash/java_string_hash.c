/*
 * java.lang.String.hashCode over the text that the key's bytes are as UTF-8: h = 31 h + unit for each UTF-16 unit
 * (Java SE, String).
 */
#include "hash.h"
#include "java_string_hash.h"
#include "utf16.h"

uint32_t kr_java_string_hash_raw(const void *key, size_t key_len)
{
        const unsigned char *s = key;
        uint32_t h = 0;
        size_t used;

        for (size_t i = 0; i < key_len; i += used) {
                uint16_t units[2];
                int cnt = kr_utf16_units(kr_utf8_next(s + i, key_len - i, &used), units);

                for (int u = 0; u < cnt; u++)
                        h = 31 * h + units[u];
        }
        return h;
}

/** |h| with MIN as 0, as Kafka's Scala producer and Spring Cloud Stream reduce it. */
uint64_t kr_java_string_hash(const void *key, size_t key_len)
{
        return kr_sign_abs_min0(kr_java_string_hash_raw(key, key_len));
}

/** Pulsar's JavaStringHash: the sign bit cleared. */
uint64_t kr_java_string_hash_masked(const void *key, size_t key_len)
{
        return kr_sign_mask(kr_java_string_hash_raw(key, key_len));
}
