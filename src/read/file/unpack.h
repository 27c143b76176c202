/* unpack.h: the bytes of a file, unpacked as they are read where gzip packed them, which its first
 * bytes tell, whatever it is called. And bytes in memory that zlib packed, within a file.
 *
 * Memory is the window's, 64 KiB and zlib's. What packs a great deal into very little is no trace:
 * past PLUMB_UNPACK_FREE bytes, a file that unpacks to more than PLUMB_UNPACK_TIMES its own size is
 * refused, so that whoever keeps what is unpacked keeps no more than that. One thread at a time. */
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

/* `path` and `sum` must live as long as *out, which is ended with plumb_unpack_close().
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY. */
int plumb_unpack_open(struct plumb_unpack **out, const char *path, struct plumb_unpack_sum *sum,
                      plumb_error *err);
/* What is packed into `n` bytes of a file called `name`; bytes, name and `sum` must live as long as
 * it is read. *out is NULL, or what was opened so before, which is used again; it is to be closed
 * after an error, PLUMB_ERR_MEMORY, too. */
int plumb_unpack_open_bytes(struct plumb_unpack **out, const void *bytes, size_t n,
                            const char *name, struct plumb_unpack_sum *sum, plumb_error *err);
/* NULL is fine. */
void plumb_unpack_close(struct plumb_unpack *u);

bool plumb_unpack_is_packed(const struct plumb_unpack *u);

/* Up to `room` bytes, which is not 0; *got is 0 where they end.
 *   errors  PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 *           PLUMB_ERR_FORMAT: what is packed is damaged, ends too early, or is far too much. */
int plumb_unpack_read(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                      plumb_error *err);

#endif
