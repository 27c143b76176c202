/* Draws boxes into a picture. */
#ifndef VIDEO_NODES_OVERLAY_H
#define VIDEO_NODES_OVERLAY_H

#include "motion.h"

/* White lines of two pixels along the inside of each box. Nobody else may hold the picture's frame
 * and look at it meanwhile. */
void overlay_boxes(struct picture *p, const struct box *boxes, int count);

#endif
