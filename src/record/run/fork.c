/* fork.c: the parent's run in the child of a fork. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pages.h"
#include "record/collect/sched.h"
#include "record/run/run.h"
#include "record/run/subsystems.h"
#include "record/runtime/keeper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/paths.h"
#include "record/runtime/point.h"
#include "record/runtime/thread.h"
#include "record/stage/perf.h"
#include "record/trace/active_steps.h"

/* Replaces the mapping by a private copy of it. Returns false when out of memory. */
static bool make_private(struct plumb_run *run)
{
    size_t used = run->h->used < run->mapped ? run->h->used : run->mapped;
    void *copy = plumb_pages_map(run->mapped);
    if (!copy)
        return false;
    memcpy(copy, run->base, used);
    return mremap(copy, run->mapped, run->mapped, MREMAP_MAYMOVE | MREMAP_FIXED, run->base) !=
           MAP_FAILED;
}

/* The kernel does not map the pages of perf_event_open() in a child. The interrupted code may be
 * reading one: it reads an empty page instead. */
static void map_empty(void *page, size_t bytes)
{
    if (page)
        mmap(page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
             -1, 0);
}

static void map_empty_pages(const struct plumb_thread *th)
{
    if (th->sched)
        map_empty(th->sched->page, th->sched->page_bytes);
    for (uint32_t i = 0; th->perf && i < PLUMB_PERF_COUNTERS; i++)
        map_empty(th->perf->event[i].page, th->perf->event[i].page_bytes);
}

/* The fork came in a signal handler that had interrupted plumb on this thread. The interrupted code
 * continues in the child, in a copy that is never read. Without memory for the copy it would
 * continue in the parent's run, which is worse than ending here. */
static void leave_interrupted(struct plumb_run *run)
{
    if (!make_private(run))
        _exit(127);
}

void plumb_run_forked(bool interrupted)
{
    struct plumb_run *run = plumb_rt.run;
    bool was_on = run || plumb_rt.want_run;
    plumb_locks_forked(interrupted);
    plumb_rt.pid = (uint32_t)getpid();
    if (interrupted && plumb_tls)
        map_empty_pages(plumb_tls);
    plumb_threads_forget(interrupted);
    plumb_log_forked();
    PLUMB_EACH_SUBSYSTEM(forked, );
    plumb_rt.run = NULL;
    PLUMB_STORE(plumb_rt.recording, 0);
    PLUMB_STORE(plumb_rt.want_run, was_on && plumb_rt.settings.fork == PLUMB_FORK_FOLLOW);
    PLUMB_STORE(plumb_rt.handlers_turned_away, 0);
    plumb_rt.last_dir[0] = '\0';
    plumb_paths_forked();
    if (run && interrupted) {
        leave_interrupted(run);
    } else if (run) {
        /* The mapping is the parent's: unmap it without touching it. */
        plumb_pages_unmap(run->base, run->mapped);
        plumb_active_close(run);
        plumb_pages_unmap(run, sizeof *run);
    }
    plumb_points_refresh();
    plumb_keeper_watch();
}
