/* Writes frames as H.264 in an mp4 file, through libswscale, libx264 and libavformat.
 *
 * The file appears under its name only when it is complete: until video_writer_finish() it is
 * called "<path>.part". Equal frames give equal bytes. */
#ifndef TEXT_TO_VIDEO_VIDEO_WRITER_H
#define TEXT_TO_VIDEO_VIDEO_WRITER_H

#include <stdint.h>

struct video_writer;

/* Width and height are even. Every function below returns 0, or -1 with the reason for
 * video_writer_error(). Returns NULL only when memory is short. */
struct video_writer *video_writer_open(const char *path, int width, int height, int fps);

/* The first error, or "". */
const char *video_writer_error(const struct video_writer *w);

/* `rgb` is [height][width][3]. */
int video_writer_frame(struct video_writer *w, const uint8_t *rgb);

/* Ends the stream and gives the file its name. */
int video_writer_finish(struct video_writer *w);

/* Also removes the file when it was not finished. NULL is fine. */
void video_writer_close(struct video_writer *w);

#endif
