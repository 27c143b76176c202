/* Records `argv[1]` requests, each with the stages of a text-to-video program. */
#include <stdlib.h>

#include <plumb/plumb.h>

int main(int argc, char **argv)
{
    for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 0; i < n; i++) {
        PLUMB_REQUEST(request, NULL, NULL);
        {
            PLUMB_STAGE(stage, "TextEncodingStage");
        }
        for (int k = 0; k < 2; k++) {
            PLUMB_STAGE(stage, "denoise");
            plumb_stage_metric(stage, "dit_time_s");
        }
    }
    return 0;
}
