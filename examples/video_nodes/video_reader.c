/* Owns the way from a file to decoded frames, and that their memory is the pool's.
 *
 * The decoder asks get_buffer() for each frame and holds a reference for as long as it predicts
 * others from it, the caller one until it is done. So frames are counted as the decoder needs them,
 * and nothing is copied. One decoder thread: more would hold more frames, by the machine's cores.
 *
 * A file that was cut short ends like a whole one for libavformat, unless a packet is cut.
 * Therefore packets are counted and compared with the file's own index. */
#include "video_reader.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/imgutils.h>

#include <stdlib.h>

struct video_reader {
    struct frame_pool *pool;
    AVFormatContext *file;
    AVCodecContext *decoder;
    AVStream *stream;
    AVPacket *packet;
    const char *path;
    int64_t packets; /* since the first frame */
    int at_end;      /* of the packets; the decoder may hold frames yet */
};

static void give_back(void *frame, uint8_t *data)
{
    (void)data;
    frame_unref(frame);
}

static int get_buffer(AVCodecContext *decoder, AVFrame *out, int flags)
{
    struct video_reader *r = decoder->opaque;
    int width = out->width, height = out->height, bytes;
    int alignments[AV_NUM_DATA_POINTERS];
    struct frame *frame;

    if (!(decoder->codec->capabilities & AV_CODEC_CAP_DR1) || out->format == AV_PIX_FMT_PAL8)
        return avcodec_default_get_buffer2(decoder, out, flags);
    avcodec_align_dimensions2(decoder, &width, &height, alignments);
    bytes = av_image_get_buffer_size(out->format, width, height, FRAME_POOL_ALIGNMENT);
    if (bytes < 0)
        return bytes;
    bytes += AV_INPUT_BUFFER_PADDING_SIZE; /* vector instructions read past the last line */
    if (!(frame = frame_pool_take(r->pool, (size_t)bytes)))
        return AVERROR(ENOMEM);
    out->buf[0] = av_buffer_create(frame->data, (size_t)bytes, give_back, frame, 0);
    if (!out->buf[0]) {
        frame_unref(frame);
        return AVERROR(ENOMEM);
    }
    av_image_fill_arrays(out->data, out->linesize, frame->data, out->format, width, height,
                         FRAME_POOL_ALIGNMENT);
    out->extended_data = out->data;
    return 0;
}

static int open_decoder(struct video_reader *r, const AVCodec *codec, struct problem *problem)
{
    int status;

    r->decoder = avcodec_alloc_context3(codec);
    r->packet = av_packet_alloc();
    if (!r->decoder || !r->packet)
        return problem_set(problem, "%s: out of memory", r->path);
    status = avcodec_parameters_to_context(r->decoder, r->stream->codecpar);
    r->decoder->opaque = r;
    r->decoder->get_buffer2 = get_buffer;
    r->decoder->thread_count = 1;
    r->decoder->err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM | AV_EF_CRCCHECK;
    r->decoder->pkt_timebase = r->stream->time_base;
    if (status >= 0)
        status = avcodec_open2(r->decoder, codec, NULL);
    return status < 0 ? problem_set_av(problem, status, "%s: cannot open its decoder", r->path) : 0;
}

static int open_file(struct video_reader *r, struct problem *problem)
{
    const AVCodec *codec = NULL;
    /* Without "file:", "a:b.mp4" names protocol a. */
    char *url = av_asprintf("file:%s", r->path);
    int status = url ? avformat_open_input(&r->file, url, NULL, NULL) : AVERROR(ENOMEM);

    av_free(url);
    if (status < 0)
        return problem_set_av(problem, status, "%s: cannot be read as a video", r->path);
    status = avformat_find_stream_info(r->file, NULL);
    if (status >= 0)
        status = av_find_best_stream(r->file, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (status < 0)
        return problem_set_av(problem, status, "%s: has no video that can be read", r->path);
    r->stream = r->file->streams[status];
    for (unsigned i = 0; i < r->file->nb_streams; i++)
        if (r->file->streams[i] != r->stream)
            r->file->streams[i]->discard = AVDISCARD_ALL;
    return open_decoder(r, codec, problem);
}

struct video_reader *video_reader_open(const char *path, struct frame_pool *pool,
                                       struct problem *problem)
{
    struct video_reader *r = calloc(1, sizeof(*r));

    if (!r) {
        problem_set(problem, "%s: out of memory", path);
        return NULL;
    }
    r->path = path;
    r->pool = pool;
    if (open_file(r, problem) == 0)
        return r;
    video_reader_close(r);
    return NULL;
}

void video_reader_close(struct video_reader *r)
{
    if (!r)
        return;
    avcodec_free_context(&r->decoder);
    avformat_close_input(&r->file);
    av_packet_free(&r->packet);
    free(r);
}

int video_reader_width(const struct video_reader *r)
{
    return r->decoder->width;
}

int video_reader_height(const struct video_reader *r)
{
    return r->decoder->height;
}

AVRational video_reader_rate(const struct video_reader *r)
{
    AVRational rate = av_guess_frame_rate(r->file, r->stream, NULL);

    return rate.num > 0 && rate.den > 0 ? rate : (AVRational){25, 1};
}

/* Gives the decoder its next packet, or the end of the packets. */
static int feed(struct video_reader *r, struct problem *problem)
{
    int status = av_read_frame(r->file, r->packet);

    if (status == AVERROR_EOF && !r->at_end) {
        r->at_end = 1;
        if (r->packets < avformat_index_get_entries_count(r->stream))
            return problem_set(problem, "%s: cut short: only %lld of %d packets are there", r->path,
                               (long long)r->packets, avformat_index_get_entries_count(r->stream));
        status = avcodec_send_packet(r->decoder, NULL);
    } else if (status >= 0 && r->packet->stream_index == r->stream->index) {
        r->packets++;
        status = r->packet->flags & AV_PKT_FLAG_CORRUPT
                     ? AVERROR_INVALIDDATA
                     : avcodec_send_packet(r->decoder, r->packet);
    }
    av_packet_unref(r->packet);
    if (status == AVERROR(ENOMEM))
        return problem_set(problem, "%s: the frame pool has no room for its frames", r->path);
    if (status < 0)
        return problem_set_av(problem, status, "%s: damaged at packet %lld", r->path,
                              (long long)r->packets);
    return 0;
}

int video_reader_next(struct video_reader *r, AVFrame *out, struct problem *problem)
{
    int status;

    while ((status = avcodec_receive_frame(r->decoder, out)) == AVERROR(EAGAIN))
        if (feed(r, problem) < 0)
            return -1;
    if (status == AVERROR_EOF)
        return 0;
    if (status == AVERROR(ENOMEM))
        return problem_set(problem, "%s: the frame pool has no room for its frames", r->path);
    if (status < 0)
        return problem_set_av(problem, status, "%s: damaged after packet %lld", r->path,
                              (long long)r->packets);
    return 1;
}

int video_reader_rewind(struct video_reader *r, struct problem *problem)
{
    int64_t start = r->stream->start_time == AV_NOPTS_VALUE ? 0 : r->stream->start_time;
    int status = av_seek_frame(r->file, r->stream->index, start, AVSEEK_FLAG_BACKWARD);

    if (status < 0)
        return problem_set_av(problem, status, "%s: cannot be played again from its start",
                              r->path);
    avcodec_flush_buffers(r->decoder);
    r->packets = 0;
    r->at_end = 0;
    return 0;
}
