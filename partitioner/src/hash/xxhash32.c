/*
 * XXH32 with seed 0, unsigned: the default of kafka-rust (the crate kafka) and of its forks rustfs-kafka and kafkang. None
 * of them has an empty key: it becomes no key.
 */
#include "store.h"

#define XXH_INLINE_ALL /* header only: the plugin must not need one more library in its host */
#include <xxhash.h>

uint64_t kr_xxhash32(const void *key, size_t key_len)
{
        return XXH32(key_len ? key : "", key_len, 0);
}
