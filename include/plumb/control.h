/* control.h: find running processes that plumb is in, watch them and steer them, from outside. Part
 * of libplumb-read; plumb/read.h has the rules of all its headers, docs/control.md the story.
 *
 *     plumb_control *c;
 *     const plumb_process *p;
 *     if (plumb_control_connect(&c, "server", 0, &err) < 0)          (a pid, or a program's name)
 *         return fail(err.message);
 *     if (plumb_control_status(&p, c, &err) == 0 && !p->recording)
 *         plumb_control_start(c, NULL, &err);
 *     plumb_control_disconnect(c);
 *
 * A process takes part if it was started with PLUMB_CONTROL=1 or has called plumb_control_open().
 * It obeys processes of its own user (and of no other, root included) on its own machine. It
 * executes one command at a time, for at most 16 connections; a command does not slow the program's
 * spans.
 *
 * Statuses that are not repeated in each comment
 *   PLUMB_ERR_IO         the process has ended, or has closed the connection
 *   PLUMB_ERR_STATE      the process does not answer within the time limit, is stopped, or is busy
 *                        with too many commands
 *   PLUMB_ERR_FORMAT     the answer is malformed: the peer is not plumb
 *   PLUMB_ERR_ABSENT     the plumb in that process is too old to know the command
 * After PLUMB_ERR_IO, PLUMB_ERR_FORMAT and a time limit every further call fails in the same way:
 * connect again. */
#ifndef PLUMB_CONTROL_H
#define PLUMB_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/pipeline.h>
#include <plumb/read/text.h>
#include <plumb/summary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Processes ------------------------------------------------------------------------------- */

/* Describes a process. The texts live as long as the object that the process was read from. */
typedef struct plumb_process {
    size_t size; /* sizeof(plumb_process) in the library */
    uint32_t pid;
    uint32_t answers;      /* 1: it answered; 0: only pid, start_time, program, socket are set */
    uint64_t start_time;   /* clock ticks from boot to its start, as in /proc/PID/stat */
    const char *program;   /* the path of its executable; "" if it cannot be read */
    const char *command;   /* its arguments, separated by blanks */
    const char *pipeline;  /* name of its default pipeline */
    const char *run_dir;   /* of the open run; "": none is open, or it is in memory alone */
    const char *version;   /* of its libplumb */
    const char *socket;    /* path of its control socket */
    uint64_t since_ns;     /* when the run was opened, CLOCK_REALTIME; 0: none is open */
    uint64_t spans;        /* spans of the run so far */
    uint64_t memory_bytes; /* its resident set */
    int32_t rank;          /* negative: unknown */
    int32_t ranks;         /* 0: unknown */
    uint32_t recording;    /* 1: a run is open; 2: it opens with the next span */
    uint32_t tracing;      /* 1: the run is traced; 2: a part, by plumb_control_trace_on() */
} plumb_process;

typedef struct plumb_process_list plumb_process_list;
/* Lists the processes of this user that take part, by pid, and asks each for its state. Removes the
 * sockets of processes that have ended. A process that does not answer within 0.2 s is listed with
 * `answers` 0. Errors: PLUMB_ERR_STATE: others may write to the folder of the sockets, or it
 * belongs to another user and no process was found elsewhere. No folder is an empty list. */
PLUMB_API int plumb_process_list_open(plumb_process_list **out, plumb_error *err);
/* Frees the list. */
PLUMB_API void plumb_process_list_close(plumb_process_list *list);
/* Returns the number of processes. */
PLUMB_API size_t plumb_process_list_count(const plumb_process_list *list);
/* Returns process `i`, or NULL beyond the last. It lives as long as the list. */
PLUMB_API const plumb_process *plumb_process_list_get(const plumb_process_list *list, size_t i);

enum plumb_processes_format { PLUMB_PROCESSES_TEXT = 0, PLUMB_PROCESSES_JSON = 1 };
/* Renders the list as a table or as JSON (enum plumb_processes_format), without a newline at its
 * end. `before`: a list that was read earlier, from which the spans per second follow; NULL: they
 * are left out. Free `*out` with plumb_read_free(). */
PLUMB_API int plumb_process_list_render(char **out, const plumb_process_list *list,
                                        const plumb_process_list *before, uint32_t format,
                                        plumb_error *err);

/* ---- A connection ---------------------------------------------------------------------------- */

typedef struct plumb_control plumb_control;
/* Opens a connection to a process.
 *   who         a pid; the name of a program, where one process has it: of its executable, of its
 *               script, or the one that pgrep takes; or the path of a socket
 *   timeout_ms  how long a command may take, and this call; 0: 5 s, and 60 s for those that open or
 *               end a run or a trace
 *   errors      PLUMB_ERR_NOT_FOUND: the process does not exist, or does not take part (the text
 *               says what to do). PLUMB_ERR_STATE: several processes have that name, the socket
 *               belongs to another user or another process, or nothing answers in time */
PLUMB_API int plumb_control_connect(plumb_control **out, const char *who, uint32_t timeout_ms,
                                    plumb_error *err);
/* Ends the connection and frees it. The process goes on as it is, but for
 * plumb_control_while_connected(). */
PLUMB_API void plumb_control_disconnect(plumb_control *c);
/* Sets what becomes of a run that plumb_control_start() opens from here on, and of a trace that
 * plumb_control_trace_on() switches on, when the connection ends, also because the front end is
 * killed. `on` 1: the process ends them; 0, the default: they stay. An older plumb in the process
 * keeps them. */
PLUMB_API void plumb_control_while_connected(plumb_control *c, int on);
/* Returns what the process has to say about a run that plumb_control_start() has opened (a full
 * disk, a setting without effect), a line each, as its answers have brought it since the connection
 * was opened; "": nothing. The program's stderr does not get these lines. They live until the next
 * call, or the end of the connection. */
PLUMB_API const char *plumb_control_notes(const plumb_control *c);

/* ---- Watch ----------------------------------------------------------------------------------- */

/* Reads the state of the process. It lives until the next call of this function, or the end of the
 * connection. */
PLUMB_API int plumb_control_status(const plumb_process **out, plumb_control *c, plumb_error *err);
/* Reads it as soon as no trace of plumb_control_trace_on() is on any more, after `ms` at most, of
 * which the process takes up to 1000. An older plumb in the process answers at once. */
PLUMB_API int plumb_control_wait(const plumb_process **out, plumb_control *c, uint32_t ms,
                                 plumb_error *err);

/* Describes a pipeline of the process. */
typedef struct plumb_control_pipeline {
    const char *name;
    uint32_t enabled;     /* 1: it records */
    uint32_t sync;        /* 1: its device is synchronised before each clock read */
    int64_t skip_first_n; /* samples that are dropped at the start of each key */
} plumb_control_pipeline;
typedef struct plumb_control_pipeline_list plumb_control_pipeline_list;
/* Lists the pipelines of the process, the default one first. */
PLUMB_API int plumb_control_pipelines(plumb_control_pipeline_list **out, plumb_control *c,
                                      plumb_error *err);
/* Returns the number of pipelines. */
PLUMB_API size_t plumb_control_pipelines_count(const plumb_control_pipeline_list *list);
/* Returns pipeline `i`, or NULL beyond the last. It lives as long as the list. */
PLUMB_API const plumb_control_pipeline *
plumb_control_pipelines_get(const plumb_control_pipeline_list *list, size_t i);
/* Frees the list. */
PLUMB_API void plumb_control_pipelines_free(plumb_control_pipeline_list *list);

typedef struct plumb_control_rows plumb_control_rows;
/* Reads the rows of a pipeline: the very rows that plumb_summary_rows() returns in the process, bit
 * for bit. `pipeline`: NULL for the default one, or for every pipeline where there are several.
 * `phase`: NULL for all. Without a run the list is empty. Errors: PLUMB_ERR_NOT_FOUND: no such
 * pipeline; PLUMB_ERR_STATE: a thread's records change too fast, try again. */
PLUMB_API int plumb_control_summary(plumb_control_rows **out, plumb_control *c,
                                    const char *pipeline, const char *phase, plumb_error *err);
/* Returns the number of rows. */
PLUMB_API size_t plumb_control_rows_count(const plumb_control_rows *rows);
/* Returns row `i`, or NULL beyond the last. It lives as long as `rows`. */
PLUMB_API const plumb_row *plumb_control_rows_get(const plumb_control_rows *rows, size_t i);
/* Frees the rows. */
PLUMB_API void plumb_control_rows_free(plumb_control_rows *rows);

/* ---- Steer ----------------------------------------------------------------------------------- */

/* Opens a run. `settings`: texts "name=value" of the settings table ("trace=1", "dir=/tmp/x"),
 * which win over the environment of the process, up to NULL; NULL: none. Returns when the run is
 * open. The settings hold for this run alone. Errors: PLUMB_ERR_STATE: a run is open already, the
 * program forbids runs (PLUMB=0), or the directory holds a run; PLUMB_ERR_ARG: a setting is unknown
 * or its value invalid. */
PLUMB_API int plumb_control_start(plumb_control *c, const char *const *settings, plumb_error *err);
/* Ends the run and waits for its files. Succeeds without a run. Errors: PLUMB_ERR_IO: a file could
 * not be written; the run has ended. */
PLUMB_API int plumb_control_stop(plumb_control *c, plumb_error *err);
/* Replaces the configuration of a pipeline (NULL: the default one) as plumb_configure() does.
 * Errors: PLUMB_ERR_NOT_FOUND: the process has no such pipeline; PLUMB_ERR_ARG: skip_first_n is
 * negative. */
PLUMB_API int plumb_control_configure(plumb_control *c, const char *pipeline,
                                      const plumb_config *config, plumb_error *err);
/* Drops the rows of a pipeline (NULL: the default one), as plumb_reset() does. Errors:
 * PLUMB_ERR_NOT_FOUND: no such pipeline. */
PLUMB_API int plumb_control_reset(plumb_control *c, const char *pipeline, plumb_error *err);

/* Says which part of a run a trace holds. Zero is the default everywhere. */
typedef struct plumb_control_trace {
    size_t size;         /* sizeof(plumb_control_trace) */
    uint64_t for_ns;     /* ends after this time; 0: no limit */
    uint64_t steps;      /* ends after this many steps of a thread; 0: no limit */
    uint64_t max_bytes;  /* of the file; 0: PLUMB_TRACE_MAX */
    const char *path;    /* of the file; NULL: trace-<n>.pftrace in the run directory; "": none */
    const char *regions; /* names separated by commas; NULL: as the run has them */
    const char *nodes;   /* shell patterns separated by commas; NULL: as the run has them */
} plumb_control_trace;
/* Switches the trace of the open run on, and writes the path of its file to `out` [size]. `options`
 * NULL: until plumb_control_trace_off(). Errors: PLUMB_ERR_STATE: no run is open, or a trace is
 * being written; PLUMB_ERR_ARG: a pattern is invalid, or `size` too small. */
PLUMB_API int plumb_control_trace_on(char *out, size_t size, plumb_control *c,
                                     const plumb_control_trace *options, plumb_error *err);
/* Switches the trace off, waits until its file is complete, and writes its path to `out` [size].
 * Errors: PLUMB_ERR_STATE: none is on, nor has ended since it was switched on. */
PLUMB_API int plumb_control_trace_off(char *out, size_t size, plumb_control *c, plumb_error *err);
/* Switches off the trace whose file plumb_control_trace_on() wrote to `out`, and no other, and
 * waits until it is complete. Succeeds as well if it has ended by itself; what another front end
 * has switched on since stays on. Errors: PLUMB_ERR_STATE: the open run has no such trace;
 * PLUMB_ERR_ARG: no path. */
PLUMB_API int plumb_control_trace_end(plumb_control *c, const char *path, plumb_error *err);
/* Writes the ring of recent events to a file now, as plumb_trace_keep() does, and its path to `out`
 * [size]. `why`: a reason that the file is to have; NULL: none. Errors: PLUMB_ERR_STATE: the run
 * keeps no ring (PLUMB_TRACE_MODE=ring). */
PLUMB_API int plumb_control_keep(char *out, size_t size, plumb_control *c, const char *why,
                                 plumb_error *err);
/* Replaces the regions to which traces that begin later are restricted. `names`: separated by
 * commas, "*": all; NULL or "": no restriction. Errors: PLUMB_ERR_ARG: no such region. */
PLUMB_API int plumb_control_regions(plumb_control *c, const char *names, plumb_error *err);
/* Replaces the nodes to which traces that begin later are restricted. `patterns`: shell patterns
 * separated by commas; NULL or "": no restriction. */
PLUMB_API int plumb_control_nodes(plumb_control *c, const char *patterns, plumb_error *err);
/* Switches the points of PLUMB_SPAN_DEBUG on (1) or off (0). */
PLUMB_API int plumb_control_debug(plumb_control *c, int on, plumb_error *err);
/* Sets the level of the log of the process, enum plumb_log; 0: silent. Errors: PLUMB_ERR_ARG: no
 * such level. */
PLUMB_API int plumb_control_log_level(plumb_control *c, int level, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
