/* A pipeline of two stages, whose times are given, so that every figure is known.
 * _streams.c [killed] */
#include <plumb/plumb.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static uint64_t zero;

static uint64_t ms(uint64_t n)
{
    return zero + n * 1000000;
}

static void run(plumb_stream_stage s, uint64_t i, const char *input, uint64_t ready, uint64_t to)
{
    plumb_stream_event_at(s, PLUMB_STREAM_INPUT, i, input, ms(ready));
    plumb_stream_event_at(s, PLUMB_STREAM_ADMITTED, i, NULL, ms(ready));
    plumb_stream_event_at(s, PLUMB_STREAM_COMPLETED, i, NULL, ms(to));
}

int main(int argc, char **argv)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    zero = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    plumb_stream video = plumb_stream_begin_at("video", ms(0));
    plumb_stream_stage denoise = plumb_stream_stage_of(video, "denoise");
    plumb_stream_stage decode = plumb_stream_stage_of(video, "decode");
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t from = 100 * i + (i > 9 ? 50 : 0); /* the control of 10 is 50 ms late */
        plumb_stream_mark_at(video, PLUMB_STREAM_CONTROL, i, ms(from));
        plumb_stream_event_at(denoise, PLUMB_STREAM_INPUT, i, "latents", ms(100 * i));
        run(denoise, i, "control", from, from + 100 - (i == 29 ? 40 : 0));
        run(decode, i, "frames", from + 100, from + 120);
        plumb_stream_mark_at(video, PLUMB_STREAM_OUTPUT, i, ms(from + 130));
    }
    if (argc > 1)
        raise(SIGKILL);
    plumb_stream_mark_at(video, PLUMB_STREAM_END, 0, ms(4000));
    return 0;
}
