/* A service whose requests are known: nested stages, a worker, an async stage, failures, callers
 * with and without a valid trace context. _otlp.c [killed] [many N] */
#include <plumb/plumb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"

static void *work(void *context)
{
    PLUMB_ADOPT(context);
    PLUMB_STAGE(stage, "worker");
    (void)stage;
    return NULL;
}

static void generate(void)
{
    plumb_context context;
    pthread_t thread;
    PLUMB_STAGE(outer, "generate");
    (void)outer;
    for (int i = 0; i < 2; i++) {
        PLUMB_STAGE(inner, "denoise");
        (void)inner;
    }
    plumb_context_capture(&context);
    pthread_create(&thread, NULL, work, &context);
    pthread_join(thread, NULL);
    plumb_async_end(plumb_async_begin_with(plumb_node_get("upload"), PLUMB_POINT_STAGE));
}

static void one(const char *id, const plumb_pair *metadata, const char *why)
{
    plumb_request r = plumb_request_begin(id, metadata);
    generate();
    {
        PLUMB_STAGE(stage, "save");
        if (why)
            plumb_span_fail(stage, "disk \"full\"");
    }
    if (why)
        plumb_request_fail(r, why);
    else
        plumb_request_end(r);
}

int main(int argc, char **argv)
{
    static const plumb_pair caller[] = {{"Traceparent", "00-" TRACE "-b7ad6b7169203331-01"},
                                        {"tracestate", "congo=t61rcWkgMzE"},
                                        {"Tracestate", ""},
                                        {"TraceState", "b=2, c=3"},
                                        {"prompt", "a \"cat\" \xc3\xa9"},
                                        {NULL, NULL}};
    static const plumb_pair zero[] = {{"traceparent", "00-" TRACE "-0000000000000000-01"},
                                      {"tracestate", "congo=1"},
                                      {NULL, NULL}};
    static const plumb_pair twice[] = {{"traceparent", "00-" TRACE "-b7ad6b7169203331-01"},
                                       {"traceparent", "00-" TRACE "-b7ad6b7169203331-01"},
                                       {NULL, NULL}};
    static const plumb_pair no_state[] = {{"traceparent", "01-" TRACE "-b7ad6b7169203332-00-later"},
                                          {"tracestate", "good=1"},
                                          {"tracestate", "=bad"},
                                          {NULL, NULL}};
    one("plain", NULL, NULL);
    one("called", caller, NULL);
    one("invalid", zero, NULL);
    one("twice", twice, NULL);
    one("later", no_state, NULL);
    one("failed", NULL, "no space");
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
        PLUMB_REQUEST(request, "many", NULL);
        PLUMB_STAGE(first, "save");
        PLUMB_STAGE(second, "save");
        (void)first;
        (void)second;
    }
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    if (argc > 1 && strcmp(argv[1], "killed") == 0) {
        plumb_request_begin("cut", caller);
        PLUMB_STAGE(outer, "generate");
        (void)outer;
        PLUMB_STAGE(inner, "denoise");
        (void)inner;
        {
            PLUMB_STAGE(done, "block");
            (void)done;
        }
        raise(SIGKILL);
    }
    return 0;
}
