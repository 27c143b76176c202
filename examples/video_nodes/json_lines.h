/* Writes the boxes that were found as JSON, one object for each frame and line. As in
 * video_encoder.h, the file is "<path>.part" until json_lines_finish(), and equal input gives equal
 * bytes. */
#ifndef VIDEO_NODES_JSON_LINES_H
#define VIDEO_NODES_JSON_LINES_H

#include "motion.h"
#include "problem.h"

struct json_lines;

/* NULL with the reason in `problem`. */
struct json_lines *json_lines_open(const char *path, struct problem *problem);

/* 0 or -1. */
int json_lines_write(struct json_lines *j, int64_t frame, int64_t time_ms, const struct box *boxes,
                     int count, struct problem *problem);

/* 0 or -1. */
int json_lines_finish(struct json_lines *j, struct problem *problem);

/* Also removes the file when it was not finished. NULL is fine. */
void json_lines_close(struct json_lines *j);

#endif
