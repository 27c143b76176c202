/* Owns the encoder, the muxer and the file.
 *
 * x264 keeps nothing back (zerolatency): each call encodes the picture that it is given,
 * so that the time of a call is the time of its frame. One encoder thread: x264 writes its settings
 * into the stream, and a thread count taken from the machine would change the bytes. */
#include "video_encoder.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct video_encoder {
    AVFormatContext *muxer;
    AVCodecContext *encoder;
    AVFrame *frame;
    AVPacket *packet;
    int64_t frames;
    const char *path;
    char *part_path;
    int part_exists;
};

static int open_codec(struct video_encoder *e, int width, int height, AVRational rate,
                      struct problem *problem)
{
    const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
    int status;

    if (!codec)
        return problem_set(problem, "this libavcodec has no libx264");
    e->encoder = avcodec_alloc_context3(codec);
    e->frame = av_frame_alloc();
    e->packet = av_packet_alloc();
    if (!e->encoder || !e->frame || !e->packet)
        return problem_set(problem, "%s: out of memory", e->path);
    e->encoder->width = width;
    e->encoder->height = height;
    e->encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    e->encoder->time_base = av_inv_q(rate);
    e->encoder->framerate = rate;
    e->encoder->thread_count = 1;
    e->encoder->flags |= AV_CODEC_FLAG_BITEXACT | AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(e->encoder->priv_data, "preset", "veryfast", 0);
    av_opt_set(e->encoder->priv_data, "tune", "zerolatency", 0);
    av_opt_set(e->encoder->priv_data, "crf", "20", 0);
    status = avcodec_open2(e->encoder, codec, NULL);
    return status < 0 ? problem_set_av(problem, status, "cannot open libx264") : 0;
}

/* With faststart the file's index stands in front, as players on the web want it. */
static int write_header(struct video_encoder *e)
{
    AVDictionary *options = NULL;
    int status = av_dict_set(&options, "movflags", "+faststart", 0);

    if (status >= 0)
        status = avformat_write_header(e->muxer, &options);
    av_dict_free(&options);
    return status;
}

static int open_file(struct video_encoder *e, struct problem *problem)
{
    /* Without "file:", "a:b.mp4" names protocol a. */
    char *url = av_asprintf("file:%s", e->part_path);
    AVStream *stream = NULL;
    int status =
        url ? avformat_alloc_output_context2(&e->muxer, NULL, "mp4", url) : AVERROR(ENOMEM);

    av_free(url);
    if (status >= 0) {
        stream = avformat_new_stream(e->muxer, NULL);
        status = stream ? avcodec_parameters_from_context(stream->codecpar, e->encoder)
                        : AVERROR(ENOMEM);
    }
    if (status < 0)
        return problem_set_av(problem, status, "%s: cannot set up an mp4 file", e->path);
    e->muxer->flags |= AVFMT_FLAG_BITEXACT;
    stream->time_base = e->encoder->time_base;
    stream->avg_frame_rate = e->encoder->framerate;
    status = avio_open(&e->muxer->pb, e->muxer->url, AVIO_FLAG_WRITE);
    if (status >= 0) {
        e->part_exists = 1;
        status = write_header(e);
    }
    return status < 0 ? problem_set_av(problem, status, "%s: cannot be written", e->path) : 0;
}

struct video_encoder *video_encoder_open(const char *path, int width, int height, AVRational rate,
                                         struct problem *problem)
{
    struct video_encoder *e = calloc(1, sizeof(*e));

    if (e) {
        e->path = path;
        e->part_path = av_asprintf("%s.part", path);
    }
    if (!e || !e->part_path)
        problem_set(problem, "%s: out of memory", path);
    else if (open_codec(e, width, height, rate, problem) == 0 && open_file(e, problem) == 0)
        return e;
    video_encoder_close(e);
    return NULL;
}

/* NULL: no more pictures. */
static int encode(struct video_encoder *e, const AVFrame *frame, struct problem *problem)
{
    AVStream *stream = e->muxer->streams[0];
    int status = avcodec_send_frame(e->encoder, frame);

    while (status >= 0) {
        status = avcodec_receive_packet(e->encoder, e->packet);
        if (status == AVERROR(EAGAIN) || status == AVERROR_EOF)
            return 0;
        if (status < 0)
            break;
        e->packet->duration = 1; /* in encoder time: without it the last frame has no length */
        av_packet_rescale_ts(e->packet, e->encoder->time_base, stream->time_base);
        status = av_interleaved_write_frame(e->muxer, e->packet);
    }
    return problem_set_av(problem, status, "%s: cannot write frame %lld", e->path,
                          (long long)e->frames);
}

static void give_back(void *frame, uint8_t *data)
{
    (void)data;
    frame_unref(frame);
}

int video_encoder_frame(struct video_encoder *e, const struct picture *picture,
                        struct problem *problem)
{
    AVFrame *f = e->frame;
    int status;

    f->buf[0] = av_buffer_create(picture->frame->data, picture->frame->bytes, give_back,
                                 picture->frame, AV_BUFFER_FLAG_READONLY);
    if (!f->buf[0])
        return problem_set(problem, "%s: out of memory", e->path);
    frame_ref(picture->frame); /* that of the buffer */
    f->format = AV_PIX_FMT_YUV420P;
    f->width = picture->width;
    f->height = picture->height;
    for (int i = 0; i < 3; i++) {
        f->data[i] = picture->plane[i];
        f->linesize[i] = picture->stride[i];
    }
    f->pts = e->frames++;
    status = encode(e, f, problem);
    av_frame_unref(f);
    return status;
}

int video_encoder_finish(struct video_encoder *e, struct problem *problem)
{
    int status;

    if (encode(e, NULL, problem) < 0)
        return -1;
    status = av_write_trailer(e->muxer);
    if (status >= 0)
        status = avio_closep(&e->muxer->pb);
    if (status < 0)
        return problem_set_av(problem, status, "%s: cannot finish the file", e->path);
    if (rename(e->part_path, e->path) != 0)
        return problem_set(problem, "%s: cannot rename the finished file: %s", e->path,
                           strerror(errno));
    e->part_exists = 0;
    return 0;
}

void video_encoder_close(struct video_encoder *e)
{
    if (!e)
        return;
    if (e->muxer)
        avio_closep(&e->muxer->pb);
    if (e->part_exists)
        remove(e->part_path);
    avformat_free_context(e->muxer);
    avcodec_free_context(&e->encoder);
    av_frame_free(&e->frame);
    av_packet_free(&e->packet);
    av_free(e->part_path);
    free(e);
}
