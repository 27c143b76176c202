/* Draws boxes into a picture. */
#ifndef VIDEO_NODES_OVERLAY_H
#define VIDEO_NODES_OVERLAY_H

#include "motion.h"

/* Draws white lines of two pixels along the inside of each box. The caller has the only reference
 * to the frame of the picture. */
void overlay_boxes(struct picture *p, const struct box *boxes, int count);

#endif
