/* runtime.h: the runtime itself: one a process (`plumb_rt`), set up when the library is loaded and
 * never destroyed, because threads of the program may call it until the process is gone.
 *
 * Locks: lock.h. One mutex, plumb_rt.lock, is for everything slow (registering, carving, switching,
 * starting, stopping). The span path takes it only in the first run of a node on a thread. It is
 * never held during calls to code outside plumb (device synchronise, log callback). */
#ifndef PLUMB_RECORD_RUNTIME_RUNTIME_H
#define PLUMB_RECORD_RUNTIME_RUNTIME_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "config/settings.h"
#include "record/runtime/names.h"
#include "record/runtime/region_state.h"

enum { PLUMB_PIPELINES_MAX = 255, PLUMB_PHASES_MAX = 255, PLUMB_DEVICES_MAX = 64 };

struct plumb_leaves;
typedef void plumb_leaves_fn(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs);
struct plumb_run;
struct plumb_shape_times;
struct plumb_summary_memory;
struct plumb_thread;
struct plumb_timing;

struct plumb_runtime {
    pthread_mutex_t lock;
    const struct plumb_api *api; /* the table in force: this copy's, or the first copy's */
    bool forwards;               /* another copy came first */
    struct plumb_settings settings;
    uint32_t recording; /* a run is open */
    int32_t rank;       /* of the run; negative: unknown */
    uint32_t debug;
    uint32_t step_watch;  /* not 0: a window counts steps (record/trace/switch.h); atomic */
    uint32_t debug_asked; /* 1 + the value of `debug` that a handler without the lock asks for */
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
    bool told_idle;                           /* settings without effect were reported */
    uint32_t generation;
    uint32_t control_wanted; /* atomic: PLUMB_CONTROL, or the program */
    uint32_t control_waits;  /* atomic: the next trace point that is passed makes the socket */
    bool want_run;           /* a run opens with the first span (fork child, PLUMB=1) */
    bool hooked;             /* a node has, or had, hooks */
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
    struct plumb_thread *looked_at; /* the last one whose thread was checked for its end */
    struct plumb_thread *idle;      /* those whose thread has ended */
    pthread_key_t exit_key;
    bool exit_key_made;
    struct plumb_summary_memory *summary_memory;
    pthread_mutex_t snapshot_lock; /* one summary at a time; the run stays open during it */
    uint64_t overhead_ticks_x1000, overhead_work_ticks_x1000;
    uint64_t nodes_seen_beyond, pipelines_seen_beyond; /* counted while no run was open */
    uint64_t handlers_turned_away;                     /* while their thread had the lock */
    uint64_t lost_before; /* spans lost while a run opened, because they did not wait; atomic */
    /* collectors */
    uint64_t host_hz; /* ticks a second, as measured last */
    uint64_t flows;   /* of origins, given so far */
    /* Set by src/api, above this layer. Prints the contents of a run to stderr; `dir` NULL: no
     * directory; `summary`: with the files of rank_files(). */
    void (*end_block)(const struct plumb_timing *t, const char *dir, bool summary);
    /* Passes the files that belong next to timing.json to `write`, with their names. */
    int (*rank_files)(const struct plumb_timing *t, const struct plumb_shape_times *shapes,
                      plumb_write_fn write, void *arg, plumb_error *err);
};

extern struct plumb_runtime plumb_rt;
/* facts.c: returns the environment as it was when the library was loaded, when the run opened, or
 * when the program last asked to record. Never `environ`, which another thread may free. */
char *const *plumb_environ(void);
/* Reads the environment again. `direct`: the program made the call, and is responsible for races on
 * `environ`, as it is with getenv(). Under life_lock, or before there are threads. */
void plumb_environ_look(bool direct);

/* Returns whether a run is open or opens with the next span. The order of the reads matters: an
 * opening sets `recording` before it clears `want_run`. */
static inline bool plumb_wanted(void)
{
    bool want = PLUMB_ACQUIRE(plumb_rt.want_run);
    return want | (PLUMB_LOAD(plumb_rt.recording) != 0);
}

/* Counts a record of a signal handler that was dropped, because it interrupted its thread where
 * there is no run at hand. The next run to end reports it. */
static inline void plumb_turn_handler_away(void)
{
    if (plumb_wanted())
        PLUMB_ADD(plumb_rt.handlers_turned_away, 1);
}

/* Returns the rank in records of single values: 0 if it is not known. */
static inline int32_t plumb_rank_or_0(void)
{
    int32_t rank = PLUMB_LOAD(plumb_rt.rank);
    return rank < 0 ? 0 : rank;
}

/* runtime.c */
/* Copies a name to storage that lives as long as the process. Under the lock. NULL: out of
 * memory. */
char *plumb_keep_text(const char *text);
void *plumb_keep_bytes(size_t n);

#endif
