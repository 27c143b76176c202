/* bench_end.c: how the process of the stage ended, in a sentence for the user. */
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "launch.h"

/* Where a stage that ended without an answer was. */
static void say_place(const struct plumb_cli_bench *b, const plumb_bench_progress *p,
                      const char *what)
{
    char where[80] = "while it was opened";
    char step[40] = "";
    if (p->phase == PLUMB_BENCH_WARMING || p->phase == PLUMB_BENCH_MEASURING)
        snprintf(where, sizeof where, "in %s run %u",
                 p->phase == PLUMB_BENCH_WARMING ? "warm-up" : "measured", p->run);
    else if (p->phase == PLUMB_BENCH_DONE)
        snprintf(where, sizeof where, "after its last run");
    if (p->step >= 0 && p->phase != PLUMB_BENCH_DONE && p->phase != PLUMB_BENCH_PREPARING)
        snprintf(step, sizeof step, ", step %" PRId64, p->step);
    plumb_cli_say(&plumb_cmd_bench, "stage '%s' %s %s%s", b->stage, what, where, step);
}

/* Whether the user sent the signal: plumb passes on what it gets. */
static bool is_asked(int signal)
{
    return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP ||
           signal == SIGKILL;
}

bool plumb_cli_bench_ended(const struct plumb_cli_bench *b,
                           const struct plumb_cli_bench_shared *shared,
                           const struct plumb_launched *end)
{
    char what[120];
    if (end->timed_out)
        snprintf(what, sizeof what, "did not end within %g s (--timeout): it was stopped",
                 b->timeout_s);
    else if (end->signal)
        snprintf(what, sizeof what, "%s (%s)", is_asked(end->signal) ? "was stopped" : "crashed",
                 strsignal(end->signal));
    else if (!shared->finished)
        snprintf(what, sizeof what, "ended its process (status %d)", end->status);
    else if (shared->status < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", shared->err.message);
        return false;
    } else
        return true;
    say_place(b, &shared->progress, what);
    return false;
}
