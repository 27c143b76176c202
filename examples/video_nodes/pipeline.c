/* Owns the order of the nodes and the frame on its way through them. Each node is one function that
 * begins with its trace point; opening and closing are stages, because they have memory to look at
 * and run once. */
#include "pipeline.h"

#include "json_lines.h"
#include "motion.h"
#include "overlay.h"
#include "video_encoder.h"
#include "video_reader.h"

#include <plumb/plumb.h>

#include <libavutil/log.h>
#include <libswscale/swscale.h>

#include <inttypes.h>
#include <sys/stat.h>

/* The pool's bound: eight frames of 8K video are 400 MiB, and a damaged file may claim any size. */
enum { POOL_MIB = 2048, LEAKED_FRAMES = 3 };

struct pipeline {
    const struct options *options;
    struct frame_pool *pool;
    struct video_reader *reader;
    struct video_encoder *encoder;
    struct json_lines *json;
    struct motion *motion;
    struct SwsContext *scaler;
    AVFrame *decoded;
    AVRational rate;
    struct pipeline_result *result;
    struct problem *problem; /* the result's */
};

static int even(int64_t n)
{
    return (int)(n < 16 ? 16 : n > 16384 ? 16384 : n / 2 * 2);
}

/* A finished file takes the place of what is there: of an older one, not of a folder or a device.
 */
static int check_place(const char *path, struct problem *problem)
{
    struct stat there;

    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return problem_set(problem, "%s: is there and not a regular file", path);
    return 0;
}

static int open_all(struct pipeline *p)
{
    const struct options *o = p->options;
    struct pipeline_result *r = p->result;

    av_log_set_level(AV_LOG_QUIET); /* the problem is printed once, by this program */
    if (check_place(o->out_path, p->problem) < 0 || check_place(o->json_path, p->problem) < 0)
        return -1;
    p->pool = frame_pool_open((size_t)POOL_MIB << 20);
    p->decoded = av_frame_alloc();
    if (!p->pool || !p->decoded)
        return problem_set(p->problem, "out of memory");
    if (!(p->reader = video_reader_open(o->in_path, p->pool, p->problem)))
        return -1;
    if (video_reader_width(p->reader) <= 0 || video_reader_height(p->reader) <= 0)
        return problem_set(p->problem, "%s: does not tell the size of its frames", o->in_path);
    p->rate = video_reader_rate(p->reader);
    r->width = o->width;
    r->height =
        even((int64_t)o->width * video_reader_height(p->reader) / video_reader_width(p->reader));
    p->encoder = video_encoder_open(o->out_path, r->width, r->height, p->rate, p->problem);
    if (!p->encoder || !(p->json = json_lines_open(o->json_path, p->problem)))
        return -1;
    p->motion = motion_open(p->pool, r->width, r->height, o->threshold, o->least_cells);
    return p->motion ? 0 : problem_set(p->problem, "out of memory");
}

static int run_open(struct pipeline *p)
{
    PLUMB_STAGE(stage, "open");
    if (open_all(p) == 0)
        return 0;
    plumb_span_fail(stage, p->problem->text);
    return -1;
}

/* The next frame; after the last the first again where more are wanted than there are. */
static int next_frame(struct pipeline *p)
{
    int status = video_reader_next(p->reader, p->decoded, p->problem);

    if (status == 0 && p->result->frames == 0)
        return problem_set(p->problem, "%s: has no frames", p->options->in_path);
    if (status != 0 || p->options->frames == 0)
        return status;
    if (video_reader_rewind(p->reader, p->problem) < 0)
        return -1;
    status = video_reader_next(p->reader, p->decoded, p->problem);
    return status != 0 ? status
                       : problem_set(p->problem, "%s: had frames and has none from its start again",
                                     p->options->in_path);
}

/* 1, 0 at the end, -1. */
static int decode(struct pipeline *p)
{
    int status;

    PLUMB_SPAN_AS(span, "decode");
    status = next_frame(p);
    if (status == 0)
        plumb_span_abandon(span); /* no frame: a run that must not count */
    if (status < 0)
        plumb_span_fail(span, p->problem->text);
    return status;
}

static int resize(struct pipeline *p, struct picture *out)
{
    const struct pipeline_result *r = p->result;
    AVFrame *in = p->decoded;

    PLUMB_SPAN_AS(span, "resize");
    p->scaler = sws_getCachedContext(
        p->scaler, in->width, in->height, (enum AVPixelFormat)in->format, r->width, r->height,
        AV_PIX_FMT_YUV420P, SWS_BILINEAR | SWS_ACCURATE_RND | SWS_BITEXACT, NULL, NULL, NULL);
    if (!p->scaler)
        problem_set(p->problem, "%s: its pixel format cannot be converted", p->options->in_path);
    else if (picture_take(out, p->pool, r->width, r->height) < 0)
        problem_set(p->problem, "the frame pool has no room for %dx%d", r->width, r->height);
    if (p->problem->text[0]) {
        plumb_span_fail(span, p->problem->text);
        av_frame_unref(in);
        return -1;
    }
    sws_scale(p->scaler, (const uint8_t *const *)in->data, in->linesize, 0, in->height, out->plane,
              out->stride);
    av_frame_unref(in);
    if (p->options->leak && r->frames < LEAKED_FRAMES)
        frame_ref(out->frame);
    return 0;
}

static int detect_motion(struct pipeline *p, const struct picture *picture, struct box *boxes)
{
    int count;

    PLUMB_SPAN_AS(span, "detect_motion");
    count = motion_find(p->motion, picture, boxes);
    if (count < 0) {
        problem_set(p->problem, "the frame pool has no room for the cells of a frame");
        plumb_span_fail(span, p->problem->text);
    }
    return count;
}

static void draw_boxes(struct picture *picture, const struct box *boxes, int count)
{
    PLUMB_SPAN("overlay_boxes");
    overlay_boxes(picture, boxes, count);
}

static int write_json(struct pipeline *p, const struct box *boxes, int count)
{
    const int64_t frame = p->result->frames;

    PLUMB_SPAN_AS(span, "write_json");
    if (json_lines_write(p->json, frame,
                         av_rescale(frame, 1000 * (int64_t)p->rate.den, p->rate.num), boxes, count,
                         p->problem) == 0)
        return 0;
    plumb_span_fail(span, p->problem->text);
    return -1;
}

static int encode(struct pipeline *p, const struct picture *picture)
{
    PLUMB_SPAN_AS(span, "encode");
    if (video_encoder_frame(p->encoder, picture, p->problem) == 0)
        return 0;
    plumb_span_fail(span, p->problem->text);
    return -1;
}

/* Runs the nodes after decode on a frame. */
static int process(struct pipeline *p)
{
    struct picture picture;
    struct box boxes[MOTION_MOST_BOXES];
    int count, status = -1;

    if (resize(p, &picture) < 0)
        return -1;
    count = detect_motion(p, &picture, boxes);
    if (count >= 0) {
        draw_boxes(&picture, boxes, count);
        if (write_json(p, boxes, count) == 0)
            status = encode(p, &picture);
    }
    frame_unref(picture.frame);
    if (status == 0) {
        p->result->frames++;
        p->result->boxes += count;
        p->result->moving_frames += count > 0;
    }
    return status;
}

static int run_frames(struct pipeline *p)
{
    const int64_t wanted = p->options->frames;

    while (wanted == 0 || p->result->frames < wanted) {
        int status;
        PLUMB_STEP(p->result->frames);
        status = decode(p);
        if (status <= 0)
            return status;
        if (process(p) < 0)
            return -1;
    }
    return 0;
}

/* Completes the files where all went well, and gives everything back. */
static int run_close(struct pipeline *p, int status)
{
    PLUMB_STAGE(stage, "close");
    if (status == 0 && (video_encoder_finish(p->encoder, p->problem) < 0 ||
                        json_lines_finish(p->json, p->problem) < 0)) {
        plumb_span_fail(stage, p->problem->text);
        status = -1;
    }
    video_encoder_close(p->encoder);
    json_lines_close(p->json);
    motion_close(p->motion);
    av_frame_free(&p->decoded);
    video_reader_close(p->reader);
    sws_freeContext(p->scaler);
    if (p->pool)
        p->result->pool = frame_pool_usage(p->pool);
    p->result->lost_frames = frame_pool_close(p->pool);
    return status;
}

int pipeline_run(const struct options *o, struct pipeline_result *result)
{
    struct pipeline p = {.options = o, .result = result, .problem = &result->problem};
    const plumb_pair metadata[] = {{"video", o->in_path}, {NULL, NULL}};
    int status;

    *result = (struct pipeline_result){0};
    PLUMB_REQUEST(request, NULL, metadata);
    status = run_open(&p);
    if (status == 0)
        status = run_frames(&p);
    status = run_close(&p, status);
    if (status < 0)
        plumb_request_fail(request, result->problem.text);
    return status;
}
