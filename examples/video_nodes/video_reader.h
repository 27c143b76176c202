/* Reads the frames of a video, through libavformat and libavcodec. One thread only. */
#ifndef VIDEO_NODES_VIDEO_READER_H
#define VIDEO_NODES_VIDEO_READER_H

#include "frame_pool.h"
#include "problem.h"

#include <libavutil/frame.h>
#include <libavutil/rational.h>

struct video_reader;

/* The decoder takes its frames from `pool`, which must outlive the reader and every frame. NULL
 * with the reason in `problem`. */
struct video_reader *video_reader_open(const char *path, struct frame_pool *pool,
                                       struct problem *problem);
/* NULL is fine. */
void video_reader_close(struct video_reader *r);

/* As stored in the file. */
int video_reader_width(const struct video_reader *r);
int video_reader_height(const struct video_reader *r);

/* Frames per second; above 0. */
AVRational video_reader_rate(const struct video_reader *r);

/* The next frame, to be unreferenced by the caller: 1, or 0 at the end, or -1 (damaged, cut short,
 * pool empty). */
int video_reader_next(struct video_reader *r, AVFrame *out, struct problem *problem);

/* Goes back to the first frame: 0 or -1. */
int video_reader_rewind(struct video_reader *r, struct problem *problem);

#endif
