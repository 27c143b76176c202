/* metric.c: the table of metrics that rules can name. Counts have the names that recordings give
 * them. */
#include <string.h>

#include "analyze/gate/rules.h"

#define OF_NODE (PLUMB_GATE_NODE | PLUMB_GATE_PHASE)
#define OF_COUNT (OF_NODE | PLUMB_GATE_STEP | PLUMB_GATE_NAME | PLUMB_GATE_PER)

static const struct plumb_gate_metric metrics[] = {
    {"time", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE,
     "one run of a node or benchmark: each repetition, or the median of each recording", true},
    {"mean", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "mean of a node in each recording", false},
    {"min", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "shortest run of a node", false},
    {"max", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "longest run of a node", false},
    {"p95", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "95th percentile of a node", false},
    {"p99", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "99th percentile of a node", false},
    {"total", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "all runs of a node together", false},
    {"self", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "the same without nested nodes", false},
    {"device_time", PLUMB_GATE_TIME, OF_NODE, PLUMB_GATE_NODE, "mean time of a node on its device",
     false},
    {"cpu_time", PLUMB_GATE_TIME, PLUMB_GATE_NODE, 0,
     "processor time of a benchmark, or of a command that plumb ab runs", true},
    {"wall_clock", PLUMB_GATE_TIME, 0, 0, "a recording, or a command, from start to end", true},
    {"peak_rss", PLUMB_GATE_BYTES, OF_NODE, 0, "highest resident set: of the run, or of a stage",
     true},
    {"peak_allocated", PLUMB_GATE_BYTES, OF_NODE | PLUMB_GATE_NAME, 0,
     "highest allocated bytes of a pool: in the run, or in a stage", true},
    {"peak_reserved", PLUMB_GATE_BYTES, OF_NODE | PLUMB_GATE_NAME, 0,
     "highest reserved bytes of a pool: in the run, or in a stage", true},
    {"runs", PLUMB_GATE_COUNT, OF_NODE, PLUMB_GATE_NODE, "how often a node ran", true},
    {"dispatches", PLUMB_GATE_COUNT, OF_COUNT, 0, "calls into native code", true},
    {"launches", PLUMB_GATE_COUNT, OF_COUNT, 0, "kernels that were started on a device", true},
    {"copies", PLUMB_GATE_COUNT, OF_COUNT, 0, "copies between memories", true},
    {"copy_bytes", PLUMB_GATE_BYTES, OF_COUNT, 0, "bytes of these copies", true},
    {"synchronisations", PLUMB_GATE_COUNT, OF_COUNT, 0, "waits for a device", true},
    {"allocations", PLUMB_GATE_COUNT, OF_COUNT, 0, "allocations of memory", true},
    {"allocated_bytes", PLUMB_GATE_BYTES, OF_COUNT, 0, "bytes of these allocations, added up",
     true},
    {"peak_bytes", PLUMB_GATE_BYTES, OF_COUNT, 0, "highest allocated bytes", true},
    {"page_faults", PLUMB_GATE_COUNT, OF_COUNT, 0, "page faults", true},
    {"instructions", PLUMB_GATE_COUNT, OF_COUNT, 0, "instructions, where the kernel counts them",
     true},
    {"user", PLUMB_GATE_SIGNED, OF_COUNT, 0, "counts of the program", true},
    {"calls", PLUMB_GATE_COUNT, OF_COUNT, 0, "calls of library functions (plumb record --count)",
     true},
    {"figure", PLUMB_GATE_SIZE, PLUMB_GATE_NODE | PLUMB_GATE_NAME, PLUMB_GATE_NAME,
     "the figure 'name' of a result that 'plumb history add' reads, in its own unit", true},
    {"exit_status", PLUMB_GATE_COUNT, PLUMB_GATE_COMMAND, PLUMB_GATE_COMMAND,
     "exit status of a command", false},
    {"crossover", PLUMB_GATE_SIZE, PLUMB_GATE_NAME, 0,
     "size from which on variant B of a sweep is faster", false},
};

const struct plumb_gate_metric *plumb_gate_metric(size_t i)
{
    return i < sizeof metrics / sizeof *metrics ? &metrics[i] : NULL;
}

const struct plumb_gate_metric *plumb_gate_metric_find(const char *name)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

bool plumb_gate_is_whole(const struct plumb_gate_metric *metric)
{
    return metric->quantity != PLUMB_GATE_TIME && metric->quantity != PLUMB_GATE_SIZE;
}
