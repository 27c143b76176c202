/* fork_release.c: unmaps the memory of the parent's run that a forked child does not need. A
 * process that lives on in its children, each of which ends its parent, must not grow by a run each
 * time.
 *
 * The child has only the forking thread. The parent's other threads were anywhere in their code. So
 * the child reads only pointers of theirs that are mapped or NULL at every moment (runtime.h,
 * map.h). A fork between two stores leaks a little, and nothing foreign is unmapped. The forking
 * thread keeps its memory, for the child's run. */
#include "base/pages.h"
#include "model/signature_pack.h"
#include "record/collect/sched.h"
#include "record/count/tally.h"
#include "record/run/subsystems.h"
#include "record/runtime/carve.h"
#include "record/runtime/thread.h"
#include "record/stage/perf.h"
#include "record/stage/stage.h"
#include "record/trace/active_steps.h"

static void free_stages(struct plumb_thread *th)
{
    for (int i = 0; i < PLUMB_STAGES_MAX; i++)
        plumb_pages_unmap(th->pack[i], sizeof *th->pack[i]);
    plumb_pages_unmap(th->stage, PLUMB_STAGES_MAX * sizeof *th->stage);
    plumb_pages_unmap(th->perf, sizeof *th->perf);
}

void plumb_thread_free(struct plumb_thread *th)
{
    plumb_map_fini(&th->tree_node_of);
    plumb_map_fini(&th->state_of);
    plumb_pages_unmap(th->tree, th->tree_cap * sizeof *th->tree);
    plumb_active_forget(th);
    free_stages(th);
    plumb_pages_unmap(th->tally, sizeof *th->tally);
    plumb_pages_unmap(th, sizeof *th);
}

/* The kernel's page of records is not mapped in the child. */
static void free_watch(struct plumb_thread *th)
{
    plumb_pages_unmap(th->sched, sizeof *th->sched);
    th->sched = NULL;
}

/* If a handler forks, the thread that it interrupted may be about to take a record that has no
 * thread yet. */
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
