/* Prints plumb_summary_text() of a run in which two ways to add up give different results. Under
 * PLUMB_CLOCK=virtual and PLUMB_COLLECT=fake every figure is exact. The argument says which run. */
#include <pthread.h>
#include <string.h>

#include <plumb/fake.h>
#include <plumb/plumb.h>

static const uint64_t MS = 1000000;

static void *tiles(void *context)
{
    PLUMB_ADOPT((plumb_context *)context);
    for (int i = 0; i < 5; i++) {
        PLUMB_SPAN("tile");
        plumb_fake_advance(2 * MS);
    }
    return NULL;
}

/* Work of other threads inside a span of this one is not outermost. The threads run one after the
 * other, because they share the clock. */
static void adopt(void)
{
    for (int f = 0; f < 10; f++) {
        PLUMB_SPAN("frame");
        plumb_context context;
        plumb_context_capture(&context);
        for (int i = 0; i < 4; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, tiles, &context) == 0)
                pthread_join(thread, NULL);
        }
    }
}

static void frames(int n, int fail_every)
{
    for (int f = 0; f < n; f++) {
        PLUMB_SPAN_AS(frame, "frame");
        plumb_fake_advance(MS / 2);
        for (int i = 0; i < 4; i++) {
            PLUMB_SPAN("step");
            plumb_fake_advance(MS);
        }
        if (fail_every && f % fail_every == 1)
            plumb_span_fail(frame, "on purpose");
    }
}

static void skip(plumb_pipeline *pipeline, int64_t n)
{
    plumb_config c = plumb_config_default();
    c.enabled = 1;
    c.skip_first_n = n;
    plumb_configure(pipeline, &c, NULL);
}

/* The predecessor's own example: 103 frames, of which the first three are left out. */
static void two_nodes(void)
{
    for (int i = 0; i < 103; i++) {
        plumb_record_ns(plumb_node_get("node_a"), (i < 3 ? 50 : 10) * MS);
        plumb_record_ns(plumb_node_get("node_b"), (i < 3 ? 30 : 5) * MS);
    }
}

static void pipelines(void)
{
    plumb_pipeline *other = plumb_pipeline_get("other"), *third = plumb_pipeline_get("third");
    skip(NULL, 3);
    skip(other, 0);
    skip(third, 13);
    two_nodes();
    {
        PLUMB_PIPELINE(other);
        two_nodes();
    }
    {
        PLUMB_PIPELINE(third);
        two_nodes();
    }
}

static void phases(void)
{
    for (int i = 0; i < 100; i++)
        plumb_record_ns(plumb_node_get("node"), 15 * MS);
    PLUMB_PHASE("train");
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("node");
        plumb_fake_advance(70 * MS);
    }
}

static void after_a_reset(void)
{
    frames(100, 0);
    plumb_reset(NULL, NULL);
    frames(2, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char *text = NULL;
    plumb_error err;
    if (strcmp(what, "adopt") == 0)
        adopt();
    else if (strcmp(what, "nested") == 0)
        frames(10, 0);
    else if (strcmp(what, "failing") == 0)
        frames(300, 2);
    else if (strcmp(what, "phases") == 0)
        phases();
    else if (strcmp(what, "pipelines") == 0)
        pipelines();
    else if (strcmp(what, "reset") == 0)
        after_a_reset();
    else if (strcmp(what, "skip") == 0) {
        skip(NULL, 3);
        two_nodes();
    }
    if (plumb_summary_text(&text, NULL, NULL, argc > 2 ? 103 : 0, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    puts(text);
    plumb_text_free(text);
    return 0;
}
