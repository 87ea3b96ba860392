/** The frames that schema registries' serializers put before a key's payload. */
#ifndef KR_FRAME_H
#define KR_FRAME_H

#include "key.h"

/** What stands before the payload. */
struct kr_frame {
        size_t len;               /* bytes of the frame; 0 when there is none */
        int64_t id;               /* of a numbered schema; -1 for a GUID */
        unsigned char guid[16];   /* of a GUID frame */
};

/**
 * Looks whether bytes begin with a frame: magic 0 and an id of id_len bytes (Confluent: 4; Apicurio's older form: 8),
 * or magic 1 and a 16-byte GUID. An id of 0 or below is no schema's; a GUID must carry a version and variant of
 * RFC 4122. These signs can also stand in a key that is no frame: only known ids make it sure.
 */
struct kr_frame kr_frame_sniff(struct kr_bytes bytes, size_t id_len);

#endif
