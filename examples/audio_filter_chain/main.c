/* Filters audio with a chain of effects: the host on which dispatches are counted and gated. Exit
 * status: 0 done, 1 failed, 2 wrong arguments. */
#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int finish(const struct pipeline *p)
{
    const struct wave *w = &p->wave;
    double peak = 0.0, power = 0.0;

    for (size_t ch = 0; ch < w->channels; ch++)
        for (size_t n = 0; n < w->frames; n++) {
            double x = wave_sample(w, ch, n);
            peak = fmax(peak, fabs(x));
            power += x * x;
        }
    if (w->frames)
        power /= (double)(w->channels * w->frames);
    printf("%zu channels of %zu frames at %.0f Hz, %d effects: peak %.6f, rms %.6f\n", w->channels,
           w->frames, w->rate, p->effect_count, peak, sqrt(power));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "audio_filter_chain: cannot write the results to stdout\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct pipeline p;
    struct options o;
    int status = EXIT_FAILURE;

    switch (options_parse(&o, argc, argv)) {
    case OPTIONS_WRONG:
        return 2;
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_RUN:
        break;
    }
    if (pipeline_load(&p, &o) < 0 || pipeline_filter(&p) < 0 || pipeline_save(&p) < 0)
        fprintf(stderr, "audio_filter_chain: %s\n", p.error);
    else
        status = finish(&p);
    pipeline_close(&p);
    return status;
}
