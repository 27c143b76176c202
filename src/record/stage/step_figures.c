/* step_figures.c: peaks of memory, page faults and instructions of the runs of a stage, by step, as
 * counts (record/count). Those of the whole run are figures of the stage (ledger.c, perf.c); a
 * reset drops both. Under the ledger's lock. */
#include "base/process/perf.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/stage/ledger.h"
#include "record/stage/memory_pool.h"

static void add(struct plumb_run *run, const struct plumb_stage_entry *e, uint32_t kind,
                const char *name, uint64_t value)
{
    struct plumb_count_event c = {.kind = kind,
                                  .group = plumb_key_group(e->key),
                                  .node = plumb_key_node(e->key),
                                  .step = e->step,
                                  .name = name,
                                  .calls = 1,
                                  .value = (int64_t)value};
    plumb_cell_add_of_stage(run, &c);
}

void plumb_step_peaks(struct plumb_run *run, const struct plumb_stage_entry *e)
{
    for (uint32_t i = 0; e->step >= 0 && i < e->memory.use_count; i++) {
        const struct plumb_live_use *u = &e->memory.use[i];
        if (u->peak_allocated)
            add(run, e, PLUMB_COUNT_PEAK_BYTES, plumb_pool_name(run, u->pool), u->peak_allocated);
    }
}

/* A figure that is an estimate is added as well: the whole run, which knows that one of its runs
 * was, has no such count then, and none by step. */
void plumb_step_counters(struct plumb_run *run, const struct plumb_stage_entry *e)
{
    const uint32_t faults =
        PLUMB_PERF_BIT(PLUMB_PERF_MINOR_FAULTS) | PLUMB_PERF_BIT(PLUMB_PERF_MAJOR_FAULTS);
    const struct plumb_perf_counts *p = e->perf;
    if (e->step < 0)
        return;
    if ((p->known & faults) == faults)
        add(run, e, PLUMB_COUNT_PAGE_FAULTS, "",
            p->value[PLUMB_PERF_MINOR_FAULTS] + p->value[PLUMB_PERF_MAJOR_FAULTS]);
    if (p->known & PLUMB_PERF_BIT(PLUMB_PERF_INSTRUCTIONS))
        add(run, e, PLUMB_COUNT_INSTRUCTIONS, "", p->value[PLUMB_PERF_INSTRUCTIONS]);
}
