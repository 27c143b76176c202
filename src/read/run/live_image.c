/* live_image.c: see live_image.h. */
#include "read/run/live_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "live/layout.h"

enum {
    TRIES = 2000,    /* to find an object unchanged; most need one */
    QUICK_TRIES = 8, /* without a pause in between */
    PAUSE_NS = 20000,
    LARGE = 8192,     /* objects from here on consist of parts that are published singly ... */
    LARGE_TRIES = 20, /* ... and are copied by lines if the whole never stands still */
    LINE = 64
};
#define ROOM_MOST (UINT64_C(1) << 42)

/* ---- Memory ---------------------------------------------------------------------------------- */

struct plumb_live_view plumb_live_image_view(struct plumb_live_image *image)
{
    return (struct plumb_live_view){image->base, image->bytes,
                                    (struct plumb_live_header *)(void *)image->base, &image->loader,
                                    0};
}

static bool make_room(struct plumb_live_image *image, uint64_t bytes)
{
    void *base;
    if (bytes <= image->room)
        return true;
    if (bytes > ROOM_MOST)
        return false;
    base = image->base ? mremap(image->base, image->room, bytes, MREMAP_MAYMOVE)
                       : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    image->base = base;
    image->room = bytes;
    return true;
}

/* The file grows by the objects that its process makes during the reading. */
static void follow_growth(struct plumb_live_image *image)
{
    struct stat st;
    size_t bytes;
    if (fstat(image->fd, &st) < 0 || st.st_size <= 0)
        return;
    bytes = (uint64_t)st.st_size < image->room ? (size_t)st.st_size : image->room;
    image->unsettled |=
        (uint64_t)st.st_size > image->room; /* the next try reserves more addresses */
    if (bytes > image->bytes)
        image->bytes = bytes;
}

void *plumb_live_image_at(struct plumb_live_image *image, uint64_t off, size_t bytes)
{
    struct plumb_live_view v = plumb_live_image_view(image);
    void *at = plumb_live_inside(&v, off, bytes);
    if (!at && off && off % 8 == 0) {
        follow_growth(image);
        v.bytes = image->bytes;
        at = plumb_live_inside(&v, off, bytes);
    }
    return at;
}

static bool make_spare(struct plumb_live_image *image, size_t bytes)
{
    unsigned char *spare;
    if (bytes <= image->spare_bytes)
        return true;
    if (!(spare = realloc(image->spare, bytes)))
        return false;
    image->spare = spare;
    image->spare_bytes = bytes;
    return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */

bool plumb_live_image_read(struct plumb_live_image *image, void *to, uint64_t off, size_t bytes)
{
    size_t have = 0;
    while (have < bytes && !image->failed) {
        ssize_t n = pread(image->fd, (unsigned char *)to + have, bytes - have, (off_t)(off + have));
        if (n > 0)
            have += (size_t)n;
        else if (n == 0 || errno != EINTR)
            image->failed = true;
    }
    return have == bytes;
}

bool plumb_live_image_fetch(struct plumb_live_image *image, uint64_t off, size_t bytes)
{
    void *to = plumb_live_image_at(image, off, bytes);
    return to && plumb_live_image_read(image, to, off, bytes);
}

bool plumb_live_image_put(struct plumb_live_image *image, uint64_t off, size_t bytes)
{
    if (plumb_map_put(&image->loaded, off, bytes) == PLUMB_OK)
        return true;
    image->failed = true;
    return false;
}

static void pause_after(int tries)
{
    struct timespec ts = {0, PAUSE_NS};
    if (tries >= QUICK_TRIES)
        nanosleep(&ts, NULL);
}

/* Copies an object again until it does not differ from the copy before. */
static bool stands_still(struct plumb_live_image *image, uint64_t off, size_t bytes, int tries)
{
    unsigned char *copy = image->base + off;
    for (int i = 0; i < tries; i++) {
        if (!plumb_live_image_read(image, image->spare, off, bytes))
            return false;
        if (memcmp(copy, image->spare, bytes) == 0)
            return true;
        memcpy(copy, image->spare, bytes);
        pause_after(i);
    }
    return false;
}

/* The first line of such an object has the number that is 0 while the rest changes. */
static bool settle_lines(struct plumb_live_image *image, uint64_t off, size_t bytes)
{
    unsigned char first[LINE];
    for (int i = 0; i < LARGE_TRIES && !image->failed; i++) {
        for (size_t at = 0; at < bytes; at += LINE)
            stands_still(image, off + at, bytes - at < LINE ? bytes - at : LINE, QUICK_TRIES);
        if (plumb_live_image_read(image, first, off, sizeof first) &&
            memcmp(first, image->base + off, sizeof first) == 0)
            return true;
    }
    return !image->failed;
}

static bool settle(struct plumb_live_image *image, uint64_t off, size_t bytes)
{
    if (bytes < LARGE)
        return stands_still(image, off, bytes, TRIES);
    return stands_still(image, off, bytes, LARGE_TRIES) || settle_lines(image, off, bytes);
}

/* All elements at once, and the few that have changed in between singly. */
static bool settle_each(struct plumb_live_image *image, uint64_t off, size_t n, size_t bytes)
{
    unsigned char *same = calloc(n, 1);
    bool settled = same && plumb_live_image_read(image, image->spare, off, n * bytes);
    for (size_t i = 0; settled && i < n; i++)
        same[i] = memcmp(image->base + off + i * bytes, image->spare + i * bytes, bytes) == 0;
    for (size_t i = 0; settled && i < n; i++)
        settled = same[i] || settle(image, off + i * bytes, bytes);
    free(same);
    return settled;
}

static bool load(struct plumb_live_loader *self, uint64_t off, size_t n, size_t bytes, bool words)
{
    struct plumb_live_image *image = (struct plumb_live_image *)(void *)self;
    size_t all = n * bytes;
    if (plumb_map_get(&image->loaded, off) >= all)
        return true;
    if (!all || !plumb_live_image_fetch(image, off, all))
        return false;
    if (!words && (!make_spare(image, all) || !settle_each(image, off, n, bytes))) {
        image->unsettled = true;
        return false;
    }
    return plumb_live_image_put(image, off, all);
}

/* ---- The header ------------------------------------------------------------------------------ */

/* Its anchors are of one moment; its other words stand for themselves. */
static int load_header(struct plumb_live_image *image, plumb_error *err)
{
    enum {
        FROM = offsetof(struct plumb_live_header, start),
        TO = offsetof(struct plumb_live_header, told_tick_ns)
    };
    const struct plumb_live_header *h;
    struct stat st;
    if (fstat(image->fd, &st) < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read it: %s", strerror(errno));
    if (st.st_size < (off_t)sizeof *h || (size_t)st.st_size < image->bytes)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "cut short");
    if (!make_room(image, (uint64_t)st.st_size) || !make_spare(image, sizeof *h))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a copy of its %lld bytes",
                          (long long)st.st_size);
    image->bytes = (size_t)st.st_size;
    h = (const struct plumb_live_header *)(const void *)image->base;
    if (!plumb_live_image_read(image, image->base, 0, sizeof *h))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "cut short");
    if (h->magic != PLUMB_LIVE_MAGIC || h->version != PLUMB_LIVE_VERSION ||
        h->header_bytes != sizeof *h)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "not of this version of plumb: read it with the plumb that records it");
    /* Addresses up to its largest size: then nothing moves during a reading. */
    make_room(image, h->mapped_bytes);
    if (!stands_still(image, FROM, TO - FROM, TRIES))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "damaged: its clock never stands still");
    return PLUMB_OK;
}

int plumb_live_image_begin(struct plumb_live_image *image, plumb_error *err)
{
    plumb_map_clear(&image->loaded);
    image->failed = image->unsettled = false;
    image->bytes = 0;
    return load_header(image, err);
}

int plumb_live_image_again(struct plumb_live_image *image, plumb_error *err)
{
    const struct plumb_live_header *h = (const struct plumb_live_header *)(const void *)image->base;
    uint64_t threads = h->thread_off;
    int rc = load_header(image, err);
    if (rc == PLUMB_OK)
        ((struct plumb_live_header *)(void *)image->base)->thread_off = threads;
    return rc;
}

void plumb_live_image_init(struct plumb_live_image *image, int fd)
{
    *image = (struct plumb_live_image){.loader = {load}, .fd = fd};
}

void plumb_live_image_fini(struct plumb_live_image *image)
{
    if (image->base)
        munmap(image->base, image->room);
    if (image->fd >= 0)
        close(image->fd);
    plumb_map_fini(&image->loaded);
    free(image->spare);
    *image = (struct plumb_live_image){.fd = -1};
}
