/** java.lang.String.hashCode before any sign rule, for the functions that start from it. */
#ifndef KR_JAVA_STRING_HASH_H
#define KR_JAVA_STRING_HASH_H

#include <stddef.h>
#include <stdint.h>

/** The 32 bits of hashCode() of the text whose UTF-8 the key is. */
uint32_t kr_java_string_hash_raw(const void *key, size_t key_len);

#endif
