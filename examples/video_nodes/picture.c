/* Owns how a picture lies in its frame: the three planes one after the other, each line aligned for
 * vector instructions. */
#include "picture.h"

enum { LINE_ALIGNMENT = 32 };

static size_t line_bytes(int width)
{
    return ((size_t)width + LINE_ALIGNMENT - 1) / LINE_ALIGNMENT * LINE_ALIGNMENT;
}

int picture_take(struct picture *out, struct frame_pool *pool, int width, int height)
{
    const size_t luma = line_bytes(width) * (size_t)height;
    const size_t chroma = line_bytes(width / 2) * (size_t)(height / 2);
    struct frame *frame = frame_pool_take(pool, luma + 2 * chroma);

    if (!frame)
        return -1;
    *out = (struct picture){
        .width = width,
        .height = height,
        .plane = {frame->data, frame->data + luma, frame->data + luma + chroma},
        .stride = {(int)line_bytes(width), (int)line_bytes(width / 2), (int)line_bytes(width / 2)},
        .frame = frame,
    };
    return 0;
}
