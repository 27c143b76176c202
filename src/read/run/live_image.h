/* live_image.h: the mapping of a process that still writes to it, as a private copy that is
 * loaded object by object. The copy has the offsets of the mapping, so every reader of mappings
 * works on it (live/view.h).
 *
 * The file is read, never mapped: a file that is cut short while it is mapped raises SIGBUS in
 * the reader. A read costs 0.3 us.
 *
 * An object is copied twice, until both copies are equal. No word goes back to an earlier value
 * without another one that only grows, so between the two copies the object was as copied. The
 * data of threads changes too fast for that; live_thread.h copies it by the number of the last
 * fold.
 *
 * One thread at a time. Writes to nothing but its own memory. */
#ifndef PLUMB_READ_RUN_LIVE_IMAGE_H
#define PLUMB_READ_RUN_LIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "live/view.h"
#include <plumb/error.h>

struct plumb_live_image {
    struct plumb_live_loader loader; /* the first member */
    int fd;
    unsigned char *base;
    size_t bytes;            /* of the file, as of this reading */
    size_t room;             /* at `base` */
    struct plumb_map loaded; /* offset to bytes, of this reading */
    unsigned char *spare;    /* the second copy of an object */
    size_t spare_bytes;
    bool failed;    /* the file could not be read, or has become shorter */
    bool unsettled; /* an object changed too fast to be copied */
};

/* Takes the descriptor, also on errors. */
void plumb_live_image_init(struct plumb_live_image *image, int fd);
void plumb_live_image_fini(struct plumb_live_image *image);

/* Begins a reading: forgets what was loaded, and loads the header. Errors: PLUMB_ERR_FORMAT: not a
 * mapping of this version, or cut short; PLUMB_ERR_MEMORY, PLUMB_ERR_IO. */
int plumb_live_image_begin(struct plumb_live_image *image, plumb_error *err);
/* Loads the header again, with what the file has become longer by, and keeps the list of threads.
 * The addresses of objects may change. Errors as above. */
int plumb_live_image_again(struct plumb_live_image *image, plumb_error *err);

struct plumb_live_view plumb_live_image_view(struct plumb_live_image *image);

/* Reads bytes of the file to `to`. False: they are not all there, and `failed` is set. */
bool plumb_live_image_read(struct plumb_live_image *image, void *to, uint64_t off, size_t bytes);
/* Returns where the object lies in the copy, or NULL; loads nothing. */
void *plumb_live_image_at(struct plumb_live_image *image, uint64_t off, size_t bytes);
/* Loads an object as it is now, however often it changes. False: as for plumb_live_image_read(). */
bool plumb_live_image_fetch(struct plumb_live_image *image, uint64_t off, size_t bytes);
/* Marks an object as loaded: it stays as it is during this reading. */
bool plumb_live_image_put(struct plumb_live_image *image, uint64_t off, size_t bytes);

#endif
