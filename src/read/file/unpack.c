/* unpack.c: zlib, a piece at a time. A packed file may consist of several parts in a row, as `cat
 * a.gz b.gz` makes them. Zeros at its end are skipped: they fill up the blocks of tapes. */
#define ZLIB_CONST
#include "read/file/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "read/file/special_file.h"

enum { INPUT = 64 * 1024, ANY_HEADER = 32 }; /* zlib recognises its own header and gzip's */

struct plumb_unpack {
    const char *name;
    struct plumb_unpack_sum *sum;
    int fd; /* -1: bytes in memory */
    bool packed, has_zlib;
    bool whole; /* nothing of a part has been read that is not whole yet */
    bool ended; /* the file */
    const unsigned char *in;
    size_t left; /* of `in` */
    z_stream z;
    unsigned char input[]; /* of a file */
};

bool plumb_unpack_is_packed(const struct plumb_unpack *u)
{
    return u->packed;
}

void plumb_unpack_close(struct plumb_unpack *u)
{
    if (!u)
        return;
    if (u->has_zlib)
        inflateEnd(&u->z);
    if (u->fd >= 0)
        close(u->fd);
    free(u);
}

static int read_some(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                     plumb_error *err)
{
    ssize_t n;
    do
        n = read(u->fd, bytes, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", u->name, strerror(errno));
    u->sum->read += (uint64_t)n;
    u->ended = n == 0;
    *got = (size_t)n;
    return PLUMB_OK;
}

/* Moves the unread bytes to the front and reads more: at least two bytes, if the file has as
 * many. */
static int fill(struct plumb_unpack *u, plumb_error *err)
{
    int rc = PLUMB_OK;
    if (u->fd < 0)
        return PLUMB_OK;
    memmove(u->input, u->in, u->left);
    u->in = u->input;
    do {
        size_t got = 0;
        rc = read_some(u, u->input + u->left, INPUT - u->left, &got, err);
        u->left += got;
    } while (rc == PLUMB_OK && !u->ended && u->left < 2);
    return rc;
}

static int begin(struct plumb_unpack *u, plumb_error *err)
{
    int rc = u->has_zlib ? inflateReset(&u->z) : inflateInit2(&u->z, ANY_HEADER + MAX_WBITS);
    u->has_zlib |= rc == Z_OK;
    u->whole = false;
    return rc == Z_OK
               ? PLUMB_OK
               : plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", u->name);
}

int plumb_unpack_open(struct plumb_unpack **out, const char *path, struct plumb_unpack_sum *sum,
                      plumb_error *err)
{
    struct plumb_unpack *u = calloc(1, sizeof *u + INPUT);
    int rc = PLUMB_OK;
    if (!u)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
    *u = (struct plumb_unpack){.name = path, .sum = sum, .in = u->input, .whole = true};
    u->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (u->fd < 0)
        rc = plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                        "cannot read '%s': %s", path, strerror(errno));
    if (rc == PLUMB_OK)
        rc = plumb_file_ends(u->fd, path, err);
    if (rc == PLUMB_OK)
        rc = fill(u, err);
    u->packed = u->left >= 2 && u->in[0] == 0x1f && u->in[1] == 0x8b;
    if (rc == PLUMB_OK && u->packed)
        rc = begin(u, err);
    if (rc == PLUMB_OK)
        *out = u;
    else
        plumb_unpack_close(u);
    return rc;
}

int plumb_unpack_open_bytes(struct plumb_unpack **out, const void *bytes, size_t n,
                            const char *name, struct plumb_unpack_sum *sum, plumb_error *err)
{
    struct plumb_unpack *u = *out ? *out : calloc(1, sizeof *u);
    if (!u)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    *out = u;
    u->name = name;
    u->sum = sum;
    u->fd = -1;
    u->packed = u->ended = true;
    u->in = bytes;
    u->left = n;
    return begin(u, err);
}

/* ---- Unpacking ------------------------------------------------------------------------------ */

static int damaged(const struct plumb_unpack *u, const char *why, plumb_error *err)
{
    if (u->fd < 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is damaged: packets in it cannot be unpacked (%s)", u->name, why);
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is damaged before byte %" PRIu64 ": it cannot be unpacked (%s)",
                      u->name, u->sum->read - u->left, why);
}

static int too_short(const struct plumb_unpack *u, plumb_error *err)
{
    if (u->fd < 0)
        return damaged(u, "they end too early", err);
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is cut short: it ends within what is packed; zcat unpacks what is left "
                      "of it",
                      u->name);
}

/* Some of what is packed; *used of the input. */
static int unpack_some(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                       plumb_error *err)
{
    uInt in = u->left < UINT_MAX ? (uInt)u->left : UINT_MAX;
    uInt space = room < UINT_MAX ? (uInt)room : UINT_MAX;
    u->z.next_in = u->in;
    u->z.avail_in = in;
    u->z.next_out = bytes;
    u->z.avail_out = space;
    int status = inflate(&u->z, Z_NO_FLUSH);
    u->in += in - u->z.avail_in;
    u->left -= in - u->z.avail_in;
    *got = space - u->z.avail_out;
    u->sum->unpacked += *got;
    u->whole = status == Z_STREAM_END;
    if (status == Z_MEM_ERROR)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", u->name);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return damaged(u, u->z.msg ? u->z.msg : "it needs a dictionary", err);
    return PLUMB_OK;
}

static int check_sum(const struct plumb_unpack *u, plumb_error *err)
{
    const struct plumb_unpack_sum *s = u->sum;
    if (s->unpacked <= PLUMB_UNPACK_FREE || s->unpacked / PLUMB_UNPACK_TIMES <= s->read)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' unpacks to more than %d times its size, which no trace does: unpack it "
                      "yourself (gunzip) if it is one",
                      u->name, PLUMB_UNPACK_TIMES);
}

/* After a part: sets *more if another one begins. */
static int next_part(struct plumb_unpack *u, bool *more, plumb_error *err)
{
    int rc = PLUMB_OK;
    *more = false;
    for (;;) {
        while (u->left > 0 && *u->in == 0) {
            u->in++;
            u->left--;
        }
        *more = u->left > 0;
        if (*more || u->ended || (rc = fill(u, err)) < 0)
            break;
    }
    return rc == PLUMB_OK && *more ? begin(u, err) : rc;
}

static int read_packed(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                       plumb_error *err)
{
    int rc = PLUMB_OK;
    bool more = true;
    while (rc == PLUMB_OK && *got == 0) {
        if (u->whole && ((rc = next_part(u, &more, err)) < 0 || !more))
            break;
        if (u->left == 0 && !u->ended)
            rc = fill(u, err);
        bool last = u->left == 0;
        if (rc == PLUMB_OK)
            rc = unpack_some(u, bytes, room, got, err);
        if (rc == PLUMB_OK && last && *got == 0 && !u->whole)
            rc = too_short(u, err);
    }
    return rc == PLUMB_OK ? check_sum(u, err) : rc;
}

int plumb_unpack_read(struct plumb_unpack *u, void *bytes, size_t room, size_t *got,
                      plumb_error *err)
{
    *got = 0;
    if (u->packed)
        return read_packed(u, bytes, room, got, err);
    if (u->left == 0)
        return u->ended ? PLUMB_OK : read_some(u, bytes, room, got, err);
    *got = u->left < room ? u->left : room;
    memcpy(bytes, u->in, *got);
    u->in += *got;
    u->left -= *got;
    return PLUMB_OK;
}
