/* ---- Options --------------------------------------------------------------------------------- */

static struct {
    const char *library, *config, *inputs;
    long warmup, steps, runs;
    int64_t first;
    uint64_t seed;
} options = {STAGE_LIBRARY,    STAGE_CONFIG, STAGE_CAPTURE, 1, STAGE_STEPS, 5,
             STAGE_FIRST_STEP, STAGE_SEED};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "profile_" STAGE_FILE ": %s%s%s\n", what, *which ? ": " : "", which);
    exit(2);
}
