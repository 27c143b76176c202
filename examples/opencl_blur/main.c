/* opencl_blur: blurs the frames of a video on an OpenCL device. README.md tells what it is for. */
#include "blur.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlpack/dlpack.h>
#include <plumb/plumb.h>

#include <video_nodes/video_reader.h>

enum { THREADS_MAX = 16, JOBS = 2 };

struct options {
    const char *video, *out;
    int frames, radius, threads, out_of_order, reference;
};

/* The data that the threads share. */
struct work {
    struct options o;
    struct blur_shape shape;
    struct blur_device *device; /* NULL: the reference */
    struct frame_pool *pool;
    struct video_reader *video;
    FILE *out;
    long first;           /* where the first frame begins in it */
    pthread_mutex_t lock; /* all below, the video and the file */
    int next;             /* frame to be read */
    int ended;
    struct problem problem;
};

/* A picture on its way through a job. */
struct picture {
    struct blur_job *job;
    uint8_t *in, *out;
    int frame; /* -1: none */
};

/* ---- Frames ---------------------------------------------------------------------------------- */

static void pack(uint8_t *out, const AVFrame *f, const struct blur_shape *s)
{
    for (int i = 0; i < BLUR_PLANES; i++) {
        const struct blur_plane p = blur_plane(s, i);
        for (int y = 0; y < p.height; y++)
            memcpy(out + p.offset + y * p.width, f->data[i] + y * f->linesize[i], (size_t)p.width);
    }
}

/* The next frame into `p->in`, its number into `p->frame`; -1: there is none, or another thread
 * failed. */
static void take_frame(struct work *w, struct picture *p)
{
    AVFrame *f = av_frame_alloc();
    PLUMB_SPAN("decode");
    p->frame = -1;
    pthread_mutex_lock(&w->lock);
    if (!f)
        problem_set(&w->problem, "out of memory");
    else if (!w->ended && !w->problem.text[0] && w->next < w->o.frames &&
             video_reader_next(w->video, f, &w->problem) > 0) {
        if (f->format != AV_PIX_FMT_YUV420P && f->format != AV_PIX_FMT_YUVJ420P)
            problem_set(&w->problem, "%s: its pixels are not YUV 4:2:0", w->o.video);
        else
            p->frame = w->next++;
    } else {
        w->ended = 1;
    }
    if (p->frame >= 0)
        pack(p->in, f, &w->shape);
    av_frame_free(&f);
    pthread_mutex_unlock(&w->lock);
}

/* In YUV4MPEG2 each frame has its place. */
static void put_frame(struct work *w, const struct picture *p)
{
    static const char head[] = "FRAME\n";
    const size_t bytes = blur_picture_bytes(&w->shape);
    PLUMB_SPAN("write");
    pthread_mutex_lock(&w->lock);
    if (fseek(w->out, w->first + p->frame * (long)(bytes + sizeof(head) - 1), SEEK_SET) < 0 ||
        fwrite(head, sizeof(head) - 1, 1, w->out) != 1 || fwrite(p->out, bytes, 1, w->out) != 1)
        problem_set(&w->problem, "%s: cannot be written: %s", w->o.out, strerror(errno));
    pthread_mutex_unlock(&w->lock);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void fail(struct work *w, const struct problem *problem)
{
    pthread_mutex_lock(&w->lock);
    problem_set(&w->problem, "%s", problem->text);
    pthread_mutex_unlock(&w->lock);
}

/* The signature of a stage, with which stages.c runs it alone. */
static void tell_signature(plumb_span stage, const struct work *w, const struct picture *p)
{
    const struct blur_shape *s = &w->shape;
    int64_t bytes = (int64_t)blur_picture_bytes(s);
    DLTensor picture = {
        .data = p->in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = &bytes};
    char config[64];
    snprintf(config, sizeof config, "%d %d %d", s->width, s->height, s->radius);
    plumb_stage_metadata(stage, "stage_config", plumb_value_str(config));
    plumb_stage_input(stage, "picture", &picture);
}

static int launch(const struct work *w, struct picture *p, struct problem *problem)
{
    PLUMB_STAGE(stage, "blur");
    tell_signature(stage, w, p);
    return blur_launch(p->job, p->in, p->out, problem);
}

static int finish(struct picture *p, struct problem *problem)
{
    PLUMB_STAGE(stage, "wait");
    return blur_wait(p->job, problem);
}

static void blur_here(struct work *w, struct picture *p)
{
    uint8_t *scratch = malloc(blur_picture_bytes(&w->shape));
    PLUMB_STAGE(stage, "reference");
    tell_signature(stage, w, p);
    if (scratch)
        blur_reference(&w->shape, p->in, p->out, scratch);
    else
        problem_set(&w->problem, "out of memory");
    free(scratch);
}

static void turn(struct work *w, struct picture *p, struct problem *problem)
{
    if (p->frame >= 0 && w->device && finish(p, problem) == 0)
        put_frame(w, p);
    take_frame(w, p);
    if (p->frame < 0 || problem->text[0])
        return;
    if (w->device) {
        if (launch(w, p, problem) < 0)
            p->frame = -1;
        return;
    }
    blur_here(w, p);
    put_frame(w, p);
}

/* Each thread has two pictures on their way: one is read from the video, the other is blurred. */
static void *blur_frames(void *arg)
{
    struct work *w = arg;
    struct problem problem = {""};
    struct picture picture[JOBS] = {{NULL, NULL, NULL, -1}};
    int ready = 1, left = 0;
    for (int i = 0; i < JOBS; i++) {
        struct picture *p = &picture[i];
        p->frame = -1;
        p->in = malloc(blur_picture_bytes(&w->shape));
        p->out = malloc(blur_picture_bytes(&w->shape));
        if (w->device)
            p->job = blur_job_open(w->device, w->o.out_of_order, &problem);
        if (!p->in || !p->out)
            problem_set(&problem, "out of memory");
        ready = ready && !problem.text[0];
    }
    do {
        left = 0;
        for (int i = 0; ready && i < JOBS; i++) {
            turn(w, &picture[i], &problem);
            left |= picture[i].frame >= 0;
        }
    } while (left && !problem.text[0]);
    if (problem.text[0])
        fail(w, &problem);
    for (int i = 0; i < JOBS; i++) {
        blur_job_close(picture[i].job);
        free(picture[i].in);
        free(picture[i].out);
    }
    return NULL;
}

/* ---- The program ----------------------------------------------------------------------------- */

static int open_all(struct work *w)
{
    AVRational rate;
    av_log_set_level(AV_LOG_QUIET); /* what went wrong is told once, by us */
    w->pool = frame_pool_open((size_t)1 << 30);
    if (!w->pool)
        return problem_set(&w->problem, "out of memory");
    if (!(w->video = video_reader_open(w->o.video, w->pool, &w->problem)))
        return -1;
    w->shape.width = video_reader_width(w->video) & ~1;
    w->shape.height = video_reader_height(w->video) & ~1;
    w->shape.radius = w->o.radius;
    if (!w->o.reference && !(w->device = blur_device_open(&w->shape, &w->problem)))
        return -1;
    if (!(w->out = fopen(w->o.out, "w+b")))
        return problem_set(&w->problem, "%s: cannot be written: %s", w->o.out, strerror(errno));
    rate = video_reader_rate(w->video);
    fprintf(w->out, "YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C420jpeg\n", w->shape.width, w->shape.height,
            rate.num, rate.den);
    w->first = ftell(w->out);
    return 0;
}

static void close_all(struct work *w)
{
    if (w->out && fclose(w->out) != 0)
        problem_set(&w->problem, "%s: cannot be written: %s", w->o.out, strerror(errno));
    blur_device_close(w->device);
    video_reader_close(w->video);
    frame_pool_close(w->pool);
}

static int run(struct work *w)
{
    pthread_t thread[THREADS_MAX];
    int threads = 0;
    if (open_all(w) == 0)
        while (threads < w->o.threads &&
               pthread_create(&thread[threads], NULL, blur_frames, w) == 0)
            threads++;
    if (!w->problem.text[0] && threads == 0)
        problem_set(&w->problem, "cannot start a thread");
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    close_all(w);
    if (w->problem.text[0]) {
        fprintf(stderr, "opencl_blur: %s\n", w->problem.text);
        return 1;
    }
    printf("%s: %d frames of %dx%d, radius %d\n", w->o.out, w->next, w->shape.width,
           w->shape.height, w->shape.radius);
    return 0;
}

static int usage(void)
{
    fputs("Usage: opencl_blur [OPTION]... VIDEO\n"
          "\n"
          "Blurs the frames of a video on the first OpenCL device.\n"
          "\n"
          "  --out FILE       YUV4MPEG2, which players read (opencl_blur.y4m)\n"
          "  --frames N       the first N frames\n"
          "  --radius N       of the blur in pixels, 1 to 32 (8)\n"
          "  --threads N      that read, launch and write; two queues each (1)\n"
          "  --out-of-order   events order the commands, not the queue\n"
          "  --reference      the same bytes, from plain C on the processor\n"
          "\n"
          "example: opencl_blur boat.mp4 --radius 12 --out soft.y4m\n",
          stderr);
    return 2;
}

static int take_number(const char *text, int low, int high, int *out)
{
    char *end;
    const long v = strtol(text, &end, 10);
    if (*text == '\0' || *end || v < low || v > high) {
        fprintf(stderr, "opencl_blur: '%s' is not a number of %d to %d\n", text, low, high);
        return -1;
    }
    *out = (int)v;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"out", 1, NULL, 'o'},          {"frames", 1, NULL, 'f'},
        {"radius", 1, NULL, 'r'},       {"threads", 1, NULL, 't'},
        {"out-of-order", 0, NULL, 'u'}, {"reference", 0, NULL, 'c'},
        {"help", 0, NULL, 'h'},         {NULL, 0, NULL, 0}};
    struct work w = {.o = {NULL, "opencl_blur.y4m", 1000000, 8, 1, 0, 0},
                     .lock = PTHREAD_MUTEX_INITIALIZER};
    int c, bad = 0;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 'o')
            w.o.out = optarg;
        else if (c == 'f')
            bad |= take_number(optarg, 1, 1000000, &w.o.frames);
        else if (c == 'r')
            bad |= take_number(optarg, 1, BLUR_RADIUS_MAX, &w.o.radius);
        else if (c == 't')
            bad |= take_number(optarg, 1, THREADS_MAX, &w.o.threads);
        else if (c == 'u')
            w.o.out_of_order = 1;
        else if (c == 'c')
            w.o.reference = 1;
        else
            return usage();
    }
    if (bad)
        return 2;
    if (optind + 1 != argc)
        return usage();
    w.o.video = argv[optind];
    return run(&w);
}
