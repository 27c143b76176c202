/* Owns the look of a box. Lines are two pixels wide and begin at even places, because two by two
 * pixels share their colour. */
#include "overlay.h"

#include <string.h>

static const uint8_t white[3] = {235, 128, 128};

/* All four are even. */
static void fill(struct picture *p, int x, int y, int width, int height)
{
    for (int plane = 0; plane < 3; plane++) {
        const int half = plane > 0;
        uint8_t *line =
            p->plane[plane] + (size_t)(y >> half) * (size_t)p->stride[plane] + (x >> half);
        for (int j = 0; j < height >> half; j++, line += p->stride[plane])
            memset(line, white[plane], (size_t)(width >> half));
    }
}

void overlay_boxes(struct picture *p, const struct box *boxes, int count)
{
    for (const struct box *b = boxes; b < boxes + count; b++) {
        fill(p, b->x, b->y, b->width, 2);
        fill(p, b->x, b->y + b->height - 2, b->width, 2);
        fill(p, b->x, b->y, 2, b->height);
        fill(p, b->x + b->width - 2, b->y, 2, b->height);
    }
}
