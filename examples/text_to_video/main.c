/* Text in, video out: a small but complete text-to-video pipeline, and the host that plumb is shown
 * on. main() reads the command line, runs the pipeline and prints what it did; pipeline.c has the
 * stages. Exit status: 0 done, 1 failed, 2 wrong arguments. */
#include "options.h"
#include "pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* oneDNN leaves its thread count to the OpenMP runtime it is linked with, which is GCC's whatever
 * compiled this file, so <omp.h> of the compiler at hand may belong to another one. */
void omp_set_num_threads(int threads);

static void print_work(const struct pipeline_result *r)
{
    uint64_t total = 0;

    for (int i = 0; i < STAGE_COUNT; i++)
        total += r->flops[i];
    printf("%-12s %17s %10s\n", "stage", "FLOPs", "share (%)");
    for (int i = 0; i < STAGE_COUNT; i++)
        printf("%-12s %17" PRIu64 " %10.2f\n", stage_names[i], r->flops[i],
               total ? 100.0 * (double)r->flops[i] / (double)total : 0.0);
    printf("%-12s %17" PRIu64 " %10.2f\n", "total", total, 100.0);
}

int main(int argc, char **argv)
{
    struct options o;
    struct pipeline_result r;

    switch (options_parse(&o, argc, argv)) {
    case OPTIONS_WRONG:
        return 2;
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_RUN:
        break;
    }
    omp_set_num_threads(o.threads);
    if (pipeline_run(&o, &r) < 0) {
        fprintf(stderr, "text_to_video: %s\n", r.error);
        return EXIT_FAILURE;
    }
    if (r.rounds && o.precision == ELEMENT_BF16)
        fprintf(stderr, "text_to_video: oneDNN has no bf16 on this processor; computed in f32 and "
                        "rounded\n");
    print_work(&r);
    printf("%s: %d frames of %dx%d, seed %" PRIu64 ", %d steps over %" PRId64 " tokens\n",
           o.out_path, o.frames, o.width, o.height, o.seed, o.steps, r.tokens);
    return EXIT_SUCCESS;
}
