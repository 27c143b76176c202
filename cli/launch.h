/* launch.h: runs a program the way a shell runs it in the foreground, and reads what the recording
 * processes below it reported. */
#ifndef PLUMB_CLI_LAUNCH_H
#define PLUMB_CLI_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLUMB_LAUNCH_OWN = 125, PLUMB_LAUNCH_DENIED = 126, PLUMB_LAUNCH_NOT_FOUND = 127 };

struct plumb_launch {
    char *const *argv;   /* of the program; searched in PATH */
    const char *preload; /* libraries, separated by colons, put before what LD_PRELOAD holds; NULL:
                            none */
    const char *layer;   /* a library that is appended to OPENCL_LAYERS, the layers of OpenCL; NULL:
                            none */
    const char *log;     /* PLUMB_RECORD_LOG of the program; NULL: none */
    bool stdout_to_stderr;
    bool whole;       /* the program is a part of this one: SIGINT and SIGQUIT of the terminal are
                         passed on too, and it is killed when this process dies */
    double timeout_s; /* the program is killed then; 0: never */
};
struct plumb_launched {
    int status;     /* for exit(): the program's, 128 + signal, or one of PLUMB_LAUNCH_* */
    int signal;     /* that ended it; 0: none */
    int exec_error; /* errno when it could not be started; 0 */
    bool timed_out;
};
/* Waits for the program. Signals that would end this process are passed on: SIGTERM, SIGHUP, and
 * SIGINT and SIGQUIT unless they come from the terminal, which sends them to both. False:
 * no process could be made, errno says why. */
bool plumb_cli_launch(struct plumb_launched *out, const struct plumb_launch *how);

/* The log: each process that loaded libplumb appends a line when it loads it ("load PID 0 0 -"),
 * when a run opens ("open PID 0 0 DIR") and when it ends ("run PID NODES SAMPLES DIR", before it,
 * if malloc was followed, "malloc PID CALLS BYTES -", if it has figures that need no node, "figures
 * PID HOW_MANY 0 -", and for each collector that the process has "collect PID STATE BUILTIN NAME
 * WHY"), or that there can be none ("refused PID 0 0 -"). While calls are counted also "calls PID 0
 * 0 -" for each run, and "seen PID INDEX 0 -" for each item of the list that matched a function.
 * DIR "-": none. */
struct plumb_cli_entry;
struct plumb_cli_log {
    char path[4096]; /* "": none */
    char *text;
    struct plumb_cli_entry *entries; /* its lines */
    size_t count;
    uint64_t loads;         /* processes that loaded libplumb */
    uint64_t runs;          /* runs that ended with at least one node */
    char activations[1040]; /* the file of activations of a run without a node; "" */
    uint64_t refused;       /* runs that could not be opened, as their processes reported */
    uint64_t mallocs;       /* runs that ended with at least one allocation */
    uint64_t figures;       /* runs that ended with metrics, streams, counts, requests or pools */
    uint64_t counted;       /* runs that opened with calls being counted */
    uint64_t collected;     /* collectors of programs, or preloaded ones, that saw something */
};
/* A run that was opened, and not ended by its process. */
struct plumb_cli_left {
    char dir[1024];
    bool by_exec; /* the process went on as another program */
};
/* A collector as it was at the end of a run. */
struct plumb_cli_collector {
    char name[64], why[256];
    uint64_t state; /* enum plumb_collector_state */
    bool built_in;
};
/* Whether the value of a PLUMB_COLLECT, or that of the environment, names the collector, with
 * options or without. */
bool plumb_cli_lists(const char *collect, const char *name);
bool plumb_cli_collects(const char *name);
/* "TMPDIR/name-XXXXXX", for mkstemp() and mkdtemp(); /tmp where there is no TMPDIR. False: errno
 * says why. */
bool plumb_cli_temporary(char *out, size_t size, const char *name);
/* Makes the empty file in TMPDIR. False: errno says why. */
bool plumb_cli_log_open(struct plumb_cli_log *log);
void plumb_cli_log_read(struct plumb_cli_log *log);
/* Copies the `i`-th run that was not ended. Returns false beyond the last. */
bool plumb_cli_log_left(const struct plumb_cli_log *log, size_t i, struct plumb_cli_left *out);
/* Copies the directory of the `i`-th run that has a node. Returns false beyond the last. */
bool plumb_cli_log_run(const struct plumb_cli_log *log, size_t i, char *out, size_t size);
/* Copies the `i`-th collector; each name appears once. Returns false beyond the last. */
bool plumb_cli_log_collector(const struct plumb_cli_log *log, size_t i,
                             struct plumb_cli_collector *out);
/* Returns whether item `i` of PLUMB_COUNT matched a function in a process. */
bool plumb_cli_log_saw(const struct plumb_cli_log *log, uint64_t i);
void plumb_cli_log_close(struct plumb_cli_log *log);

#endif
