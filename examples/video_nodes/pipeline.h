/* The pipeline: decode, resize, detect_motion, overlay_boxes, write_json, encode; for each frame.
 */
#ifndef VIDEO_NODES_PIPELINE_H
#define VIDEO_NODES_PIPELINE_H

#include "frame_pool.h"
#include "options.h"
#include "problem.h"

#include <stdint.h>

struct pipeline_result {
    int width, height; /* of the video that was written */
    int64_t frames;
    int64_t moving_frames; /* with a box */
    int64_t boxes;
    struct frame_pool_usage pool;
    int lost_frames; /* frames that were not returned to the pool */
    struct problem problem;
};

/* Returns 0, or -1 with result->problem set; then no output is left. */
int pipeline_run(const struct options *o, struct pipeline_result *result);

#endif
