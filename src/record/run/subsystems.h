/* subsystems.h: what takes part in each run besides threads and spans: one entry a subsystem, with
 * what it does when a run opens and closes and when the process forks. Runs open and close in
 * open.c, close.c and fork.c, which go through the table and know none of them by name.
 *
 * An opening goes through it from the first to the last, a closing from the last to the first, but
 * for the notes, which stand in the report in the order of the table. All under life_lock; any
 * function may be NULL. */
#ifndef PLUMB_RECORD_RUN_SUBSYSTEMS_H
#define PLUMB_RECORD_RUN_SUBSYSTEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "live/layout.h"
#include "record/runtime/mapping.h"

struct plumb_subsystem {
    const char *name;
    void (*prepare)(void); /* a run is about to open; without locks */
    /* Under the lock: makes what it needs in the mapping, which nobody else can see yet. */
    void (*begin)(struct plumb_run *run);
    void (*ready)(void); /* still under the lock: the run is open, or could not be */
    /* Threads may record. `early`: perhaps before main(). */
    void (*open)(struct plumb_run *run, bool early);
    void (*stop)(struct plumb_run *run);  /* the run is about to close; threads still record */
    void (*close)(struct plumb_run *run); /* nobody records any more */
    /* The same, `end` being the run's last moment: enters its last figures in the mapping. */
    void (*finish)(struct plumb_run *run, const struct plumb_anchor *end);
    void (*notes)(struct plumb_run *run); /* then: what the report must say besides its figures */
    /* In the child of a fork, which has no other thread: forgets what the parent's threads did. */
    void (*forked)(void);
    /* Before that, unless the fork interrupted plumb: unmaps what the child has no use for. */
    void (*give_back)(void);
};

extern const struct plumb_subsystem plumb_subsystems[];
extern const size_t plumb_subsystem_count;

/* Calls `member` of each entry that has it, from the first to the last, or from the last. */
#define PLUMB_EACH_SUBSYSTEM(member, ...)                                                          \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < plumb_subsystem_count; i_++)                                      \
            if (plumb_subsystems[i_].member)                                                       \
                plumb_subsystems[i_].member(__VA_ARGS__);                                          \
    } while (0)
#define PLUMB_EACH_SUBSYSTEM_BACKWARDS(member, ...)                                                \
    do {                                                                                           \
        for (size_t i_ = plumb_subsystem_count; i_-- > 0;)                                         \
            if (plumb_subsystems[i_].member)                                                       \
                plumb_subsystems[i_].member(__VA_ARGS__);                                          \
    } while (0)

#endif
