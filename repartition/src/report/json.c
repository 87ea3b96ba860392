#include "report/json.h"

#include "base64.h"
#include "report/key_json.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>

json_t *rp_json_time(int64_t ms)
{
        /* Past the year 9999 there is no such text, and a producer's nonsense is no time. */
        return ms < 0 || ms > 253402300799999 ? json_null() : json_string(rp_text_time_ms(ms).s);
}

json_t *rp_json_share(double share)
{
        return json_real(round(share * 1e6) / 1e6);
}

void rp_json_set_key(json_t *object, const void *key, size_t key_len)
{
        char *base64 = malloc(rp_base64_encoded_size(key_len) + 1);

        if (!base64)
                abort();
        rp_base64_encode(key, key_len, base64);
        json_object_set_new(object, "key", json_string(base64));
        free(base64);
        if (rp_is_printable(key, key_len))
                json_object_set_new(object, "key_text", json_stringn(key, key_len));
}

void rp_json_print(json_t *object, FILE *out)
{
        /* 15 digits: what was rounded to six decimals prints as six decimals. */
        if (json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) && !ferror(out))
                abort(); /* out of memory; what cannot be written is for whoever flushes the stream to tell */
        fputc('\n', out);
        json_decref(object);
}
