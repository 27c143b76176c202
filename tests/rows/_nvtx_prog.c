/* A program of tiles and chunks whose spans the NVTX tests follow. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <plumb/plumb.h>

static void tiles(void)
{
    char name[64];
    PLUMB_SPAN("vae.decode_clip");
    for (int row = 0; row < 2; row++) {
        for (int col = 0; col < 2; col++) {
            snprintf(name, sizeof name, "vae.decode_clip.tile.%d.%d", row, col);
            PLUMB_SPAN_NODE(plumb_node_get(name));
            {
                PLUMB_SPAN("decode_tiles");
            }
        }
    }
}

static void chunks(void)
{
    char name[64];
    for (PLUMB_STEPS (i, 2)) {
        PLUMB_STAGE(chunk, "chunk");
        snprintf(name, sizeof name, "vae.temporal_chunk.%d.frame_segment.1", i);
        PLUMB_SPAN_NODE(plumb_node_get(name));
        if (i == 1)
            plumb_span_fail(chunk, "out of memory");
    }
}

static void laps(void)
{
    PLUMB_LAPS(lap);
    PLUMB_LAP(lap, "first");
    PLUMB_LAP(lap, "second");
}

static void closed_from_outside(void)
{
    PLUMB_POINT(a, "outer");
    PLUMB_POINT(b, "lost");
    plumb_span outer = plumb_begin(&a);
    plumb_begin(&b);
    plumb_begin(&b);
    plumb_end(outer);
}

static void *thread(void *arg)
{
    PLUMB_POINT(open, "never ended");
    (void)arg;
    PLUMB_REGION("model_loading");
    plumb_begin(&open);
    return NULL;
}

static void stopped_inside(void)
{
    PLUMB_POINT(a, "across the stop");
    PLUMB_POINT(b, "inside it");
    plumb_span outer = plumb_begin(&a), inner = plumb_begin(&b);
    plumb_stop(NULL);
    plumb_end(inner);
    plumb_end(outer);
    plumb_end(plumb_begin(&a)); /* nothing: no run */
}

/* ---- Async spans ----------------------------------------------------------------------------- */

static void *end_it(void *span)
{
    plumb_async_end(*(plumb_async *)span);
    return NULL;
}

static void *many(void *name)
{
    plumb_async spans[50];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 50; i++)
            spans[i] = plumb_async_begin(plumb_node_get(name));
        for (int i = 0; i < 50; i++)
            plumb_async_end(spans[i]);
    }
    return NULL;
}

/* Async spans that end on another thread, twice, as failed, never, or after their run has stopped;
 * also while a run stops and starts again. */
static void asyncs(void)
{
    static char names[4][8] = {"a", "b", "c", "d"};
    pthread_t t, threads[4];
    plumb_async span, left, open;
    for (PLUMB_STEPS (step, 2)) {
        span = plumb_async_begin(plumb_node_get("request"));
        pthread_create(&t, NULL, end_it, &span);
        pthread_join(t, NULL);
    }
    plumb_async_end(span); /* twice */
    span = plumb_async_begin(plumb_node_get("fails"));
    plumb_async_fail(span, "no");
    left = plumb_async_begin(plumb_node_get("left open"));
    plumb_stop(NULL);
    plumb_async_end(left); /* its range has ended with its run */
    plumb_start(NULL, NULL);
    open = plumb_async_begin(plumb_node_get("second run"));
    plumb_async_end(left);
    plumb_async_end(open);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many, names[i]);
    for (int i = 0; i < 20; i++) {
        plumb_stop(NULL);
        plumb_start(NULL, NULL);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    plumb_async_begin(plumb_node_get("open at exit"));
}

int main(int argc, char **argv)
{
    pthread_t t;
    if (argc > 1 && strcmp(argv[1], "async") == 0) {
        asyncs();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "tiles") != 0)
        return 2;
    tiles();
    if (argc > 1)
        return 0;
    chunks();
    laps();
    closed_from_outside();
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    stopped_inside();
    return 0;
}
