/* Decodes a video from end to end, for the tests: prints "<frames> <width>x<height>
 * <spread>", where spread is the difference between the brightest and the darkest pixel of the
 * first frame, so that an empty picture shows. Exit status 1 when anything cannot be decoded. */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include <stdio.h>

struct seen {
    int frames, width, height, spread;
};

static int luma_spread(const AVFrame *frame)
{
    int least = 255, most = 0;

    for (int y = 0; y < frame->height; y++) {
        const uint8_t *line = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        for (int x = 0; x < frame->width; x++) {
            least = line[x] < least ? line[x] : least;
            most = line[x] > most ? line[x] : most;
        }
    }
    return most - least;
}

/* Feeds one packet, NULL for "no more", and looks at every frame that comes out. */
static int decode(AVCodecContext *decoder, const AVPacket *packet, AVFrame *frame,
                  struct seen *seen)
{
    int status = avcodec_send_packet(decoder, packet);

    while (status >= 0) {
        status = avcodec_receive_frame(decoder, frame);
        if (status == AVERROR(EAGAIN) || status == AVERROR_EOF)
            return 0;
        if (status < 0)
            break;
        if (seen->frames++ == 0)
            *seen = (struct seen){1, frame->width, frame->height, luma_spread(frame)};
    }
    return status;
}

static int decode_all(AVFormatContext *file, AVCodecContext *decoder, struct seen *seen)
{
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    int status = packet && frame ? 0 : AVERROR(ENOMEM);

    while (status >= 0 && (status = av_read_frame(file, packet)) >= 0) {
        status = decode(decoder, packet, frame, seen);
        av_packet_unref(packet);
    }
    if (status == AVERROR_EOF)
        status = decode(decoder, NULL, frame, seen);
    av_frame_free(&frame);
    av_packet_free(&packet);
    return status;
}

static int check(const char *path, struct seen *seen)
{
    AVFormatContext *file = NULL;
    AVCodecContext *decoder = NULL;
    const AVCodec *codec = NULL;
    int status = avformat_open_input(&file, path, NULL, NULL);

    if (status < 0 || (status = avformat_find_stream_info(file, NULL)) < 0)
        goto out;
    status = av_find_best_stream(file, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (status < 0)
        goto out;
    decoder = avcodec_alloc_context3(codec);
    status = decoder ? avcodec_parameters_to_context(decoder, file->streams[status]->codecpar)
                     : AVERROR(ENOMEM);
    if (status >= 0 && (status = avcodec_open2(decoder, codec, NULL)) >= 0)
        status = decode_all(file, decoder, seen);
out:
    avcodec_free_context(&decoder);
    avformat_close_input(&file);
    return status;
}

int main(int argc, char **argv)
{
    struct seen seen = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: check_video FILE\n");
        return 2;
    }
    if (check(argv[1], &seen) < 0) {
        fprintf(stderr, "check_video: %s cannot be decoded\n", argv[1]);
        return 1;
    }
    printf("%d %dx%d %d\n", seen.frames, seen.width, seen.height, seen.spread);
    return 0;
}
