/* step_marks.h: which step a slice belongs to. The slice may have the arg "step", which plumb's
 * traces leave out if the slice around it has the same. Or other slices mark the time of steps, as
 * PyTorch's profiler does, by the name "ProfilerStep#N". Then a slice belongs to step N that
 *
 *   runs inside the mark, on its track;
 *   was launched from there, as kernels are: a flow comes to it from a slice of another track;
 *   begins in its time on another track of the process, where one track alone has marks.
 *
 * The first that holds counts. Copies of marks on queues of devices (of category
 * "gpu_user_annotation") mark nothing. Any number of threads; the table must live as long. */
#ifndef PLUMB_ANALYZE_TRACE_STEP_MARKS_H
#define PLUMB_ANALYZE_TRACE_STEP_MARKS_H

#include "read/trace/ids.h"
#include "read/trace/table.h"
#include <plumb/error.h>

/* The name of rows of marks, whatever their numbers. */
#define PLUMB_STEP_MARK_NAME "ProfilerStep"

struct plumb_step_mark {
    uint64_t begin_ns, end_ns;
    uint32_t track, process; /* PLUMB_TABLE_NONE: the track has none */
    int64_t step;
};

struct plumb_step_marks {
    const struct plumb_table *t;
    uint32_t arg;                  /* the text "step" */
    uint32_t copy;                 /* the category of copies */
    struct plumb_ids named;        /* text -> its place in `numbers` + 1 */
    int64_t *numbers;              /* of steps */
    struct plumb_step_mark *marks; /* of processes with one such track; by process, then by time */
    size_t number_count, count;
    uint32_t *launched_by; /* of each slice the one, or PLUMB_TABLE_NONE; NULL: no marks */
};

/* PLUMB_ERR_MEMORY. Cost: one look at each text and each slice. */
int plumb_step_marks_init(struct plumb_step_marks *out, const struct plumb_table *t,
                          plumb_error *err);
void plumb_step_marks_fini(struct plumb_step_marks *m);

/* False: it belongs to none. Cost: that of its depth. */
bool plumb_step_of(const struct plumb_step_marks *m, uint32_t slice, int64_t *out);
/* Whether a slice of this name marks a step, or is a copy of such a mark; *out is its number. */
bool plumb_step_is_mark(const struct plumb_step_marks *m, uint32_t name, int64_t *out);

#endif
