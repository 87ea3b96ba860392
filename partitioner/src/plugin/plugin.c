/* The librdkafka edge. */
#include "keyroute.h"

__attribute__((visibility("default"))) int conf_init(void *conf, void **opaque, char *errstr, unsigned long size);

int conf_init(void *conf, void **opaque, char *errstr, unsigned long size)
{
        (void)conf, (void)opaque, (void)errstr, (void)size;
        return 0;
}
