/* out.h: a buffer of the caller that encoders append to. They return true, or false with `used`
 * unchanged because the buffer is full: write it out, set `used` to 0, call again. */
#ifndef PLUMB_CODEC_OUT_H
#define PLUMB_CODEC_OUT_H

#include <stddef.h>

struct plumb_out {
    unsigned char *base;
    size_t size, used; /* bytes after `used` may be overwritten */
};

#endif
