/* activation.h: records of what layers give out (plumb/activation.h), inside core.
 *
 *     activation.c          the call: who is it, is it wanted, what does it look like
 *     run.c      what a run was asked for, its file, what is said at its end
 *     module.c   paths of open nodes to modules, and whether they are chosen
 *     stats.c    which statistics; those of the program's
 *     calls.c    the call index of a record
 *     queue.c    from the program's threads to the file, on a thread of its own
 *     pending.c  the memory between the two
 *     dump.c     tensors kept whole: which, and what is said in the file
 *     dump_file.c  ... and the thread that writes them
 *     record/stage/hook.c                hooks of nodes
 *
 * Threads that are inside a call are counted, and the end of a run waits for them: what the call
 * uses of the run's choices stays until then. `lock` is a leaf: nothing is taken or called inside
 * but memory. */
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

/* Why a tensor is not kept whole. */
enum plumb_act_dump_why {
    PLUMB_ACT_DUMP_UNREADABLE = 0,
    PLUMB_ACT_DUMP_BOUND = 1,
    PLUMB_ACT_DUMP_UNWRITTEN = 2,
    PLUMB_ACT_DUMP_LATE = 3,
    PLUMB_ACT_DUMP_WHYS
};

/* Lives as long as the process. */
struct plumb_act_module {
    const char *name;    /* "block.3.attn" */
    uint32_t generation; /* of the run that the rest was decided for */
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
 * again at its first call, because the program may register them until then; before that no file is
 * opened, so that a wrong name never costs a file that is there. */
enum plumb_act_state {
    PLUMB_ACT_UNDECIDED = 0,
    PLUMB_ACT_ON = 1, /* the file is open */
    PLUMB_ACT_OFF = 2 /* no name was known, or the file cannot be had: said */
};

/* What the open run was asked for. Written while it opens and closes. */
struct plumb_act {
    pthread_mutex_t begin_lock; /* taken before `lock`; calls that come while it is held wait */
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
    uint32_t said_matched; /* of them, those that the log line has counted */
    uint64_t told;         /* calls */
    int64_t first_step;    /* with a call; negative: none yet */
    int64_t last_step;     /* the highest with a call */
    bool step_seen, said;
    uint32_t called;    /* a call came, which settles `state`. Atomic */
    bool step_reached;  /* a chosen step had a call */
    uint32_t step_open; /* some thread has opened a step. Atomic */
    uint64_t seq;       /* this and `calls` under the queue's lock */
    uint64_t dumped_bytes, dumps_left_out[PLUMB_ACT_DUMP_WHYS];
    char dir[1024];                      /* of the run */
    char path[PLUMB_SETTINGS_PATH + 64]; /* of the file */
};
extern struct plumb_act plumb_act;

/* ---- The life of a run: under life_lock ------------------------------------------------------ */

/* PLUMB_ERR_ARG: an expression or a list of steps that is none. */
int plumb_activations_check(const struct plumb_settings *s, plumb_error *err);
void plumb_activations_open(struct plumb_run *run);
void plumb_activations_do_open(void); /* PLUMB_JOB_ACTIVATIONS */
void plumb_activations_close(struct plumb_run *run);
void plumb_activations_forked(void);
/* Before that, for plumb_give_back(): the parent's patterns. */
void plumb_activations_give_back(void);
/* Whether records are made, which the first call settles; it may wait for the helper. */
bool plumb_act_is_on(void);
/* Says "attached to ...": when the first step is over or the run is; again when the run is over,
 * where more modules have come since. */
void plumb_act_tell_attached(void);
/* Some thread is in a step now. */
static inline void plumb_activations_step(int64_t step)
{
    if (step >= 0 && !PLUMB_LOAD(plumb_act.step_open))
        PLUMB_STORE(plumb_act.step_open, 1);
}
/* Whether clients are to call. */
bool plumb_activations_wanted(void);

/* ---- Calls ----------------------------------------------------------------------------------- */

void plumb_activation_impl(plumb_node node, const char *label, const plumb_value *value);
void plumb_activation_register_impl(struct plumb_client *client); /* record/span/point.c */
/* Of an input or output of an open stage of this thread. */
void plumb_activation_stage(struct plumb_thread *th, uint32_t node, uint32_t part, const char *name,
                            const plumb_value *value);
int plumb_activation_stat_impl(const char *name, plumb_activation_stat_fn fn, void *arg,
                               plumb_error *err);
int plumb_activation_sink_impl(plumb_activation_sink_fn fn, void *arg, plumb_error *err);
int plumb_activation_copy_impl(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                               plumb_error *err);

/* module.c: the module of a path of `n` nodes; NULL: no memory, or too many, or the
 * helper does not say whether it is chosen. */
struct plumb_act_module *plumb_act_module(const uint32_t *path, uint32_t n);
void plumb_act_modules_do_decide(void); /* PLUMB_JOB_MODULES */
void plumb_act_modules_forget(void); /* those that are still to be decided, which nobody awaits */
/* The path of the calling thread below its innermost stage, with `node` at its end. Inside enter.
 */
uint32_t plumb_act_path(uint32_t path[PLUMB_ACT_PATH], struct plumb_thread *th, uint32_t node);

/* stats.c: under the lock. Makes columns of the names that are known, in their order;
 * returns how many are not. */
uint32_t plumb_act_resolve(const char *names);
/* Outside the lock: says which are unknown, and that none is left. */
void plumb_act_tell_unknown(const char *names);
/* The names of the columns, separated by ", ". */
void plumb_act_names(char *out, size_t size);

/* pending.c: where records wait, for the file at `path`; `with_file`: outliving the
 * process if it can be. The same address each time. NULL: no memory. */
struct plumb_pending *plumb_act_pending_open(const char *path, bool with_file);
void plumb_act_pending_close(void);
void plumb_act_pending_forked(void);

/* queue.c */
int plumb_act_queue_open(const char *path, bool append, mode_t mode, plumb_error *err);
/* PLUMB_JOB_ACTIVATIONS: makes the thread that writes, where a record waits for one. */
void plumb_act_queue_begin(void);
/* Hands a copy over; `seq` and `call` are given here. */
void plumb_act_queue_put(struct plumb_act_record *r);
/* Gives them to a record that is not handed over. */
void plumb_act_queue_number(struct plumb_act_record *r);
void plumb_act_queue_lose(void); /* counts one for which there was no memory */
/* Waits until everything is written; how many records were lost. After an open that went well. */
uint64_t plumb_act_queue_close(void);
void plumb_act_queue_forked(void);

/* dump.c: of a record that has its numbers. */
void plumb_act_dump(const struct plumb_act_record *r, const struct plumb_view *view);
/* dump_file.c */
void plumb_act_dump_open(void);  /* PLUMB_JOB_ACTIVATIONS: makes the thread, where one is wanted */
void plumb_act_dump_close(void); /* ends it; waits some seconds for a disk that takes nothing */
void plumb_act_dump_forked(void);

/* file.c: on threads that share the helper's descriptors */
struct plumb_act_file {
    int fd; /* among the helper's; -1: none */
    bool append;
    char name[PLUMB_SETTINGS_PATH + 64];
};
/* Opens it for writing, begun afresh or to be added to. Where another process is writing to it,
 * "<path>.<pid>" instead, and said. */
int plumb_act_file_open(struct plumb_act_file *out, const char *path, bool append, mode_t mode,
                        plumb_error *err);
void plumb_act_file_close(struct plumb_act_file *file);

#endif
