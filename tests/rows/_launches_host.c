/* A command for plumb count-launches on the simulated device: unfused, an iteration is {depth}
 * dispatches and launches; fused, one. It counts its launches itself, into launches.log.
 *
 *     host DEPTH FUSED ITERS OUTPUT HOW
 *     HOW: plain, extra (one launch and dispatch more in the last iteration), differ (by 1e-4),
 *     close (by 1e-7), fewer (iterations), none (no iteration), fail, empty (output), longer */
#include <plumb/fake.h>
#include <plumb/plumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int launched;

static void compute(int passes)
{
    for (int i = 0; i < passes; i++) {
        plumb_dispatch(passes == 1 ? "sos" : "biquad");
        launched += plumb_fake_enqueue(0, 0, "cudaLaunchKernel", 100) != 0;
    }
    plumb_fake_wait(plumb_fake_enqueue(0, 0, "last", 100));
    launched++;
}

int main(int argc, char **argv)
{
    int depth = atoi(argv[1]), fused = atoi(argv[2]), iters = atoi(argv[3]);
    const char *how = argc > 5 ? argv[5] : "plain";
    FILE *file = fopen("launches.log", "a");
    int before;
    printf("this is not JSON\n");
    if (strcmp(how, "fail") == 0)
        return 3;
    if (strcmp(how, "none") == 0)
        return 0;
    iters -= strcmp(how, "fewer") == 0;
    {
        PLUMB_PHASE("warmup");
        PLUMB_SPAN("iteration");
        compute(7);
    }
    before = launched;
    for (int i = 0; i < iters; i++) {
        PLUMB_SPAN("iteration");
        compute(fused ? 1 : depth);
        if (strcmp(how, "extra") == 0 && i == iters - 1)
            compute(1);
    }
    fprintf(file, "%d\n", launched - before);
    fclose(file);
    if (argv[4][0] && (file = fopen(argv[4], "wb")) != NULL) {
        for (int i = 0; i < 100 && strcmp(how, "empty") != 0; i++) {
            double v = i;
            if (fused && i == 42)
                v += strcmp(how, "differ") == 0 ? 1e-4 : strcmp(how, "close") == 0 ? 1e-7 : 0;
            fwrite(&v, sizeof v, 1, file);
        }
        if (fused && strcmp(how, "longer") == 0)
            fwrite(&depth, sizeof depth, 1, file);
        fclose(file);
    }
    return 0;
}
