/* Finds what moves in a video: the host on which plumb's per-frame table and pools are shown.
 * main() reads the command line, switches recording on where that is asked for, runs the pipeline
 * and prints what came out; pipeline.c has the nodes. Exit status: 0 done, 1 failed, 2 wrong
 * arguments. */
#include "options.h"
#include "pipeline.h"

#include <plumb/plumb.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each node: the first frames pay for what is set up lazily. */
enum { SKIP_FIRST = 3 };

/* The one call that covers every node. Under `plumb record` and PLUMB=1 it was made already. */
static int start_recording(void)
{
    plumb_options options = plumb_options_default();
    plumb_error err;
    int status;

    if (plumb_is_recording())
        return 0;
    options.skip_first_n = SKIP_FIRST;
    status = plumb_start(&options, &err);
    if (status == PLUMB_ERR_ABSENT)
        fprintf(stderr, "video_nodes: --profile: this program was built without plumb\n");
    else if (status < 0)
        fprintf(stderr, "video_nodes: --profile: %s\n", err.message);
    return status;
}

static void print_table(uint64_t frames)
{
    char *text = NULL;

    if (!plumb_is_recording() || plumb_summary_text(&text, NULL, NULL, frames, NULL) < 0)
        return;
    printf("\n%s\n", text);
    plumb_text_free(text);
}

static void print_result(const struct options *o, const struct pipeline_result *r)
{
    printf("%s: %" PRId64 " frames of %dx%d\n", o->out_path, r->frames, r->width, r->height);
    printf("%s: %" PRId64 " boxes in %" PRId64 " frames\n", o->json_path, r->boxes,
           r->moving_frames);
    printf("frame pool: %" PRIu64
           " frames taken, %d held at most, %zu KiB reserved in %d segments\n",
           r->pool.taken, r->pool.most_held, r->pool.reserved_bytes / 1024, r->pool.segments);
    if (r->lost_frames)
        printf("frame pool: %d frames were never given back\n", r->lost_frames);
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
    if (o.profile && start_recording() < 0)
        return EXIT_FAILURE;
    if (pipeline_run(&o, &r) < 0) {
        fprintf(stderr, "video_nodes: %s\n", r.problem.text);
        return EXIT_FAILURE;
    }
    print_result(&o, &r);
    print_table((uint64_t)r.frames);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "video_nodes: cannot write the results to stdout\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
