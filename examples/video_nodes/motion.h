/* Finds what moved from one picture to the next, by the difference of their luma. */
#ifndef VIDEO_NODES_MOTION_H
#define VIDEO_NODES_MOTION_H

#include "picture.h"

enum { MOTION_CELL = 8, MOTION_MOST_BOXES = 64 };

struct box {
    int x, y, width, height; /* pixels, inside the picture */
    int cells;               /* that changed, of MOTION_CELL x MOTION_CELL pixels */
    int difference;          /* the largest of them, 1 to 255 */
};

struct motion;

/* For pictures of one size. A cell has changed when its mean luma differs by more than `threshold`;
 * boxes lie round at least `least_cells` of them that touch, corners included. Cell means are kept
 * in frames of `pool`. NULL when memory is short. */
struct motion *motion_open(struct frame_pool *pool, int width, int height, int threshold,
                           int least_cells);
void motion_close(struct motion *m);

/* Compares the picture with that of the previous call; in the first picture nothing has moved.
 * Returns the number of boxes in `boxes` [MOTION_MOST_BOXES], ordered by their first cell from the
 * top left, or -1 if the pool has no frame. Further boxes are left out. */
int motion_find(struct motion *m, const struct picture *p, struct box *boxes);

#endif
