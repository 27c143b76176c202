/* live.h: watch the run that a process records, from outside, while it goes on. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers.
 *
 *     plumb_watch *watch;
 *     plumb_reading *reading;
 *     if (plumb_watch_open(&watch, "4711", &err) == 0 &&
 *         plumb_watch_read(&reading, watch, &err) == 0) {
 *         for (size_t i = 0; i < plumb_reading_rows(reading); i++)
 *             print_row(plumb_reading_row_at(reading, i));
 *         plumb_reading_free(reading);
 *     }
 *
 * A reading is made from the file of the run's live mapping. The process is neither stopped nor
 * delayed, and need not know: no signal, no lock, no message. The records of a thread are copied as
 * of one moment, and copied again if they changed during the copy. So no row is torn, rows of one
 * thread agree with each other, and no figure goes back from one reading to the next unless it was
 * reset. Threads are copied one after the other, within the few milliseconds of a reading. If a
 * thread does nothing but record, and has more nodes than can be copied between two of its folds
 * (some 30 us), its rows are copied one by one: each is right by itself, and all of them have every
 * span that had ended when the reading began (plumb_reading_facts, `threads_apart`). */
#ifndef PLUMB_READ_LIVE_H
#define PLUMB_READ_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>
#include <plumb/summary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A run that is being watched. One thread at a time. */
typedef struct plumb_watch plumb_watch;
/* One reading of it; never changes, and does not need the watch any more. */
typedef struct plumb_reading plumb_reading;

/* Opens the run of a process, or a run by its directory.
 *   what    a process id: the process is found through /proc, also where it has another root
 *           directory or lives in another mount namespace. Otherwise as for plumb_report_open(): a
 *           run directory, a folder of runs, the name of a run or pipeline in plumb_runs_dir().
 *           NULL: the newest run there that is being recorded
 *   errors  PLUMB_ERR_NOT_FOUND: no such process or run, or the process records nothing now;
 *           PLUMB_ERR_STATE: the run has ended, and its report is in its directory;
 *           PLUMB_ERR_FORMAT: the mapping is of another version of plumb, or damaged;
 *           PLUMB_ERR_IO: it is another user's, or cannot be read */
PLUMB_API int plumb_watch_open(plumb_watch **out, const char *what, plumb_error *err);
/* Frees the watch. */
PLUMB_API void plumb_watch_close(plumb_watch *watch);

/* Makes a reading. Once the process has ended its run, or was killed, readings give its final
 * state.
 *   errors  PLUMB_ERR_STATE: the records changed too fast, try again; PLUMB_ERR_FORMAT: the
 *           mapping is damaged, or was cut short
 *   cost    0.1 ms and 1 us for each row of each thread; memory for the parts of the mapping that
 *           were read, kept by the watch */
PLUMB_API int plumb_watch_read(plumb_reading **out, plumb_watch *watch, plumb_error *err);
/* Frees the reading. */
PLUMB_API void plumb_reading_free(plumb_reading *reading);

/* Makes the reading of the time between two readings of one run. Counts, sums and histograms are
 * subtracted exactly; minimum, maximum and quantiles are those of the remaining histogram,
 * within 0.8 %. Rows without a run or a failure in that time are left out; a row that was reset
 * in between has what came after the reset. It has facts and rows alone, and needs neither of
 * the two any more. */
PLUMB_API int plumb_reading_since(plumb_reading **out, const plumb_reading *newer,
                                  const plumb_reading *older, plumb_error *err);

/* Writes a reading as the report of a run: `dir`/timing.json, which must not be there yet. That of
 * plumb_reading_since() has rows alone, from its begin to its end. Errors: PLUMB_ERR_IO. */
PLUMB_API int plumb_reading_write(const plumb_reading *reading, const char *dir, plumb_error *err);

enum plumb_watch_state {
    PLUMB_WATCH_RECORDS = 0,
    PLUMB_WATCH_ENDED = 1, /* the run was ended */
    PLUMB_WATCH_KILLED = 2 /* the process is gone, and the run was not ended */
};

typedef struct plumb_reading_facts {
    uint32_t state; /* enum plumb_watch_state */
    uint32_t pid;   /* as the process knows it */
    const char *program;
    const char *command;
    const char *pipeline; /* the default pipeline */
    const char *run_dir;  /* as the process has it where it was found by its id */
    const char *path;     /* of the mapping, as it was opened */
    const char *version;  /* of plumb */
    const char *host;
    int32_t rank, ranks;   /* -1: unknown */
    uint64_t since_ns;     /* begin of the run, CLOCK_REALTIME */
    uint64_t at_ns;        /* of the reading, CLOCK_REALTIME */
    uint64_t elapsed_ns;   /* from the begin of the run, or between the two readings */
    uint64_t spans;        /* that have ended */
    uint64_t lost;         /* samples that were not counted, for lack of space */
    uint64_t memory_bytes; /* of the mapping, in use */
    uint64_t rss_bytes, peak_rss_bytes, machine_bytes; /* resident set; memory of the machine, or of
                                                          the control group. 0: unknown */
    uint32_t threads;                                  /* that have recorded and have not ended */
    uint32_t threads_apart;                            /* whose rows are right each by itself */
    double clock_ppm;                                  /* bound of the error of all times */
    uint64_t requests; /* begun so far, those included that are no longer kept */
} plumb_reading_facts;
/* Returns the facts of the run; they live as long as the reading. */
PLUMB_API const plumb_reading_facts *plumb_reading_facts_of(const plumb_reading *reading);

/* A (pipeline, phase, node). */
typedef struct plumb_reading_row {
    plumb_row row; /* as of plumb_summary_rows() */
    uint64_t total_ns, self_ns;
    uint64_t own_ns; /* of the node alone: these add up to the time of all rows */
    uint64_t abandoned, unbalanced;
    uint64_t device_total_ns;       /* recorded for the node */
    uint64_t launches, launched_ns; /* work on a device that its runs launched, and its time */
    uint64_t waits, waited_ns;      /* for devices */
    uint64_t rss_bytes;             /* a stage's: after its last run; 0: not read */
    uint64_t peak_allocated_bytes;  /* the highest of its runs, in all pools */
    uint64_t last_at_ns;            /* end of the last run, CLOCK_REALTIME */
    const char *last_failure;       /* NULL: none */
    uint32_t open;                  /* spans of the node that are open */
    uint32_t stage;                 /* 1: it is a stage */
} plumb_reading_row;
/* Returns the number of rows. */
PLUMB_API size_t plumb_reading_rows(const plumb_reading *reading);
/* Returns row `i`, or NULL beyond the last; it lives as long as the reading. */
PLUMB_API const plumb_reading_row *plumb_reading_row_at(const plumb_reading *reading, size_t i);

/* A bucket of a row's histogram. */
typedef struct plumb_reading_bucket {
    double ns; /* representative, within 0.8 % of each sample in it */
    uint64_t count;
} plumb_reading_bucket;
/* Returns the histogram of row `i` by time, `*n` buckets; NULL and 0 without samples. */
PLUMB_API const plumb_reading_bucket *plumb_reading_buckets(size_t *n, const plumb_reading *reading,
                                                            size_t i);

/* A span that has begun and not ended; those of a thread outermost first. */
typedef struct plumb_reading_open {
    const char *node, *phase;
    uint32_t thread; /* Linux thread id, as the process knows it */
    uint32_t depth;  /* 1: outermost */
    uint64_t age_ns;
} plumb_reading_open;
/* Returns the number of open spans. */
PLUMB_API size_t plumb_reading_opens(const plumb_reading *reading);
/* Returns open span `i`, or NULL beyond the last; it lives as long as the reading. */
PLUMB_API const plumb_reading_open *plumb_reading_open_at(const plumb_reading *reading, size_t i);

/* A place in the call tree; parents come before their children. */
typedef struct plumb_reading_place {
    uint32_t parent; /* number of a place; UINT32_MAX: outermost */
    uint32_t row;
    uint64_t count, total_ns, self_ns;
    uint32_t async; /* 1: begun on one thread and ended on any */
    uint32_t reserved;
} plumb_reading_place;
/* Returns the number of places. */
PLUMB_API size_t plumb_reading_places(const plumb_reading *reading);
/* Returns place `i`, or NULL beyond the last; it lives as long as the reading. */
PLUMB_API const plumb_reading_place *plumb_reading_place_at(const plumb_reading *reading, size_t i);

enum plumb_reading_request_state {
    PLUMB_READING_REQUEST_OPEN = 0,
    PLUMB_READING_REQUEST_ENDED = 1,
    PLUMB_READING_REQUEST_FAILED = 2
};
typedef struct plumb_reading_request { /* the newest 4096 are kept, in the order of their begins */
    const char *id;
    const char *why; /* of a failure; NULL: none */
    uint32_t state;  /* enum plumb_reading_request_state */
    uint32_t thread;
    uint64_t begin_ns;  /* CLOCK_REALTIME */
    uint64_t wall_ns;   /* until its end, or the reading */
    uint64_t stages_ns; /* of its outermost stages */
    uint64_t stage_runs;
} plumb_reading_request;
/* Returns the number of requests that are kept. */
PLUMB_API size_t plumb_reading_requests(const plumb_reading *reading);
/* Returns request `i`, or NULL beyond the last; it lives as long as the reading. */
PLUMB_API const plumb_reading_request *plumb_reading_request_at(const plumb_reading *reading,
                                                                size_t i);

/* An allocator of a device, as told through plumb_mem_*(). */
typedef struct plumb_reading_pool {
    const char *device, *pool;
    uint64_t total_bytes; /* of the device; 0: unknown */
    uint64_t allocated_bytes, reserved_bytes;
    uint64_t peak_allocated_bytes, peak_reserved_bytes;
    uint64_t allocs, frees;
} plumb_reading_pool;
/* Returns the number of pools. */
PLUMB_API size_t plumb_reading_pools(const plumb_reading *reading);
/* Returns pool `i`, or NULL beyond the last; it lives as long as the reading. */
PLUMB_API const plumb_reading_pool *plumb_reading_pool_at(const plumb_reading *reading, size_t i);

/* A line of a table of nodes, as plumb top shows it. Times below 0 are not known. */
typedef struct plumb_reading_line {
    const char *pipeline, *phase, *node;
    uint32_t depth;           /* in the call tree; 0 in a flat table */
    uint32_t open;            /* spans of the node that are open */
    uint64_t open_ns;         /* age of the oldest of them */
    uint64_t count, failures; /* since the start of the run */
    uint64_t memory_bytes;
    double runs_per_s;
    double mean_ns, p50_ns, p95_ns, p99_ns, max_ns;
    double share_percent; /* of the own time of all nodes */
    double self_ns, device_ns;
} plumb_reading_line;
/* Renders `n` lines, made from `reading`, without a newline at the end: as "csv", as "md", or as
 * "json" with the process, its run, and the time that the figures cover. The text is freed with
 * plumb_read_free(). Errors: PLUMB_ERR_ARG: another format; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_reading_render(char **out, const plumb_reading *reading,
                                   const plumb_reading_line *lines, size_t n, const char *format,
                                   plumb_error *err);

/* Returns the remark `i` of the run, such as a loss, or NULL beyond the last. */
PLUMB_API const char *plumb_reading_note(const plumb_reading *reading, size_t i);

#ifdef __cplusplus
}
#endif
#endif
