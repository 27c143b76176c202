/* thread.h: the record of a thread.
 *
 * It is private memory of one thread; others read it only where a comment says so. Its `gate` is
 * the one word that the span path checks: PLUMB_GATE_OPEN alone means "record". In a forked child
 * the record reads as zero (the kernel wipes it), so the child finds a closed gate. */
#ifndef PLUMB_RECORD_RUNTIME_THREAD_H
#define PLUMB_RECORD_RUNTIME_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/map.h"
#include "live/layout.h"
#include "live/trace_drops.h"
#include "record/runtime/caller.h"
#include "record/runtime/region_state.h"

enum {
    PLUMB_SCOPES_MAX = 64,
    PLUMB_STAGES_MAX = 32, /* nested stages; deeper ones are plain nodes */
    PLUMB_PATH_MAX = 27,   /* entries of plumb_context.path */
    PLUMB_KNOWN_NAMES = 16,
    PLUMB_TREE_NODES_MAX = 65536
};

struct plumb_run;

enum plumb_gate {
    PLUMB_GATE_OPEN = 1,    /* attached to the open run */
    PLUMB_GATE_OFF = 2,     /* the thread's pipeline is disabled */
    PLUMB_GATE_SYNC = 4,    /* the pipeline wants devices synchronised */
    PLUMB_GATE_ENDED = 8,   /* the run it is attached to has ended */
    PLUMB_GATE_MEMORY = 16, /* memory is measured for every node */
    PLUMB_GATE_NVTX = 32,   /* each span is an NVTX range as well */
    PLUMB_GATE_STACK = 64   /* the trace has call stacks */
};
struct plumb_scope_entry { /* what to restore */
    uint32_t id;
    uint32_t group;
    int64_t step;
    uint32_t path_depth, path_group;
    uint32_t adopted_run; /* run of the adopted context: memory and request are restored as well */
    uint32_t memory;
    uint64_t request;
    uint32_t path[PLUMB_PATH_MAX];
};

/* Malloc events of a thread that have not been passed on yet (record/stage/malloc_events.c). */
struct plumb_sized_sum {
    uint64_t allocs, alloc_bytes, frees, free_bytes;
};
struct plumb_sized_part {
    uint64_t key; /* of a node */
    int64_t step;
    struct plumb_sized_sum sum;
    int64_t most; /* the maximum of alloc_bytes - free_bytes */
};
enum { PLUMB_SIZED_PARKED = 8 };
struct plumb_sized {
    struct plumb_sized_part now;    /* of the node around */
    uint64_t at, base;              /* th->head and th->base when that was looked up */
    struct plumb_sized_sum tallied; /* the part of now.sum that record/count/tally.c has */
    struct plumb_sized_sum late;    /* in signal handlers that interrupted the runtime; atomic */
    struct plumb_sized_part parked[PLUMB_SIZED_PARKED]; /* of nodes before, to be passed on */
    uint32_t parked_count;
};

/* A place of the call tree with the fold's working data; one cache line. */
struct plumb_tree_node {
    struct plumb_live_tree *live;
    struct plumb_live_state *state; /* of the tree node's key; valid when ready */
    uint64_t key;                   /* group << PLUMB_NODE_BITS | node */
    uint32_t parent;
    uint32_t hint;    /* child visited last */
    uint32_t next;    /* sibling that was visited after this one last time */
    uint32_t ready;   /* low half of the number of the first block of the fold in which runs may be
                         added without a check */
    uint64_t settled; /* the condition that the state was found settled for (record/span/fold.c); 0:
                       * not yet */
    uint64_t reserved[2];
};

/* The part of a thread's record that a child keeps begins a page. On machines with larger pages a
 * child keeps nothing, and gives nothing back. */
enum { PLUMB_THREAD_PAGE = 4096 };

enum plumb_busy {
    PLUMB_BUSY_RECORDING = 1, /* inside the runtime, and perhaps in the run's mapping */
    PLUMB_BUSY_LOCKED = 2     /* only holds the lock, or waits for it */
};

/* The range of a stack, and the request for it. Its thread asks, waits for `answered`, and does not
 * change the request until then (record/trace/stack.c). */
struct plumb_stack_range {
    uintptr_t begin, end, readable_end; /* its mapping; 0: there is no walk */
    uint32_t asked, answered;           /* atomic */
    uintptr_t at, control;              /* the thread's control block */
    struct {
        uintptr_t begin, end, readable_end;
    } answer;
};

struct plumb_unhook {
    const struct plumb_hooks *hooks;
    uint32_t node;
};

/* The steps that the thread has begun in a window that counts them (record/trace/steps.c). A record
 * that another thread takes over goes on with it. */
struct plumb_step_count {
    uint32_t watch; /* which window; another one begins with nothing */
    uint32_t last;  /* the scope of the last step, from 1 on; 0: it has not begun */
    int64_t step;   /* that began last; -1: none */
    uint64_t begun;
};

/* A name that the thread has used, and its offset in the mapping of a run. */
struct plumb_known_name {
    uint64_t hash, off;
    uint32_t generation;
};

struct plumb_thread {
    /* the span path */
    uint32_t gate;   /* enum plumb_gate; others set and clear bits */
    uint32_t busy;   /* enum plumb_busy; others read it */
    uint64_t *head;  /* next word of the ring block */
    uint64_t *limit; /* below it a begin and its end fit, in the block and on the stack */
    uint64_t *end;   /* where the block ends */
    uint64_t base;   /* ticks that the block's records count from */
    /* The open spans. A handle is the address of the span's begin record, which is unique among the
     * open spans of all threads. */
    uint64_t *top; /* the innermost; without one open[0], which no handle equals */
    uint64_t open[PLUMB_DEPTH_MAX + 1];
    /* the fold */
    uint32_t generation; /* of the run it is attached to: the pointers are valid in that run */
    uint32_t frozen;     /* held in our signal handler, from which it never continues */
    struct plumb_live_thread *live;
    struct plumb_live_state *last_state; /* end of the block's list */
    uint64_t *block;
    uint64_t number;      /* of that block; released: earlier blocks are complete */
    uint64_t sampled;     /* the newest block with a device's sample; 0: none. Atomic */
    uint32_t batch, most; /* blocks that are folded together, and that may wait for a fold
               * (record/span/ring.c) */
    uint32_t tree_count;
    uint32_t other_tree_node;
    uint32_t held; /* record/span/thread_lock.h: a thread folds or copies; atomic */
    struct plumb_live_queue *queue; /* of the trace; NULL: none */
    struct plumb_caller caller;     /* of a begin, for its call stack */
    struct plumb_stack_range stack; /* the last one that it was on */
    uint32_t queue_path;            /* adopted path when the block began */
    uint32_t queue_paths[PLUMB_TRACE_PATH];
    /* the rest */
    uint32_t clock; /* enum plumb_clock_source */
    uint32_t tid;
    uint32_t group; /* current pipeline << 8 | phase */
    int64_t step;
    uint32_t path_depth, path_group; /* adopted path, and the group that it was adopted with */
    uint32_t path[PLUMB_PATH_MAX];
    struct plumb_known_name names[PLUMB_KNOWN_NAMES]; /* text.c: by their hash */
    struct plumb_step_count steps;
    uint32_t scopes, scope_serial;
    struct plumb_scope_entry scope[PLUMB_SCOPES_MAX];
    /* the ledger: under its lock, or of this thread alone */
    uint32_t memory;                              /* innermost memory scope; 0: none yet */
    uint32_t memory_root;                         /* its own; 0: none yet */
    uint32_t memory_adopted;                      /* contexts that it works in */
    uint64_t request;                             /* serial; 0: none */
    uint32_t stages;                              /* open ones */
    uint32_t unhooked;                            /* stages that were closed from outside ... */
    struct plumb_unhook unhook[PLUMB_STAGES_MAX]; /* ... whose hooks are still to be called */
    struct plumb_sized sized;
    struct plumb_region_stack regions;
    uint32_t
        nvtx_depth; /* ranges pushed and not popped: one for each open span (record/trace/nvtx.h) */
    struct plumb_thread *next_idle;
    /* Counts of the block that a trace loses (record/trace/trace.c): too large for small stacks. */
    struct {
        struct plumb_trace_drops drops;
        struct plumb_trace_stack stack;
    } losing;
    /* Pages that a forked child keeps, to release the memory that it does not need
     * (fork_release.c). A fork may come between any two stores of their owner: a pointer that is
     * set here is mapped, for at least as many bytes as its capacity. */
    _Alignas(PLUMB_THREAD_PAGE) struct plumb_tree_node *tree; /* the fold's */
    uint32_t tree_cap;
    bool wiped;                      /* the kernel wipes the part before this on fork */
    bool taken;                      /* no longer idle, and not a thread's yet */
    struct plumb_map tree_node_of;   /* parent << 36 | key -> place + 1 */
    struct plumb_map state_of;       /* channel << 36 | key -> state */
    struct plumb_sched_watch *sched; /* record/collect/sched.h: its switches; NULL: not watched */
    struct plumb_active_spans
        *active;               /* record/trace/active_steps.c's, after the first run with steps */
    struct plumb_tally *tally; /* record/count/tally.c; NULL: nothing counted */
    struct plumb_stage_run *stage;             /* [PLUMB_STAGES_MAX], made at the first */
    struct plumb_perf_thread *perf;            /* record/stage/perf.h: its counters; made at the
                                                * first stage that they are read for. Released */
    struct plumb_pack *pack[PLUMB_STAGES_MAX]; /* inputs and outputs of each, made at the first */
    struct plumb_thread *next;                 /* of all records */
};
enum { PLUMB_THREAD_WIPED = offsetof(struct plumb_thread, tree) /* bytes */ };

/* The result of plumb_enter(): the calling thread, and the open run, which stays until
 * plumb_leave(). There is no other way from a thread to a run. */
struct plumb_in {
    struct plumb_thread *th;
    struct plumb_run *run;
};

extern __thread struct plumb_thread *plumb_tls __attribute__((tls_model("initial-exec")));

/* Returns whether its thread may record into the open run. That does not change inside enter. */
static inline bool plumb_is_attached(const struct plumb_thread *th)
{
    return (PLUMB_LOAD(th->gate) & (PLUMB_GATE_OPEN | PLUMB_GATE_ENDED)) == PLUMB_GATE_OPEN;
}

static inline uint32_t plumb_depth(const struct plumb_thread *th)
{
    return (uint32_t)(th->top - th->open);
}

/* ---- record/span/thread.c -------------------------------------------------------------------- */

struct plumb_thread *plumb_thread_self(void); /* the record, made when missing; NULL: no memory */
int plumb_thread_attach(struct plumb_thread *th); /* to the open run; < 0: none, or it is full */
/* The same, but returns PLUMB_ERR_STATE instead of opening a run or handling a fork that libc does
 * not know of. */
int plumb_thread_attach_open(struct plumb_thread *th);
int plumb_thread_attach_to(struct plumb_thread *th, struct plumb_run *run); /* under the lock */
void plumb_thread_gate(struct plumb_thread *th); /* recomputes the gate; under the lock */
struct plumb_thread *plumb_thread_new(void);
/* fork_release.c: unmaps the record and the memory that it owns. It must not be any thread's. */
void plumb_thread_free(struct plumb_thread *th);
/* In the child that fork() made, before plumb_run_forked(), unless this thread was interrupted in
 * plumb: unmaps the private memory of the parent's run and of the parent's other threads. */
void plumb_give_back(void);
/* Resets the thread records in a forked child. `interrupted`: interrupted code of plumb continues
 * on this thread, with its record. */
void plumb_threads_forget(bool interrupted);
/* Around a fork of a thread that was interrupted in plumb: sets whether the child keeps its
 * record. */
void plumb_thread_keep(struct plumb_thread *th, bool keep);
void plumb_thread_release(struct plumb_thread *th);
bool plumb_thread_is_gone(const struct plumb_thread *th); /* ended, without or within plumb */
/* A closing run waits at most this long for all threads together. A busy machine may keep a thread
 * from running for a few hundred milliseconds; the rest is a margin. */
enum { PLUMB_LEAVE_WAIT_MS = 2000 };
/* Waits until the thread is not in the runtime any more, or until `deadline_ns` of CLOCK_MONOTONIC.
 * Returns true if it is out, or will never continue (held in our signal handler, or ended by an
 * asynchronous cancellation); then the reader repairs its data. Returns false for the calling
 * thread if it is inside. */
bool plumb_thread_await(const struct plumb_thread *th, uint64_t deadline_ns);
/* A memory barrier on all threads of the process: the caller sees their earlier stores, and they
 * see the caller's. Used by ends and stops; too slow for a summary. */
void plumb_barrier(void);

/* Before a fold: returns whether the block may hold spans that the trace selects. Counts the spans
 * that are left out. */
bool plumb_regions_want_block(struct plumb_in in);

#endif
