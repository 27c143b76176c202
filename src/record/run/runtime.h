/* runtime.h: what the files of core share: the runtime, its runs and its thread records.
 *
 * One runtime per process (`plumb_rt`), born when the library is loaded, never destroyed: other
 * people's threads may call it until the process is gone.
 *
 * Locks: one mutex, plumb_rt.lock, for everything slow (registering, carving, switching, starting,
 * stopping). The span path takes it only in the first run of a node on a thread. Nothing calls out
 * (device synchronise, log callback) while holding it.
 *
 * A thread record is private memory of one thread; others read it only where a comment says so. Its
 * `gate` is the one word the span path checks: PLUMB_GATE_OPEN alone means "record". The record
 * reads as zero in a forked child (the kernel wipes it), so that a closed gate is what a child
 * finds. */
#ifndef PLUMB_RECORD_RUN_RUNTIME_H
#define PLUMB_RECORD_RUN_RUNTIME_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/own_file.h"
#include "base/process/rank.h"
#include "config/settings.h"
#include "live/layout.h"
#include "live/trace_drops.h"
#include "record/control/helper.h"
#include "record/control/lock.h"
#include "record/span/caller.h"
#include "record/span/region.h"
#include "record/span/span_pairs.h"
#include <plumb/abi.h>

enum {
    PLUMB_PIPELINES_MAX = 255,
    PLUMB_PHASES_MAX = 255,
    PLUMB_SCOPES_MAX = 64,
    PLUMB_STAGES_MAX = 32, /* nested stages; deeper ones are plain nodes */
    PLUMB_DEVICES_MAX = 64,
    PLUMB_PATH_MAX = 27, /* entries of plumb_context.path */
    PLUMB_KNOWN_NAMES = 16,
    PLUMB_PLACES_MAX = 65536
};

struct plumb_shape_times;
struct plumb_timing;

/* ---- Runs ------------------------------------------------------------------------------------ */
struct plumb_run {
    unsigned char *base; /* the mapping; struct plumb_live_header first */
    struct plumb_live_header *h;
    size_t mapped;
    size_t backed;              /* bytes with storage behind them; released */
    size_t want, want_soon;     /* what the helper is asked to back; atomic */
    bool is_tight;              /* it could not be backed ahead of need */
    size_t reserve;             /* bytes at the end that only the statistics of (other) may take */
    const char *bounded_by;     /* why `mapped` is less than PLUMB_MAX_STATE; NULL: it is not */
    size_t trace_left;          /* bytes that queues of the trace may still take */
    bool in_file;               /* it has a file; in memory only otherwise */
    int fd;                     /* of the file, among the helper's; -1: none is kept */
    struct plumb_own_file file; /* of the mapping */
    uint32_t generation;
    uint64_t own_cpu_from; /* plumb_own_cpu_ns() when it was opened */
    char dir[1024];        /* absolute; "" while there is none */
    char problem[256];     /* why there is no directory, or why it stopped growing */
    bool partly;           /* it stopped growing: the file holds what there was then; released */
    bool noted;            /* which the run knows */
    size_t frozen;         /* bytes of that */
    uint64_t names_bytes;  /* of the names that text.c has room for */
    struct plumb_why_bucket *whys; /* text.c's; NULL: no reason yet */
    struct plumb_map texts;
    struct plumb_map keys;       /* state key -> key index + 1 */
    struct plumb_map stages;     /* key + 1 -> index in the table of stages + 1 */
    struct plumb_map owners;     /* pool and key -> index in the table of owners + 1 */
    struct plumb_map scheds;     /* key + 1 -> number in h->scheds */
    struct plumb_map devices;    /* key + 1 -> index in the table of devices + 1 */
    struct plumb_map signatures; /* node + 1 -> index in the table of signatures + 1 */
    /* First of the checkpoints of each section of requests, and of none: index + 1. */
    uint32_t checkpoints[PLUMB_LIVE_SECTIONS + 1];
    uint32_t free_checkpoint; /* first of those of no section: index + 1 */
    uint64_t high_at_start;   /* peak of the resident set when the run opened */
    uint64_t sample_pause_ns; /* between samples of memory */
    uint64_t samples;         /* of these, since a series was thinned out */
    uint64_t async_head;      /* free async slots: tag << 32 | index + 1 */
    struct plumb_active
        *active; /* record/trace/active_steps.c; NULL: the trace is not kept to steps */
};

/* ---- Threads --------------------------------------------------------------------------------- */
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
    uint32_t adopted_run; /* a context of that run: memory and request are restored as well */
    uint32_t memory;
    uint64_t request;
    uint32_t path[PLUMB_PATH_MAX];
};

/* What malloc did on a thread since it was last passed on (record/stage/malloc_events.c). */
struct plumb_sized_sum {
    uint64_t allocs, alloc_bytes, frees, free_bytes;
};
struct plumb_sized_part {
    uint64_t key; /* of a node */
    struct plumb_sized_sum sum;
    int64_t most; /* the highest that alloc_bytes - free_bytes was */
};
enum { PLUMB_SIZED_PARKED = 8 };
struct plumb_sized {
    struct plumb_sized_part now; /* of the node around */
    uint64_t at, base;           /* th->head and th->base when that was looked up */
    struct plumb_sized_sum late; /* in signal handlers that interrupted the runtime; atomic */
    struct plumb_sized_part parked[PLUMB_SIZED_PARKED]; /* of nodes before, to be passed on */
    uint32_t parked_count;
};

/* A place of the call tree with what the fold needs at hand; one cache line. */
struct plumb_place {
    struct plumb_live_tree *live;
    struct plumb_live_state *state; /* of the place's key; valid when ready */
    uint64_t key;                   /* group << PLUMB_NODE_BITS | node */
    uint32_t parent;
    uint32_t hint;    /* child visited last */
    uint32_t next;    /* sibling visited after this one the last time */
    uint32_t ready;   /* low half of the number of the first block of the fold in which runs may be
                         added without a look */
    uint64_t settled; /* what the state was found settled for (record/span/fold.c); 0: not yet */
    uint64_t reserved[2];
};

/* What a child keeps of a thread's record begins a page. Where pages are larger it keeps none, and
 * gives nothing back. */
enum { PLUMB_THREAD_PAGE = 4096 };

enum plumb_busy {
    PLUMB_BUSY_RECORDING = 1, /* inside the runtime, and perhaps in the run's mapping */
    PLUMB_BUSY_LOCKED = 2     /* only holds the lock, or waits for it */
};

/* Of a stack, and what is asked about it: by its thread, which waits for `answered`, and writes no
 * more until then (record/trace/stack.c). */
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

/* A name that the thread used, and where it is in the mapping of a run. */
struct plumb_known_name {
    uint64_t hash, off;
    uint32_t generation;
};

struct plumb_thread {
    /* the span path */
    uint32_t gate;   /* enum plumb_gate; others set and clear bits */
    uint32_t busy;   /* enum plumb_busy; others read it */
    uint64_t *head;  /* next word of the ring block */
    uint64_t *limit; /* before it there is room for a begin: on the stack, and for its end too */
    uint64_t *end;   /* where the block ends */
    uint64_t base;   /* ticks that the block's records count from */
    /* The spans that are open. A handle is the address of the span's begin record: unlike among all
     * threads, and never the address of another open span. */
    uint64_t *top; /* the innermost; open[0], which no handle equals, when there is none */
    uint64_t open[PLUMB_DEPTH_MAX + 1];
    /* the fold */
    uint32_t generation; /* of the run it is attached to: the pointers end with that */
    uint32_t frozen;     /* held in our signal handler, never to go on */
    struct plumb_live_thread *live;
    struct plumb_live_state *last_state; /* end of the block's list */
    uint64_t *block;
    uint64_t number;  /* of that block; released: those before it are whole */
    uint64_t sampled; /* the newest block with a device's sample; 0: none. Atomic */
    uint32_t batch,
        most; /* blocks that are folded together, and that may wait for it (record/span/ring.c) */
    uint32_t place_count;
    uint32_t other_place;
    uint32_t held; /* record/span/thread_lock.h: somebody folds or copies; atomic */
    struct plumb_live_queue *queue; /* of the trace; NULL: none */
    struct plumb_caller caller;     /* that a begin came from, for its call stack */
    struct plumb_stack_range stack; /* that it was on last */
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
    /* Of the block that a trace loses (record/trace/trace.c): too large for the stacks of small threads. */
    struct {
        struct plumb_trace_drops drops;
        struct plumb_trace_stack stack;
    } losing;
    /* Pages that a forked child keeps, to give back what it has no use for (fork_release.c). A child
     * may be forked between any two of their owner's stores: a pointer that is set here is mapped,
     * for as many bytes as its capacity says or more. */
    _Alignas(PLUMB_THREAD_PAGE) struct plumb_place *places; /* the fold's */
    uint32_t place_cap;
    bool wiped;                      /* the kernel wipes what lies before on fork */
    bool taken;                      /* no longer idle, and nobody's yet */
    struct plumb_map place_of;       /* parent << 36 | key -> place + 1 */
    struct plumb_map state_of;       /* channel << 36 | key -> state */
    struct plumb_sched_watch *sched; /* record/collect/sched.h: its switches; NULL: not watched */
    struct plumb_active_spans
        *active; /* record/trace/active_steps.c's, once there was a run with steps */
    struct plumb_stage_run *stage;             /* [PLUMB_STAGES_MAX], made at the first */
    struct plumb_pack *pack[PLUMB_STAGES_MAX]; /* inputs and outputs of each, made when told */
    struct plumb_thread *next;                 /* of all records */
};
enum { PLUMB_THREAD_WIPED = offsetof(struct plumb_thread, places) /* bytes */ };

/* What plumb_enter() hands out: the calling thread, and the open run, which stays until
 * plumb_leave(). There is no other way from a thread to a run. */
struct plumb_in {
    struct plumb_thread *th;
    struct plumb_run *run;
};

/* ---- Names ----------------------------------------------------------------------------------- */
struct plumb_site {
    struct plumb_site *next;
    const char *file;
    uint32_t line;
};

struct plumb_node_entry { /* outlives points and runs */
    const char *name;
    uint64_t hash;
    struct plumb_site *sites;
    uint32_t flags; /* enum plumb_point_flags, of all its points; PLUMB_NODE_SELECTED */
    plumb_device *device;
    struct plumb_node_check *checks; /* of its inputs and outputs (record/stage/check.c) */
    uint32_t region;                 /* number of the region that it is of; 0: none */
    struct plumb_hooks *hooks;       /* around its runs (record/stage/hook.h); released */
};

enum {
    PLUMB_NODE_CHUNK_BITS = 12, /* nodes of a chunk, which is mapped when the first one comes */
    PLUMB_NODE_CHUNKS = 1 << (PLUMB_NODE_BITS - PLUMB_NODE_CHUNK_BITS)
};

struct plumb_device {
    const char *name;
    void (*sync)(void *arg); /* atomic; NULL: not registered any more */
    void *arg;
    uint32_t calls; /* atomic: threads in it */
    bool used;      /* under the lock: the place is not free */
};

struct plumb_pipeline {
    const char *name;
    uint32_t index;
    uint32_t enabled, sync; /* read without the lock */
    uint64_t skip_first_n;
    plumb_device *device;
    bool configured; /* by the program: settings no longer apply */
};

struct plumb_name_table { /* dense names under the lock; read by index without it */
    const char *name[256];
    uint32_t count;
};

/* ---- The runtime ----------------------------------------------------------------------------- */
struct plumb_runtime {
    pthread_mutex_t lock;
    const struct plumb_api *api; /* the table in force: this copy's, or the first copy's */
    bool forwards;               /* another copy came first */
    struct plumb_settings settings;
    uint32_t recording; /* a run is open */
    int32_t rank;       /* of the run; negative: unknown */
    uint32_t debug;
    uint32_t debug_asked; /* 1 + what a handler that may not take the lock wants `debug` to be */
    uint32_t pid;
    enum plumb_clock_source clock;
    plumb_leaves_fn *leaves; /* the fastest for this processor */
    struct plumb_anchor early;
    bool membarrier; /* registered: readers may order writers */
    struct plumb_run *run;
    pthread_mutex_t life_lock;                /* start, stop, fork: taken before `lock` */
    pthread_mutex_t ledger_lock;              /* record/stage/ledger.h */
    char last_dir[1024];                      /* of the run that ended last */
    bool forked;                              /* a forked child of a process that had the runtime */
    char report_pattern[PLUMB_SETTINGS_PATH]; /* PLUMB_TIMING_REPORT as it was given ... */
    char report_base[PLUMB_SETTINGS_PATH];    /* ... and what it is relative to */
    bool told_idle;                           /* of settings that do nothing */
    uint32_t generation;
    bool want_run; /* a run opens with the first span (fork child, PLUMB=1) */
    bool hooked;   /* a node has, or had, hooks */
    /* points */
    struct plumb_client **clients;
    uint32_t client_count, client_cap;
    /* nodes */
    struct plumb_node_entry *nodes[PLUMB_NODE_CHUNKS]; /* plumb_node_at(); released */
    uint32_t node_count;
    bool nodes_refused;   /* no memory for the first of them */
    uint32_t *node_index; /* open addressing, node ids; released */
    uint32_t node_index_cap;
    struct plumb_pipeline pipelines[PLUMB_PIPELINES_MAX + 1];
    uint32_t pipeline_count;
    struct plumb_name_table phases;
    struct plumb_device devices[PLUMB_DEVICES_MAX];
    uint32_t device_count;
    struct plumb_regions regions;
    char *text_at; /* bump storage of names */
    size_t text_left;
    struct plumb_environment_copy *environment; /* atomic */
    struct plumb_environment_copy *environment_before;
    /* threads */
    struct plumb_thread *threads;
    struct plumb_thread *looked_at; /* whether its thread is gone, last */
    struct plumb_thread *idle;      /* those whose thread has ended */
    pthread_key_t exit_key;
    bool exit_key_made;
    struct plumb_summary_memory *summary_memory;
    pthread_mutex_t snapshot_lock; /* one summary at a time; the run stays meanwhile */
    uint64_t overhead_ticks_x1000, overhead_work_ticks_x1000;
    uint64_t nodes_seen_beyond, pipelines_seen_beyond; /* while no run was open */
    uint64_t handlers_turned_away;                     /* while their thread had the lock */
    uint64_t lost_before; /* spans that came while a run opened, and did not wait; atomic */
    /* collectors */
    uint64_t host_hz; /* ticks a second, as measured last */
    uint64_t flows;   /* of origins, given so far */
    /* Of src/report, above this layer. Says on stderr what a run holds; `dir` NULL: no directory;
     * `summary`: with the files of rank_files(). */
    void (*end_block)(const struct plumb_timing *t, const char *dir, bool summary);
    /* Passes files that belong beside timing.json to `write`, with their names. */
    int (*rank_files)(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                      plumb_write_fn write, void *arg, plumb_error *err);
};

extern struct plumb_runtime plumb_rt;
extern __thread struct plumb_thread *plumb_tls __attribute__((tls_model("initial-exec")));

/* facts.c: the environment as it was when the library was loaded, when the run opened, or when
 * the program last asked to record. Never `environ`, which another thread may free. */
char *const *plumb_environ(void);
/* Looks again. `direct`: the program called, and so answers for `environ` as it does for getenv().
 * Under life_lock, or before there are threads. */
void plumb_environ_look(bool direct);

#define PLUMB_AT(run, type, off) ((type *)(void *)((run)->base + (off)))
static inline uint64_t plumb_off_of(const struct plumb_run *run, const void *p)
{
    return (uint64_t)((const unsigned char *)p - run->base);
}
static inline void plumb_drop(struct plumb_run *run, enum plumb_live_drop what)
{
    PLUMB_ADD(run->h->drops[what], 1);
}

/* Whether a run is open or opens with the next span. In this order: opening raises `recording`
 * before it lowers `want_run`. */
static inline bool plumb_wanted(void)
{
    bool want = PLUMB_ACQUIRE(plumb_rt.want_run);
    return want | (PLUMB_LOAD(plumb_rt.recording) != 0);
}

/* Counts what a signal handler would have recorded, had it not interrupted its thread where there
 * is no run at hand. The run that ends next has it. */
static inline void plumb_turn_handler_away(void)
{
    if (plumb_wanted())
        PLUMB_ADD(plumb_rt.handlers_turned_away, 1);
}

/* The rank that records of single values name: 0 where none is known. */
static inline int32_t plumb_rank_told(void)
{
    int32_t rank = PLUMB_LOAD(plumb_rt.rank);
    return rank < 0 ? 0 : rank;
}

/* Whether the record's block lies in `run`, whoever's thread it is now. */
static inline bool plumb_belongs(const struct plumb_thread *th, const struct plumb_run *run)
{
    return run && PLUMB_ACQUIRE(th->generation) == run->generation && th->live;
}

/* Whether its thread may record into the open run. Inside enter it stays so. */
static inline bool plumb_is_attached(const struct plumb_thread *th)
{
    return (PLUMB_LOAD(th->gate) & (PLUMB_GATE_OPEN | PLUMB_GATE_ENDED)) == PLUMB_GATE_OPEN;
}

/* The run of a thread that is inside: none that is open then goes away before it leaves. NULL: the
 * thread was held up in here so long that its run was ended without it. */
static inline struct plumb_run *plumb_run_inside(const struct plumb_thread *th)
{
    struct plumb_run *run = PLUMB_ACQUIRE(plumb_rt.run);
    return plumb_belongs(th, run) ? run : NULL;
}

static inline uint32_t plumb_depth(const struct plumb_thread *th)
{
    return (uint32_t)(th->top - th->open);
}

/* runtime.c */
/* Storage that lives as long as the process, for names. Under the lock. NULL: out of memory. */
char *plumb_keep_text(const char *text);
void *plumb_keep_bytes(size_t n);

/* record/span/point.c: under the lock */
void plumb_points_refresh(void);
void plumb_point_register(struct plumb_client *client, struct plumb_point *point);
void plumb_client_detach(struct plumb_client *client);
void plumb_set_debug_points(int on);

/* record/span/node.c */
/* The entry of a node that has been handed out. */
static inline struct plumb_node_entry *plumb_node_at(uint32_t node)
{
    struct plumb_node_entry *chunk = PLUMB_ACQUIRE(plumb_rt.nodes[node >> PLUMB_NODE_CHUNK_BITS]);
    return &chunk[node & ((1u << PLUMB_NODE_CHUNK_BITS) - 1)];
}
plumb_node plumb_node_intern(const char *name);
uint32_t plumb_phase_intern(const char *name);
plumb_pipeline *plumb_pipeline_intern(const char *name);
void plumb_nodes_publish(struct plumb_run *run); /* writes every known name to a new run */
void plumb_node_add_site(plumb_node node, const char *file, uint32_t line, uint32_t flags);
void plumb_node_add_flags(plumb_node node, uint32_t flags); /* under the lock */
void plumb_node_flagged(plumb_node node, uint32_t flags);   /* takes it where one is new */
/* Under the lock, before a run has it: whether its runs are in a selected region. */
void plumb_node_select(plumb_node node, bool selected);

/* record/span/thread.c */
struct plumb_thread *plumb_thread_self(void); /* the record, made when missing; NULL: no memory */
int plumb_thread_attach(struct plumb_thread *th); /* to the open run; < 0: none, or no room */
/* The same, but no run is opened for it, and a fork that nobody told of is none of its business:
 * PLUMB_ERR_STATE. */
int plumb_thread_attach_open(struct plumb_thread *th);
int plumb_thread_attach_to(struct plumb_thread *th, struct plumb_run *run); /* under the lock */
void plumb_thread_gate(struct plumb_thread *th); /* recomputes the gate; under the lock */
struct plumb_thread *plumb_thread_new(void);
/* fork_release.c: with what it owns. Nobody may have it. */
void plumb_thread_free(struct plumb_thread *th);
/* In the child that fork() made, before plumb_run_forked(), unless this thread was interrupted in
 * plumb: unmaps the private memory of the parent's run and of the parent's other threads. */
void plumb_give_back(void);
/* In a forked child. `interrupted`: what this thread was doing in plumb goes on with its record. */
void plumb_threads_forget(bool interrupted);
/* Around a fork of a thread that was interrupted in plumb: the child keeps its record, or not. */
void plumb_thread_keep(struct plumb_thread *th, bool keep);
void plumb_thread_release(struct plumb_thread *th);
bool plumb_thread_is_gone(const struct plumb_thread *th); /* ended, without or within plumb */
/* Who closes waits for all threads together no longer than this. A busy machine may keep a thread
 * from running for a few hundred milliseconds; the rest is room. */
enum { PLUMB_LEAVE_WAIT_MS = 2000 };
/* Waits until the thread is not in the runtime any more, or `deadline_ns` of CLOCK_MONOTONIC has
 * come. True: it is out, or will never go on from where it is (held in our signal handler,
 * or ended by an asynchronous cancellation), so that the reader makes good what it was doing. False
 * too for the calling thread, when it is inside. */
bool plumb_thread_await(const struct plumb_thread *th, uint64_t deadline_ns);
/* What any thread of the process did before is seen by the caller; what it does from then on, is
 * done in sight of what the caller did before. Ends and stops use it: too slow for a summary. */
void plumb_barrier(void);

/* record/span/close.c */
/* Closes what is open deeper than `depth` as unbalanced. Inside enter. */
void plumb_close_to(struct plumb_in in, uint32_t depth, enum plumb_close why);

/* record/span/span.c */
/* A span without a stage around it; `th` as from plumb_attached(). */
plumb_span plumb_begin_plain(struct plumb_thread *th, uint32_t node);
/* The same in its parts: the device is waited for, where that is wanted; inside enter the span
 * begins, at `*ticks` when that is not NULL; and outside again it is told to tools. */
void plumb_begin_wait(struct plumb_thread *th, uint32_t node);
plumb_span plumb_begin_inside(struct plumb_in in, uint32_t node, uint64_t *ticks);
void plumb_begin_tell(struct plumb_thread *th, uint32_t node);
/* The calling thread's record, attached to the open run; NULL: nothing to record into, or this is a
 * signal handler that interrupted us. */
struct plumb_thread *plumb_attached(void);
void plumb_api_fill(struct plumb_api *api, enum plumb_clock_source clock);
/* Enters the runtime: until plumb_leave() the open run stays, and signal handlers on this thread
 * record nothing. False: not now (busy, not recording). */
bool plumb_enter(struct plumb_in *in, bool even_if_off);
void plumb_leave(struct plumb_in in);
/* Appends a wide record: words 1 .. n-1 from `payload`. Inside enter/leave. */
void plumb_wide(struct plumb_in in, enum plumb_wide kind, uint32_t small, const uint64_t *payload,
                uint32_t n);
/* Ticks x 1000 of a turn that calls `work` (NULL: nothing) in a span, or, if not `mark`, alone. */
uint64_t plumb_calibrate_span(struct plumb_in in, int spans, void (*work)(void *arg), void *arg,
                              bool mark);
/* record/span/calibrate.c: measures plumb_rt.overhead_ticks_x1000 and its like. */
void plumb_calibrate(void);

/* record/span/scope.c */
plumb_scope plumb_phase_begin_impl(const char *name);
plumb_scope plumb_step_begin_impl(int64_t step);
void plumb_step_set_impl(plumb_scope scope, int64_t step);
plumb_scope plumb_pipeline_begin_impl(plumb_pipeline *pipeline);
void plumb_context_capture_impl(plumb_context *out);
plumb_scope plumb_context_adopt_impl(const plumb_context *context);
void plumb_scope_end_impl(plumb_scope scope);
void plumb_scopes_announce(struct plumb_in in); /* tells a new run where the thread is */
/* Inside enter: gives back what the scopes above `down_to` have adopted in the ledger. */
void plumb_scopes_return(struct plumb_in in, uint32_t down_to);

/* record/span/async.c */
/* Waits for the device of the node, otherwise of the thread's pipeline. Calls out. */
void plumb_synchronise(struct plumb_thread *th, uint32_t node);
plumb_async plumb_async_begin_impl(plumb_node node);
/* What a stage's begin leaves in the slot for its end: `flags` to `rss`. */
plumb_async plumb_async_begin_stage(plumb_node node, const struct plumb_live_async *stage);
void plumb_async_end_impl(plumb_async span, uint32_t mark, const char *why);

/* record/span/count.c */
void plumb_count_impl(const char *name, int64_t n);
int64_t plumb_count_value(const char *name); /* of the thread's pipeline; 0 when never counted */

/* record/span/pipeline.c */
/* Tells the run whether the pipeline has a device, and waits for it. */
void plumb_pipeline_flags(struct plumb_live_pipeline *live, const plumb_pipeline *p);
int plumb_configure_impl(plumb_pipeline *pipeline, const plumb_config *config, plumb_error *err);
int plumb_pipeline_enabled_impl(plumb_pipeline *pipeline);
int plumb_reset_impl(plumb_pipeline *pipeline, plumb_error *err);
void plumb_pipeline_close_impl(plumb_pipeline *pipeline);
void plumb_pipeline_set_device_impl(plumb_pipeline *pipeline, plumb_device *device);
void plumb_node_set_device_impl(plumb_node node, plumb_device *device);
plumb_device *plumb_device_register_impl(const char *name, void (*sync)(void *), void *arg);
int plumb_device_unregister_impl(plumb_device *device, plumb_error *err);
/* Calls its `sync`, unless it is not registered any more. */
void plumb_device_sync(plumb_device *device);

/* record/control/own_cpu.c: processor time of plumb's own threads. Each says when it begins and ends. */
void plumb_own_cpu_begin(void);
void plumb_own_cpu_end(void);
uint64_t plumb_own_cpu_ns(void); /* of all that there have been */
/* What they took since the run was opened, into its mapping. */
void plumb_own_cpu_store(struct plumb_run *run);
void plumb_own_cpu_forked(void); /* none of them is in the child */

/* record/span/snapshot.c */
/* Everything that the open run has recorded so far, as its report will have it: pipelines, nodes
 * without histograms and sites, call tree. `out`: plumb_timing_init() done. */
int plumb_summary_timing(struct plumb_timing *out, plumb_error *err);
int plumb_summary_rows_impl(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                            plumb_error *err);
size_t plumb_rows_count_impl(const plumb_rows *rows);
const plumb_row *plumb_rows_get_impl(const plumb_rows *rows, size_t i);
void plumb_rows_free_impl(plumb_rows *rows);

/* record/span/measure.c */
int plumb_measure_impl(plumb_measured *out, void (*fn)(void *), void *arg,
                       const plumb_measure_options *options, plumb_error *err);

#endif
