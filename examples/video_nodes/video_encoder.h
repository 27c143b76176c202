/* Writes pictures as H.264 in an mp4 file, through libx264 and libavformat. One thread only.
 *
 * The file appears under its name only when it is complete: until video_encoder_finish() it is
 * called "<path>.part". Equal pictures give equal bytes. */
#ifndef VIDEO_NODES_VIDEO_ENCODER_H
#define VIDEO_NODES_VIDEO_ENCODER_H

#include "picture.h"
#include "problem.h"

#include <libavutil/rational.h>

struct video_encoder;

/* NULL with the reason in `problem`. */
struct video_encoder *video_encoder_open(const char *path, int width, int height, AVRational rate,
                                         struct problem *problem);

/* Encodes a picture of that size; the encoder takes a reference for as long as it needs it. 0 or
 * -1. */
int video_encoder_frame(struct video_encoder *e, const struct picture *picture,
                        struct problem *problem);

/* Ends the stream and gives the file its name: 0 or -1. */
int video_encoder_finish(struct video_encoder *e, struct problem *problem);

/* Also removes the file when it was not finished. NULL is fine. */
void video_encoder_close(struct video_encoder *e);

#endif
