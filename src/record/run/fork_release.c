/* fork_release.c: what a forked child does not need of its parent's run. A process that lives on in
 * its children, each of which ends its parent, is not to grow by a run each time.
 *
 * The child has the forking thread alone. The parent's other threads were anywhere in their code,
 * so nothing of theirs is looked at but pointers that are kept such that each is either mapped or
 * NULL whenever a fork comes (runtime.h, map.h): what comes between two stores stays, which is
 * little, and nothing is unmapped that is not ours. What the forking thread has stays with it, for
 * the child's run. */
#include "base/pages.h"
#include "model/signature_pack.h"
#include "record/collect/sched.h"
#include "record/run/subsystems.h"
#include "record/runtime/carve.h"
#include "record/runtime/thread.h"
#include "record/stage/stage.h"
#include "record/trace/active_steps.h"

static void free_stages(struct plumb_thread *th)
{
    for (int i = 0; i < PLUMB_STAGES_MAX; i++)
        plumb_pages_unmap(th->pack[i], sizeof *th->pack[i]);
    plumb_pages_unmap(th->stage, PLUMB_STAGES_MAX * sizeof *th->stage);
}

void plumb_thread_free(struct plumb_thread *th)
{
    plumb_map_fini(&th->tree_node_of);
    plumb_map_fini(&th->state_of);
    plumb_pages_unmap(th->tree, th->tree_cap * sizeof *th->tree);
    plumb_active_forget(th);
    free_stages(th);
    plumb_pages_unmap(th, sizeof *th);
}

/* The page that the kernel wrote to is not the child's. */
static void free_watch(struct plumb_thread *th)
{
    plumb_pages_unmap(th->sched, sizeof *th->sched);
    th->sched = NULL;
}

/* In a handler that interrupted it, the forking thread may be about to take a record that nobody
 * has yet. */
void plumb_give_back(void)
{
    for (struct plumb_thread *th = plumb_rt.threads, *next; th; th = next) {
        next = th->next;
        free_watch(th);
        if (th != plumb_tls && !th->taken)
            plumb_thread_free(th);
    }
    plumb_rt.threads = plumb_rt.looked_at = plumb_rt.idle = NULL;
    PLUMB_EACH_SUBSYSTEM(give_back, );
    if (plumb_rt.run) {
        plumb_active_close(plumb_rt.run);
        plumb_mapping_close(plumb_rt.run);
    }
}
