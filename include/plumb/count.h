/* count.h: exact counts, which do not waver as times do. Part of plumb.h; docs/counts.md.
 *
 * plumb counts what it sees anyway (launches, copies, waits, allocations) and what the program
 * marks: plumb_dispatch() for calls into a compute library, plumb_counter_add() for anything. Each
 * count belongs to the node of the innermost open span, to the phase and to the step of the calling
 * thread. `plumb report counts` prints them; the functions below give them to the program while it
 * runs:
 *
 *     plumb_counted since = plumb_counted_begin(PLUMB_COUNTED_PROCESS);
 *     apply(chain);
 *     assert(plumb_counted_get(&since, PLUMB_COUNT_DISPATCHES, "sos") == 1);
 *     assert(plumb_counted_get(&since, PLUMB_COUNT_DISPATCHES, NULL) == 1);     (and no other)
 *
 * Figures are whole numbers, never divided. They include everything that the calling thread has
 * done, and that other threads had done before they synchronised with it. Any thread may call, also
 * while others count, and a signal handler may. */
#ifndef PLUMB_COUNT_H
#define PLUMB_COUNT_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are those of files and of the binary interface; further kinds are appended. */
enum plumb_count_kind {
    PLUMB_COUNT_DISPATCHES = 1,       /* plumb_dispatch(): calls into a compute library, by name */
    PLUMB_COUNT_LAUNCHES = 2,         /* work that was launched on a device, by device */
    PLUMB_COUNT_COPIES = 3,           /* finished work that moved or filled bytes, by device */
    PLUMB_COUNT_COPY_BYTES = 4,       /* its bytes */
    PLUMB_COUNT_SYNCHRONISATIONS = 5, /* waits for work of a device, by device */
    PLUMB_COUNT_ALLOCATIONS = 6,      /* of pools and of malloc, by pool */
    PLUMB_COUNT_ALLOCATED_BYTES = 7,  /* the bytes of all of them together */
    PLUMB_COUNT_PEAK_BYTES = 8,       /* the most that was allocated at one time, by pool */
    PLUMB_COUNT_PAGE_FAULTS = 9,      /* of stages, by the collector `perf` */
    PLUMB_COUNT_INSTRUCTIONS = 10,    /* of stages, by the same */
    PLUMB_COUNT_USER = 11,            /* plumb_counter_add(), by name */
    PLUMB_COUNT_CALLS = 12, /* of functions that plumb record --count names, as library:function */
    PLUMB_COUNT_KINDS = 13
};

/* In place of a count: nothing is recorded, the scope has ended, or it does not have that kind. It
 * equals no count, so that a test that could not count does not pass. */
#define PLUMB_COUNT_UNKNOWN INT64_MIN

/* Adds a call into a compute library ("sos", "conv", ...) to the node of the innermost open span.
 * NULL counts as "". 20 ns; 0.5 us for a name that is new to its node and step. */
static inline void plumb_dispatch(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, count_add))
        api->count_add(PLUMB_COUNT_DISPATCHES, name ? name : "", 1);
}

/* ---- Counts of a run, a node, the current span ----------------------------------------------- */

enum plumb_count_of { PLUMB_COUNT_OF_RUN = 0, PLUMB_COUNT_OF_NODE = 1, PLUMB_COUNT_OF_SPAN = 2 };
/* Added to it where only a part is meant. */
enum { PLUMB_COUNT_IN_STEP = 256, PLUMB_COUNT_IN_PHASE = 512 };
struct plumb_count_scope {
    uint32_t of; /* enum plumb_count_of, PLUMB_COUNT_IN_... */
    plumb_node node;
    uint64_t step;     /* with PLUMB_COUNT_IN_STEP */
    const char *phase; /* with PLUMB_COUNT_IN_PHASE; read when the count is asked for */
};

/* Returns the scope of the open run: all nodes, phases and steps. */
static inline plumb_count_scope plumb_count_of_run(void)
{
    plumb_count_scope s = {PLUMB_COUNT_OF_RUN, 0, 0, NULL};
    return s;
}
/* Returns the scope of a node in the open run, in all phases and steps: what was counted while it
 * was the innermost. */
static inline plumb_count_scope plumb_count_of_node(plumb_node node)
{
    plumb_count_scope s = {PLUMB_COUNT_OF_NODE, 0, 0, NULL};
    s.node = node;
    return s;
}
/* Returns the scope of the innermost open span of the calling thread: what this thread has counted
 * since that span began, in the spans inside it too. Of spans nested deeper than 64 it is that of
 * the 64th. It has the kinds up to PLUMB_COUNT_ALLOCATED_BYTES, and user counts. */
static inline plumb_count_scope plumb_count_of_span(void)
{
    plumb_count_scope s = {PLUMB_COUNT_OF_SPAN, 0, 0, NULL};
    return s;
}
/* Returns the part of a scope of the run or a node that was counted in one step: for the node of
 * step 7 of a training, plumb_count_in_step(plumb_count_of_node(node), 7). Steps that have no rows
 * of their own in `plumb report counts` are 0. */
static inline plumb_count_scope plumb_count_in_step(plumb_count_scope scope, uint64_t step)
{
    scope.of |= PLUMB_COUNT_IN_STEP;
    scope.step = step;
    return scope;
}
/* Returns the part of a scope of the run or a node that was counted in one phase (NULL: in
 * "inference"). The text must stay until the count has been asked for. */
static inline plumb_count_scope plumb_count_in_phase(plumb_count_scope scope, const char *phase)
{
    scope.of |= PLUMB_COUNT_IN_PHASE;
    scope.phase = phase;
    return scope;
}

/* Returns the count of one kind (enum plumb_count_kind) and one name in the scope, or
 * PLUMB_COUNT_UNKNOWN. `name` NULL: the sum over all names; of peaks the sum of the pools' peaks in
 * a run, and the highest of a node's runs. Page faults and instructions are those of a node, and so
 * are peaks in a step or a phase. In a span only dispatches and user counts have names, the first
 * 64 different ones of the process. Allocations of other running threads are included when their
 * node ends, and after 256 events or 64 KiB. In a signal handler that interrupted plumb, counts of
 * a span are unknown. Cost: of a span 15 ns; of the run and a node 2 ns a row of `plumb report
 * counts`; of calls of functions 0.1 ms more, in which they are passed on. These are unknown where
 * they are not counted, with PLUMB_HELPER=off, and in a handler that interrupted plumb. */
static inline int64_t plumb_count_get_named(plumb_count_scope scope, uint32_t kind,
                                            const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, count_get) ? api->count_get(&scope, kind, name) : PLUMB_COUNT_UNKNOWN;
}
/* Returns the count of one kind in the scope, over all names. As plumb_count_get_named(). */
static inline int64_t plumb_count_get(plumb_count_scope scope, uint32_t kind)
{
    return plumb_count_get_named(scope, kind, NULL);
}

/* ---- Counts since a moment ------------------------------------------------------------------- */

enum plumb_counted_of {
    PLUMB_COUNTED_PROCESS = 0, /* of all threads */
    PLUMB_COUNTED_THREAD = 1   /* of the thread that began it, which alone may ask for it */
};
enum { PLUMB_COUNTED_NAMES = 64 };
/* The counts of a moment. Plain data of the caller: plumb keeps no reference to it and changes
 * nothing in the program, so there is nothing to end or to restore, however the block is left:
 * return, an exception, longjmp(). Scopes may overlap, on one thread and on several. */
struct plumb_counted {
    uint32_t size;     /* sizeof(plumb_counted) */
    uint32_t of;       /* enum plumb_counted_of */
    uint32_t run;      /* generation of the run; 0: nothing was recorded */
    uint32_t thread;   /* of PLUMB_COUNTED_THREAD */
    uint64_t kind[16]; /* by enum plumb_count_kind */
    uint64_t name[PLUMB_COUNTED_NAMES];
};

/* Returns the counts of now, for plumb_counted_get(). 0.1 us; of the process 0.1 us a thread. */
static inline plumb_counted plumb_counted_begin(uint32_t of)
{
    const struct plumb_api *api = plumb_api_();
    plumb_counted c;
    size_t i;
    for (i = 0; i < sizeof c; i++)
        ((unsigned char *)&c)[i] = 0;
    c.size = (uint32_t)sizeof c;
    c.of = of;
    if (PLUMB_KNOWS_(api, counted_begin))
        api->counted_begin(&c);
    return c;
}
/* Returns what has been counted since `since`, of one kind (enum plumb_count_kind) and one name, or
 * PLUMB_COUNT_UNKNOWN. `name` NULL: all names, also those that came up later. Dispatches and user
 * counts have names here, the first 64 different ones of the process. PLUMB_COUNT_UNKNOWN also when
 * another run is open now, or another thread asks for the counts of a thread. Kinds as of a span.
 * 0.1 us; of the process 10 ns a thread more. */
static inline int64_t plumb_counted_get(const plumb_counted *since, uint32_t kind, const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, counted_get) ? api->counted_get(since, kind, name)
                                          : PLUMB_COUNT_UNKNOWN;
}

#ifdef __cplusplus
}
#endif
#endif
