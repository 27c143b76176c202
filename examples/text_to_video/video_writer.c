/* Owns the way from RGB frames to an mp4 file: colour conversion, encoder, muxer, file.
 *
 * Errors stick, as in nn.h. One thread only, and one encoder thread: x264 writes its settings into
 * the stream, so a thread count taken from the machine would change the bytes. */
#include "video_writer.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct video_writer {
    AVFormatContext *muxer;
    AVCodecContext *encoder;
    struct SwsContext *scaler;
    AVFrame *frame; /* in the encoder's pixel format */
    AVPacket *packet;
    int64_t frames;
    char *path, *part_path;
    int part_exists;
    char error[256];
};

static int fail(struct video_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(struct video_writer *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!w->error[0])
        vsnprintf(w->error, sizeof(w->error), format, args);
    va_end(args);
    return -1;
}

static int fail_av(struct video_writer *w, const char *what, int status)
{
    char reason[AV_ERROR_MAX_STRING_SIZE] = "";

    av_strerror(status, reason, sizeof(reason));
    return fail(w, "%s: %s", what, reason);
}

static char *join(const char *a, const char *b)
{
    size_t bytes = strlen(a) + strlen(b) + 1;
    char *s = malloc(bytes);

    if (s)
        snprintf(s, bytes, "%s%s", a, b);
    return s;
}

/* A finished file takes the place of what is there: of an older one, not of a folder or a device.
 */
static int check_place(struct video_writer *w)
{
    struct stat there;

    if (stat(w->path, &there) == 0 && !S_ISREG(there.st_mode))
        return fail(w, "is there and not a regular file");
    return 0;
}

static int open_encoder(struct video_writer *w, int width, int height, int fps)
{
    const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
    int status;

    if (!codec)
        return fail(w, "this libavcodec has no libx264");
    w->encoder = avcodec_alloc_context3(codec);
    if (!w->encoder)
        return fail(w, "out of memory");
    w->encoder->width = width;
    w->encoder->height = height;
    w->encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    w->encoder->time_base = (AVRational){1, fps};
    w->encoder->framerate = (AVRational){fps, 1};
    w->encoder->thread_count = 1;
    w->encoder->flags |= AV_CODEC_FLAG_BITEXACT | AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(w->encoder->priv_data, "preset", "veryfast", 0);
    av_opt_set(w->encoder->priv_data, "crf", "18", 0);
    status = avcodec_open2(w->encoder, codec, NULL);
    return status < 0 ? fail_av(w, "cannot open libx264", status) : 0;
}

static int open_muxer(struct video_writer *w)
{
    AVStream *stream;
    char *url = join("file:", w->part_path); /* without it, "a:b.mp4" names protocol a */
    int status = avformat_alloc_output_context2(&w->muxer, NULL, "mp4", url);

    if (!url || status < 0) {
        fail(w, "cannot set up an mp4 file");
        goto out;
    }
    w->muxer->flags |= AVFMT_FLAG_BITEXACT;
    stream = avformat_new_stream(w->muxer, NULL);
    if (!stream || avcodec_parameters_from_context(stream->codecpar, w->encoder) < 0) {
        fail(w, "cannot set up a video stream");
        goto out;
    }
    stream->time_base = w->encoder->time_base;
    stream->avg_frame_rate = w->encoder->framerate;
    status = avio_open(&w->muxer->pb, url, AVIO_FLAG_WRITE);
    if (status < 0) {
        fail_av(w, "cannot write the file", status);
        goto out;
    }
    w->part_exists = 1;
    status = avformat_write_header(w->muxer, NULL);
    if (status < 0)
        fail_av(w, "cannot write the file's header", status);
out:
    free(url);
    return w->error[0] ? -1 : 0;
}

static int open_frame(struct video_writer *w)
{
    const AVCodecContext *e = w->encoder;

    w->packet = av_packet_alloc();
    w->frame = av_frame_alloc();
    w->scaler =
        sws_getContext(e->width, e->height, AV_PIX_FMT_RGB24, e->width, e->height, e->pix_fmt,
                       SWS_BILINEAR | SWS_ACCURATE_RND | SWS_BITEXACT, NULL, NULL, NULL);
    if (!w->packet || !w->frame || !w->scaler)
        return fail(w, "cannot set up the colour conversion");
    w->frame->format = e->pix_fmt;
    w->frame->width = e->width;
    w->frame->height = e->height;
    if (av_frame_get_buffer(w->frame, 0) < 0)
        return fail(w, "out of memory");
    return 0;
}

struct video_writer *video_writer_open(const char *path, int width, int height, int fps)
{
    struct video_writer *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    av_log_set_level(AV_LOG_ERROR); /* otherwise x264 prints statistics */
    w->path = join(path, "");
    w->part_path = join(path, ".part");
    if (!w->path || !w->part_path)
        fail(w, "out of memory");
    else if (check_place(w) == 0 && open_encoder(w, width, height, fps) == 0 && open_muxer(w) == 0)
        open_frame(w);
    return w;
}

const char *video_writer_error(const struct video_writer *w)
{
    return w->error;
}

/* Feeds the encoder, NULL for "no more", and writes what it has ready. */
static int encode(struct video_writer *w, const AVFrame *frame)
{
    AVStream *stream = w->muxer->streams[0];
    int status = avcodec_send_frame(w->encoder, frame);

    while (status >= 0) {
        status = avcodec_receive_packet(w->encoder, w->packet);
        if (status == AVERROR(EAGAIN) || status == AVERROR_EOF)
            return 0;
        if (status < 0)
            break;
        w->packet->duration = 1; /* in encoder time: without it the last frame has no length */
        av_packet_rescale_ts(w->packet, w->encoder->time_base, stream->time_base);
        status = av_interleaved_write_frame(w->muxer, w->packet);
    }
    return fail_av(w, "cannot encode a frame", status);
}

int video_writer_frame(struct video_writer *w, const uint8_t *rgb)
{
    int rgb_stride;

    if (w->error[0])
        return -1;
    rgb_stride = 3 * w->encoder->width; /* there is none after an error of video_writer_open() */
    if (av_frame_make_writable(w->frame) < 0)
        return fail(w, "out of memory");
    sws_scale(w->scaler, &rgb, &rgb_stride, 0, w->encoder->height, w->frame->data,
              w->frame->linesize);
    w->frame->pts = w->frames++;
    return encode(w, w->frame);
}

int video_writer_finish(struct video_writer *w)
{
    int status;

    if (w->error[0] || encode(w, NULL) < 0)
        return -1;
    status = av_write_trailer(w->muxer);
    if (status >= 0)
        status = avio_closep(&w->muxer->pb);
    if (status < 0)
        return fail_av(w, "cannot finish the file", status);
    if (rename(w->part_path, w->path) != 0)
        return fail(w, "cannot rename the finished file: %s", strerror(errno));
    w->part_exists = 0;
    return 0;
}

void video_writer_close(struct video_writer *w)
{
    if (!w)
        return;
    if (w->muxer)
        avio_closep(&w->muxer->pb);
    if (w->part_exists)
        remove(w->part_path);
    avformat_free_context(w->muxer);
    avcodec_free_context(&w->encoder);
    sws_freeContext(w->scaler);
    av_frame_free(&w->frame);
    av_packet_free(&w->packet);
    free(w->path);
    free(w->part_path);
    free(w);
}
