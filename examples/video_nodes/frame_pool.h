/* The frame pool: memory for frames, handed out by reference count and reported to plumb as the
 * pool "frames" of device "cpu".
 *
 * Memory is reserved in segments of FRAME_POOL_SLOTS slots of one size and kept until the pool is
 * closed, so that a pipeline in its stride allocates nothing. One thread only. */
#ifndef VIDEO_NODES_FRAME_POOL_H
#define VIDEO_NODES_FRAME_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { FRAME_POOL_SLOTS = 8, FRAME_POOL_ALIGNMENT = 64 };

struct frame_pool;

struct frame {
    uint8_t *data; /* aligned to FRAME_POOL_ALIGNMENT; undefined content */
    size_t bytes;
    int refs;
    struct frame_pool *pool;
};

struct frame_pool_usage {
    int segments;
    size_t reserved_bytes;
    int held, most_held; /* frames */
    uint64_t taken;      /* frames handed out so far */
};

/* At most `most_bytes` are reserved. NULL when memory is short. */
struct frame_pool *frame_pool_open(size_t most_bytes);

/* Frees all memory, also that of frames that still have references, and returns the number of those
 * frames. NULL is fine. */
int frame_pool_close(struct frame_pool *pool);

struct frame_pool_usage frame_pool_usage(const struct frame_pool *pool);

/* A frame of at least `bytes` with one reference; NULL when the pool is at its bound or memory is
 * short. */
struct frame *frame_pool_take(struct frame_pool *pool, size_t bytes);

/* Adds a reference. Returns `frame`. */
struct frame *frame_ref(struct frame *frame);

/* Removes a reference; the last one returns the frame to the pool. NULL is fine. */
void frame_unref(struct frame *frame);

#endif
