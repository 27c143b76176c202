/* subsystems.h: the parts of a run other than threads and spans: one entry a subsystem, with its
 * functions for the opening and closing of a run and for a fork. open.c, close.c and fork.c go
 * through the table and name none of the subsystems.
 *
 * An opening goes through the table from the first entry to the last, a closing from the last to
 * the first. Only the notes of a report keep the order of the table. All under life_lock; any
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
    /* Under the lock: carves its objects in the mapping, which no other thread can see yet. */
    void (*begin)(struct plumb_run *run);
    void (*ready)(void); /* still under the lock: the run is open, or could not be */
    /* Threads may record. `early`: perhaps before main(). */
    void (*open)(struct plumb_run *run, bool early);
    void (*stop)(struct plumb_run *run);  /* the run is about to close; threads still record */
    void (*close)(struct plumb_run *run); /* recording has ended */
    /* The same, with `end` the run's last moment: writes its last figures to the mapping. */
    void (*finish)(struct plumb_run *run, const struct plumb_anchor *end);
    void (*notes)(struct plumb_run *run); /* after that: adds its notes to the report */
    /* In the child of a fork, which has no other thread: discards the state of the parent's
     * threads. */
    void (*forked)(void);
    /* Before that, unless the fork interrupted plumb: unmaps the memory that the child does not
     * need. */
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
