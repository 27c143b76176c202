/* A signal toggles profiling: the handler calls what plumb.h allows there, and, now and then, what
 * it does not, while the program records and does the same. Nothing hangs; what cannot be done is
 * refused. */
#include "hosts/host.h"

#include <pthread.h>

#include <plumb/timeline.h>

static volatile sig_atomic_t handled;
static volatile sig_atomic_t only_allowed = 1;
static plumb_pipeline *second;
static uint64_t made;

static void allowed(int turn)
{
    plumb_config config = plumb_config_default();
    plumb_error err;
    switch (turn % 5) {
    case 0:
        plumb_set_debug(turn & 1);
        break;
    case 1:
        config.enabled = 1;
        (void)plumb_configure(NULL, &config, &err);
        break;
    case 2:
        plumb_counter_add("handled", 1);
        break;
    case 3:
        (void)plumb_trace_keep("a signal", &err);
        break;
    default: {
        PLUMB_SPAN("in the handler");
    }
    }
}

static void refused_or_done(int turn)
{
    char dir[1024];
    switch (turn % 5) {
    case 0:
        (void)plumb_pipeline_get("third");
        break;
    case 1:
        (void)plumb_reset(second, NULL);
        break;
    case 2:
        (void)plumb_run_dir(dir, sizeof dir, NULL);
        break;
    case 3:
        plumb_set_log(PLUMB_LOG_WARN, NULL, NULL);
        break;
    default:
        plumb_pipeline_close(second);
    }
}

static void on_alarm(int sig)
{
    int turn = (int)handled++, saved = errno;
    (void)sig;
    if (only_allowed || turn & 1)
        allowed(turn >> 1);
    else
        refused_or_done(turn >> 1);
    errno = saved;
}

/* All that takes a lock, so that the handler interrupts its holder. */
static void work(int i)
{
    char name[32];
    plumb_config config = plumb_config_default();
    config.enabled = 1;
    snprintf(name, sizeof name, "node %d", i % 40);
    plumb_end(plumb_begin_node(plumb_node_get(name)));
    (void)plumb_configure(plumb_pipeline_get("fourth"), &config, NULL);
    plumb_set_debug(0);
    for (int k = 0; k < 30; k++) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
        made++;
    }
    if (i % 16 == 0 && plumb_is_recording())
        (void)host_count_of("span");
}

int main(void)
{
    long rounds = host_rounds(150);
    second = plumb_pipeline_get("second");
    host_signals(on_alarm, 1000);
    for (long i = 0; i < rounds || handled < 100; i++)
        work((int)i);
    only_allowed = 0;
    for (long i = 0; i < rounds; i++)
        work((int)i);
    host_signals_end();
    host_expect_at_most("span", made);
    return 0;
}
