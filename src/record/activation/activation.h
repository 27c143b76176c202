/* activation.h: records of the outputs of layers (plumb/activation.h), as libplumb's own files see
 * them.
 *
 *     activation.c  the call: its module, whether it is chosen, its statistics
 *     run.c         the settings of a run, its file, the log lines at its end
 *     module.c      from paths of open nodes to modules, and whether these are chosen
 *     stats.c       the statistics of a run, and those of the program
 *     calls.c       the call index of a record
 *     queue.c       from the program's threads to the file, on a thread of plumb's
 *     pending.c     the memory between the two
 *     dump.c        tensors kept whole: the choice, and the header of the file
 *     dump_file.c   the thread that writes these
 *     file.c        the file of the records
 * Hooks of nodes: record/stage/hook.c.
 *
 * Threads inside a call are counted, and the end of a run waits for them, so the run's patterns and
 * columns stay valid during the call. `lock` is a leaf: under it nothing is locked or called except
 * for allocations. */
#ifndef PLUMB_RECORD_ACTIVATION_ACTIVATION_H
#define PLUMB_RECORD_ACTIVATION_ACTIVATION_H

#include "base/buf.h"
#include "config/pattern.h"
#include "config/step_list.h"
#include "record/activation/calls.h"
#include "record/runtime/enter.h"
#include "tensor/pending.h"
#include <plumb/activation.h>

enum { PLUMB_ACT_SINKS = 8, PLUMB_ACT_PATH = 64, PLUMB_ACT_MODULES = 65536 };

/* The reasons for not keeping a tensor whole. */
enum plumb_act_dump_why {
    PLUMB_ACT_DUMP_UNREADABLE = 0,
    PLUMB_ACT_DUMP_BOUND = 1,
    PLUMB_ACT_DUMP_UNWRITTEN = 2,
    PLUMB_ACT_DUMP_LATE = 3,
    PLUMB_ACT_DUMP_WHYS
};

/* Never freed: lives as long as the process. */
struct plumb_act_module {
    const char *name;    /* "block.3.attn" */
    uint32_t generation; /* of the run that the following fields were decided for */
    bool chosen, dumped;
    /* under the lock, while it is among those that the helper is to decide */
    uint32_t wanted; /* generation */
    struct plumb_act_module *next;
};

struct plumb_act_own { /* a statistic of the program's */
    const char *name;
    plumb_activation_stat_fn fn;
    void *arg;
};

/* Whether records are made. Names of statistics that are unknown when the run opens are looked up
 * again at its first call, because the program may register them until then. No file is opened
 * before that, so a wrong name never overwrites an existing file. */
enum plumb_act_state {
    PLUMB_ACT_UNDECIDED = 0,
    PLUMB_ACT_ON = 1, /* the file is open */
    PLUMB_ACT_OFF = 2 /* no name was known, or the file could not be opened; reported */
};

/* The settings and counters of the open run. Written while it opens and closes. */
struct plumb_act {
    pthread_mutex_t begin_lock; /* taken before `lock`; calls that come during it wait */
    pthread_mutex_t lock;
    uint32_t generation; /* of the open run; 0: none records activations. Atomic */
    uint32_t inside;     /* threads that are in a call. Atomic */
    struct plumb_pattern layers, dump;
    bool dumps;
    struct plumb_step_list steps;
    /* under the lock */
    uint32_t state; /* enum plumb_act_state. Written under begin_lock; atomic */
    struct plumb_record_columns columns;
    struct plumb_act_own own[PLUMB_RECORD_OWN];
    uint32_t own_count;
    struct plumb_map modules; /* of the path's nodes -> struct plumb_act_module * */
    struct plumb_map names;   /* of a module's name -> the same: paths may share a name */
    struct plumb_act_calls calls;
    uint32_t module_count; /* paths, of all runs */
    struct plumb_act_module *undecided;
    uint32_t deciding;     /* threads that match names now. Atomic */
    uint32_t matched;      /* modules that this run chose */
    uint32_t said_matched; /* of them, those counted in the log line */
    uint64_t told;         /* calls */
    int64_t first_step;    /* with a call; negative: none yet */
    int64_t last_step;     /* the highest with a call */
    bool step_seen, said;
    uint32_t called;    /* a call has come, which settles `state`. Atomic */
    bool step_reached;  /* a chosen step had a call */
    uint32_t step_open; /* some thread has opened a step. Atomic */
    uint64_t seq;       /* this and `calls` under the queue's lock */
    uint64_t dumped_bytes, dumps_left_out[PLUMB_ACT_DUMP_WHYS];
    char dir[1024];                      /* of the run */
    char path[PLUMB_SETTINGS_PATH + 64]; /* of the file */
};
extern struct plumb_act plumb_act;

/* ---- The life of a run: under life_lock ------------------------------------------------------ */

/* Checks the settings. PLUMB_ERR_ARG: a regular expression or a list of steps is not valid. */
int plumb_activations_check(const struct plumb_settings *s, plumb_error *err);
void plumb_activations_open(struct plumb_run *run);
void plumb_activations_do_open(void); /* PLUMB_JOB_ACTIVATIONS */
void plumb_activations_close(struct plumb_run *run);
void plumb_activations_forked(void);
/* Called before that by plumb_give_back(): frees the parent's patterns. */
void plumb_activations_give_back(void);
/* Returns whether records are made. The first call settles that, and may wait for the helper. */
bool plumb_act_is_on(void);
/* Logs "attached to ..." when the first step or the run is over, and again at the end of the run if
 * more modules have come since. */
void plumb_act_log_attached(void);
/* Notes that a thread has begun a step. */
static inline void plumb_activations_step(int64_t step)
{
    if (step >= 0 && !PLUMB_LOAD(plumb_act.step_open))
        PLUMB_STORE(plumb_act.step_open, 1);
}
/* Returns whether clients are to call. */
bool plumb_activations_wanted(void);

/* ---- Calls ----------------------------------------------------------------------------------- */

void plumb_activation_impl(plumb_node node, const char *label, const plumb_value *value);
void plumb_activation_register_impl(struct plumb_client *client); /* record/span/point.c */
/* Reports an input or output of an open stage of this thread. */
void plumb_activation_stage(struct plumb_thread *th, uint32_t node, uint32_t part, const char *name,
                            const plumb_value *value);
int plumb_activation_stat_impl(const char *name, plumb_activation_stat_fn fn, void *arg,
                               plumb_error *err);
int plumb_activation_sink_impl(plumb_activation_sink_fn fn, void *arg, plumb_error *err);
int plumb_activation_copy_impl(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                               plumb_error *err);

/* activation.c: copies a device's tensor to the host with the program's copy function, makes `v` a
 * view of the copy, and returns it [*bytes]; it must be unmapped. NULL: `v` is unchanged, and `why`
 * is set if there is a function for that kind of device. */
void *plumb_act_fetch(struct plumb_view *v, uint64_t *bytes, plumb_error *why);

/* module.c: returns the module of a path of `n` nodes. NULL: no memory, too many modules, or the
 * helper has not decided in time whether it is chosen. */
struct plumb_act_module *plumb_act_module(const uint32_t *path, uint32_t n);
void plumb_act_modules_do_decide(void); /* PLUMB_JOB_MODULES */
void plumb_act_modules_forget(void);    /* the undecided ones, for which no thread waits */
/* Writes the path of the calling thread below its innermost stage, with `node` at its end. Inside
 * enter. */
uint32_t plumb_act_path(uint32_t path[PLUMB_ACT_PATH], struct plumb_thread *th, uint32_t node);

/* stats.c: under the lock. Makes columns of the known names, in their order. Returns how many are
 * unknown. */
uint32_t plumb_act_resolve(const char *names);
/* Outside the lock: logs the unknown names, and that no statistic is left. */
void plumb_act_log_unknown(const char *names);
/* Writes the names of the columns, separated by ", ". */
void plumb_act_names(char *out, size_t size);

/* pending.c: returns the memory in which records wait for the file at `path`; `with_file`: in a
 * file if possible, which outlives the process. The same address each time. NULL: no memory. */
struct plumb_pending *plumb_act_pending_open(const char *path, bool with_file);
void plumb_act_pending_close(void);
void plumb_act_pending_forked(void);

/* queue.c */
int plumb_act_queue_open(const char *path, bool append, mode_t mode, plumb_error *err);
/* PLUMB_JOB_ACTIVATIONS: starts the writer's thread if a record waits for it. */
void plumb_act_queue_begin(void);
/* Passes on a copy of the record, and sets its `seq` and `call`. */
void plumb_act_queue_put(struct plumb_act_record *r);
/* Sets these two in a record that is not passed on. */
void plumb_act_queue_number(struct plumb_act_record *r);
void plumb_act_queue_lose(void); /* counts a record that was lost for lack of memory */
/* Waits until everything is written and returns the number of lost records. Only after a successful
 * open. */
uint64_t plumb_act_queue_close(void);
void plumb_act_queue_forked(void);

/* dump.c: keeps the tensor of a record that has its numbers. */
void plumb_act_dump(const struct plumb_act_record *r, const struct plumb_view *view);
/* dump_file.c */
void plumb_act_dump_open(void);  /* PLUMB_JOB_ACTIVATIONS: starts the thread, if one is wanted */
void plumb_act_dump_close(void); /* ends it; waits some seconds for a stalled disk */
void plumb_act_dump_forked(void);

/* file.c: on threads that share the helper's descriptors */
struct plumb_act_file {
    int fd; /* among the helper's; -1: none */
    bool append;
    char name[PLUMB_SETTINGS_PATH + 64];
};
/* Opens the file, truncated or for appending. If another process is writing to it, opens
 * "<path>.<pid>" instead, with a line in the log. */
int plumb_act_file_open(struct plumb_act_file *out, const char *path, bool append, mode_t mode,
                        plumb_error *err);
void plumb_act_file_close(struct plumb_act_file *file);

#endif
