/*
 * State files may be torn, or be something else. Whatever the bytes: refused, or read to their last one and no further. What is
 * random never fits its checksum, so half of the inputs are written by the tool itself and then cut or changed in one byte.
 */
#include "io/state_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_plainly(const char *path, const uint8_t *data, size_t size)
{
        FILE *file = fopen(path, "w");

        if (!file || fwrite(data, 1, size, file) != size || fclose(file))
                abort();
}

static void write_well(const char *path, const uint8_t *data, size_t size)
{
        struct rp_error err;
        struct rp_state_file *file = rp_state_create(path, &err);

        rp_state_put(file, data, size);
        if (rp_state_commit(file, &err) != RP_OK)
                abort();
}

static void damage(const char *path, unsigned how)
{
        struct stat st;
        int fd = open(path, O_RDWR);
        uint8_t byte;

        if (fd < 0 || fstat(fd, &st) || pread(fd, &byte, 1, how % st.st_size) != 1)
                abort();
        byte ^= (uint8_t)(1 + how % 255);
        if (how & 1 ? ftruncate(fd, how % st.st_size) != 0 : pwrite(fd, &byte, 1, how % st.st_size) != 1)
                abort();
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        enum { PLAIN, WELL, DAMAGED, KIND_CNT };
        static char path[64];
        struct rp_state_file *file = NULL;
        struct rp_error err = { .code = RP_OK };
        unsigned kind, how;
        size_t read = 0;
        uint8_t got[7];

        if (size < 3)
                return 0;
        if (!*path)
                snprintf(path, sizeof(path), "/dev/shm/keyroute-fuzz-state.%ld", (long)getpid());
        kind = data[0] % KIND_CNT;
        how = (unsigned)data[1] << 8 | data[2];
        data += 3;
        size -= 3;
        if (kind == PLAIN)
                write_plainly(path, data, size);
        else
                write_well(path, data, size);
        if (kind == DAMAGED)
                damage(path, how);
        if (rp_state_open(path, &file, &err) == RP_OK) {
                if (!file || kind == DAMAGED)
                        abort();
                while (kind == WELL && read < size) {
                        size_t len = size - read < sizeof(got) ? size - read : sizeof(got);

                        if (!rp_state_get(file, got, len) || memcmp(got, data + read, len))
                                abort();
                        read += len;
                }
                if (kind == WELL && rp_state_get(file, got, 1))
                        abort();
                rp_state_close(file);
        } else if (kind == WELL || file || !*err.text) {
                abort();
        }
        unlink(path);
        return 0;
}
