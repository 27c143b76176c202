/* unpack.h: the bytes of a file, unpacked as they are read if gzip packed them. The first bytes of
 * the file decide that, not its name. Also unpacks bytes in memory that zlib packed, within a file.
 *
 * Memory: the window, 64 KiB, and zlib's own. A very large output of a very small input is not a
 * trace: past PLUMB_UNPACK_FREE bytes, a file that unpacks to more than PLUMB_UNPACK_TIMES its own
 * size is refused. This also bounds the memory of a caller that keeps the unpacked bytes. One
 * thread at a time. */
#ifndef PLUMB_READ_FILE_UNPACK_H
#define PLUMB_READ_FILE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

#define PLUMB_UNPACK_FREE ((uint64_t)64 << 20)
#define PLUMB_UNPACK_TIMES 200

/* Of a file and everything packed within it; zero at first. */
struct plumb_unpack_sum {
    uint64_t read;     /* bytes of the file */
    uint64_t unpacked; /* bytes that came out of packed ones */
};

struct plumb_unpack;

/* `path` and `sum` must live as long as *out, which the caller closes with plumb_unpack_close().
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY. */
int plumb_unpack_open(struct plumb_unpack **out, const char *path, struct plumb_unpack_sum *sum,
                      plumb_error *err);
/* Opens the `n` packed bytes of a file called `name`. bytes, name and `sum` must live as long as
 * *out is read. *out is NULL, or a result of an earlier call, which is used again. The caller
 * closes it in any case, also after an error, PLUMB_ERR_MEMORY. */
int plumb_unpack_open_bytes(struct plumb_unpack **out, const void *bytes, size_t n,
                            const char *name, struct plumb_unpack_sum *sum, plumb_error *err);
/* NULL is fine. */
void plumb_unpack_close(struct plumb_unpack *u);

bool plumb_unpack_is_packed(const struct plumb_unpack *u);

/* Reads up to `room` bytes (at least 1); *got is 0 at the end.
 *   errors  PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 * PLUMB_ERR_FORMAT: the packed bytes are damaged, end too early, or unpack to too many. */
int plumb_unpack_read(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                      plumb_error *err);

#endif
