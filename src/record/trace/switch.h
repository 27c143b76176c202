/* switch.h: switching a trace on and off inside a run that was opened without one: a *window* of
 * the run, for a time, for a number of steps, or until it is switched off. Any number of windows,
 * one after the other, each with a file of its own. A run in ring mode has a ring already, of which
 * a part is kept instead.
 *
 *   - While no window is on, a span costs what it costs in a run without a trace: the queue of a
 *     thread is looked at by folds alone.
 *   - A window begins on a thread when the helper holds it (record/span/thread_lock.h)
 *     and ends there likewise. All that the thread records between the two is in the file, or
 *     counted as dropped. Spans that are open at the begin are shown with their own begin, spans
 *     that are open at the end have none. Threads are switched one after the other, some
 *     microseconds each.
 *   - A killed process leaves in its mapping what its window lacks, as with the trace of a run; any
 *     reading command completes the file.
 *   - The rows and dropped counts of timing.json are those of the whole run; the list
 *     "trace_windows" has each window's own.
 *
 * Threads: on and off are for plumb's own thread (helper.h), which needs the descriptors; another
 * thread that calls them asks it and waits. None of these from a signal handler. Defined in
 * record/span/trace_switch.c, because a window holds threads, in trace_choice.c and trace_keep.c
 * there, and in steps.c. */
#ifndef PLUMB_RECORD_TRACE_SWITCH_H
#define PLUMB_RECORD_TRACE_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

#include "base/atomic.h"
#include "record/runtime/runtime.h"

struct plumb_anchor;
struct plumb_run;
struct plumb_thread;

enum { PLUMB_WINDOW_TEXT = 4096 /* bytes of each text, NUL included */ };
struct plumb_trace_window {
    /* Of the file, absolute. NULL: trace-<n>.pftrace in the run directory. "": there is no file,
     * the window only counts its time and its steps. */
    const char *path;
    const char *regions; /* names of regions separated by commas, "*": all; NULL: as set below */
    const char *nodes;   /* as PLUMB_TRACE_NODES, but the trace is kept to them; NULL likewise */
    uint64_t for_ns;     /* ends after so long; 0: no limit */
    uint64_t steps;      /* ends with so many steps that began in it (steps.c); 0: no limit */
    uint64_t max_bytes;  /* of the file; 0: PLUMB_TRACE_MAX */
};

/* Switches a window on, and writes the path of its file to `path` [size]. With regions and nodes
 * both must want a span. Errors: PLUMB_ERR_STATE: no run is open, it has no directory, is traced
 * already, or has no helper; PLUMB_ERR_ARG: no such region, a text is too long, or `size` too
 * small; PLUMB_ERR_IO: the file cannot be made; PLUMB_ERR_MEMORY. */
int plumb_trace_switch_on(const struct plumb_trace_window *window, char *path, size_t size,
                          plumb_error *err);
/* Switches the window off, completes its file, and writes the path to `path` [size]. Waits for the
 * disk. A window that has ended by itself since it was switched on is a success, once. Errors:
 * PLUMB_ERR_STATE: there is none; PLUMB_ERR_IO: the file lacks what came after its end (a full
 * disk, the bound): the text says why; PLUMB_ERR_ARG: `size`. */
int plumb_trace_switch_off(char *path, size_t size, plumb_error *err);
/* The same for the window with the file `only`, and for no other. Another may have begun since it
 * has ended by itself. On the helper. */
int plumb_trace_switch_off_only(const char *only, char *path, size_t size, plumb_error *err);
/* Ring mode: keeps the newest records now (plumb_trace_keep()), waits for the file, and writes its
 * path to `path` [size]. Errors: PLUMB_ERR_STATE: no ring is kept, or its writer does not answer;
 * PLUMB_ERR_IO: the piece could not be written; PLUMB_ERR_ARG: `size`. */
int plumb_trace_keep_now(const char *why, char *path, size_t size, plumb_error *err);
/* Set what later windows are kept to, unless they say it themselves; NULL and "": nothing. Errors:
 * PLUMB_ERR_ARG: no such region, or the text is too long. */
int plumb_trace_switch_regions(const char *names, plumb_error *err);
int plumb_trace_switch_nodes(const char *patterns, plumb_error *err);
/* Returns whether a window is on. Any thread. */
bool plumb_trace_window_is_on(void);
/* Returns a number that the window which is on has alone in this process; 0: none is on. Any
 * thread. */
uint32_t plumb_trace_window_number(void);

/* ---- Of the run and the helper --------------------------------------------------------------- */

void plumb_trace_switch_do(void); /* PLUMB_JOB_SWITCH */
/* Switches a window off whose time is over. Returns ns until that, UINT64_MAX: never. */
uint64_t plumb_trace_switch_turn(void);
/* The run has ended with its window open, whose file is complete; under life_lock. */
void plumb_trace_switch_ended(struct plumb_run *run, const struct plumb_anchor *end);
void plumb_trace_switch_forget(void); /* in the child of a fork */

/* ---- Steps, steps.c -------------------------------------------------------------------------- */

/* Counts `wanted` steps that begin from now on; 0: none any more. `highest`: the highest number of
 * those that have begun already; -1: none. On the helper. */
void plumb_trace_steps_watch(uint64_t wanted, int64_t highest);
/* Returns whether they are over. */
bool plumb_trace_steps_over(void);
/* The calling thread begins a step in scope number `depth`, from 1 on. `loop`: also if it has the
 * number of the one before. Costs a load while no window counts. */
void plumb_trace_step_counted(struct plumb_thread *th, int64_t step, uint32_t depth, bool loop);
static inline void plumb_trace_step(struct plumb_thread *th, int64_t step, uint32_t depth,
                                    bool loop)
{
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.step_watch)))
        plumb_trace_step_counted(th, step, depth, loop);
}
/* The calling thread has ended scopes: `th->scopes` are left. */
void plumb_trace_scope_counted(struct plumb_thread *th);
static inline void plumb_trace_scope_ended(struct plumb_thread *th)
{
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.step_watch)))
        plumb_trace_scope_counted(th);
}

#endif
