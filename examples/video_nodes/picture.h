/* Pictures in frames of the pool: YUV 4:2:0, 8 bits. */
#ifndef VIDEO_NODES_PICTURE_H
#define VIDEO_NODES_PICTURE_H

#include "frame_pool.h"

struct picture {
    int width, height; /* even */
    uint8_t *plane[3]; /* Y, U, V */
    int stride[3];     /* bytes from line to line */
    struct frame *frame;
};

/* Returns 0 and a picture that holds one reference to its frame, or -1 when the pool has none. */
int picture_take(struct picture *out, struct frame_pool *pool, int width, int height);

#endif
