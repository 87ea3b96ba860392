#include "canon.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL /* header only: the plugin must not need one more library in its host */
#include <xxhash.h>

struct kr_canon {
        XXH64_state_t state;
};

struct kr_canon *kr_canon_new(void)
{
        struct kr_canon *canon = malloc(sizeof(*canon));

        if (canon)
                XXH64_reset(&canon->state, 0);
        return canon;
}

void kr_canon_add_bytes(struct kr_canon *canon, const void *data, size_t len)
{
        unsigned char prefix[8];

        for (int i = 0; i < 8; i++)
                prefix[i] = (unsigned char)((uint64_t)len >> (8 * i));
        XXH64_update(&canon->state, prefix, sizeof(prefix));
        if (len)
                XXH64_update(&canon->state, data, len);
}

void kr_canon_add(struct kr_canon *canon, const char *fmt, ...)
{
        char item[256];
        va_list args;
        int len;

        va_start(args, fmt);
        len = vsnprintf(item, sizeof(item), fmt, args);
        va_end(args);
        /* Items are short by construction (names and numbers); a longer one would be cut the same way each time. */
        kr_canon_add_bytes(canon, item, len < (int)sizeof(item) ? (size_t)len : sizeof(item) - 1);
}

void kr_canon_finish(struct kr_canon *canon, char out[KR_FINGERPRINT_SIZE])
{
        snprintf(out, KR_FINGERPRINT_SIZE, "%016" PRIx64, (uint64_t)XXH64_digest(&canon->state));
        free(canon);
}
