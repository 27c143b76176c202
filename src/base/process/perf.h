/* perf.h: the counters of a thread: what there is to count, reading them, and the arithmetic of
 * their differences.
 *
 * Software counters come from getrusage(2) and the clocks of thread and process: every machine has
 * them, and they need no rights. Hardware counters, and migrations, come from perf_event_open(2). A
 * counter that is not there is *absent*, which is not 0: its bit in `known` is not set.
 *
 * A processor has fewer hardware counters than there are events. The kernel then takes turns
 * (multiplexing): an event counted `running` of the `enabled` ns. Its count is scaled by that
 * ratio, and marked. Each pair that a ratio is made of (instructions and cycles, misses and
 * references) is one group, whose events always count at the same time.
 *
 * User-space code alone is counted by hardware: this needs no rights at the usual
 * kernel.perf_event_paranoid of 2, and instructions are then reproducible.
 *
 * Plain data and system calls; no malloc, no lock, errno is kept unless said. Any thread. */
#ifndef PLUMB_BASE_PROCESS_PERF_H
#define PLUMB_BASE_PROCESS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These numbers are in files. */
enum plumb_perf {
    PLUMB_PERF_TASK_CLOCK = 0,  /* ns on a processor, of the thread */
    PLUMB_PERF_PROCESS_CPU = 1, /* ns on a processor, of all threads of the process */
    PLUMB_PERF_MINOR_FAULTS = 2,
    PLUMB_PERF_MAJOR_FAULTS = 3,
    PLUMB_PERF_VOLUNTARY = 4, /* context switches: the thread waited */
    PLUMB_PERF_INVOLUNTARY = 5,
    PLUMB_PERF_MIGRATIONS = 6,
    PLUMB_PERF_CYCLES = 7,
    PLUMB_PERF_INSTRUCTIONS = 8,
    PLUMB_PERF_CACHE_REFERENCES = 9,
    PLUMB_PERF_CACHE_MISSES = 10,
    PLUMB_PERF_BRANCHES = 11,
    PLUMB_PERF_BRANCH_MISSES = 12,
    PLUMB_PERF_COUNTERS = 13,
    PLUMB_PERF_MAX = 16 /* that a file has space for */
};
/* The first one that comes from perf_event_open(2), and the first one of the hardware. */
enum { PLUMB_PERF_FIRST_EVENT = PLUMB_PERF_MIGRATIONS, PLUMB_PERF_FIRST_HARD = PLUMB_PERF_CYCLES };
#define PLUMB_PERF_BIT(id) (UINT32_C(1) << (id))
#define PLUMB_PERF_ALL (PLUMB_PERF_BIT(PLUMB_PERF_COUNTERS) - 1)
#define PLUMB_PERF_SOFT (PLUMB_PERF_BIT(PLUMB_PERF_FIRST_EVENT) - 1)
#define PLUMB_PERF_HARD (PLUMB_PERF_ALL & ~(PLUMB_PERF_BIT(PLUMB_PERF_FIRST_HARD) - 1))

/* Returns its name, such as "instructions"; NULL for an unknown number. */
const char *plumb_perf_name(uint32_t id);
/* Returns the bit of a name, PLUMB_PERF_SOFT of "software", PLUMB_PERF_HARD of "hardware"; 0: there
 * is no such counter. `n`: bytes of the name. */
uint32_t plumb_perf_bits_of(const char *name, size_t n);
/* Returns the first counter of the group that `id`, an event, belongs to. */
uint32_t plumb_perf_leader(uint32_t id);

/* ---- Differences ----------------------------------------------------------------------------- */

/* The counters of a thread at one moment. Only differences have a meaning. */
struct plumb_perf_reading {
    uint32_t known; /* bits */
    uint64_t value[PLUMB_PERF_COUNTERS];
    uint64_t enabled[PLUMB_PERF_COUNTERS], running[PLUMB_PERF_COUNTERS]; /* ns; of events alone */
};

/* The counts of an interval. */
struct plumb_perf_counts {
    uint32_t known;  /* bits: the others are absent */
    uint32_t scaled; /* bits, of the known ones: multiplexed, so an estimate and no exact count */
    uint64_t value[PLUMB_PERF_COUNTERS];
    uint64_t enabled[PLUMB_PERF_COUNTERS], running[PLUMB_PERF_COUNTERS];
};

/* Sets `out` to what was counted from `begin` to `end`. Absent are counters that one of the
 * readings lacks, events that never ran in the interval, and values that went backwards. */
void plumb_perf_between(struct plumb_perf_counts *out, const struct plumb_perf_reading *begin,
                        const struct plumb_perf_reading *end);
/* The counts of plumb's own work on a thread are kept in `own`, whose `known` is unused. The first
 * adds what was counted from `begin` to `end`; the second takes all of it off a later reading. */
void plumb_perf_add_own(struct plumb_perf_reading *own, const struct plumb_perf_reading *begin,
                        const struct plumb_perf_reading *end);
void plumb_perf_without(struct plumb_perf_reading *reading, const struct plumb_perf_reading *own);
/* Returns value * enabled / running, rounded, at most UINT64_MAX. `running` is not 0. */
uint64_t plumb_perf_scaled(uint64_t value, uint64_t enabled, uint64_t running);

/* ---- Reading --------------------------------------------------------------------------------- */

/* Adds the software counters of the calling thread that `wanted` has. 1 us; PROCESS_CPU longer with
 * many threads. */
void plumb_perf_read_soft(struct plumb_perf_reading *out, uint32_t wanted);
/* Adds simulated events, for tests and for machines without counters: multiples of the thread's
 * processor time, 3 cycles a ns and 2 instructions a cycle. The cache's take turns, half of the
 * time, and a quarter of its references miss; the branches' never run. */
void plumb_perf_read_simulated(struct plumb_perf_reading *out, uint32_t wanted);

/* An event of a thread. `page`: its memory, shared with the kernel; NULL: none. `fd`: -1 where the
 * page is enough, because the processor lets user code read the counter. */
struct plumb_perf_event {
    void *page;
    size_t page_bytes;
    int fd;
};
/* Opens the event `id` of thread `tid`, in the group of `leader` (NULL: it leads one). Returns 0 or
 * an errno: ENOENT: the machine has no such counter; EACCES, EPERM: not allowed; ENOSYS: no such
 * system call; EMFILE: no descriptor left. The descriptor is the calling thread's table's. */
int plumb_perf_open(struct plumb_perf_event *out, uint32_t id, int32_t tid,
                    const struct plumb_perf_event *leader);
void plumb_perf_close(struct plumb_perf_event *e);
/* Returns whether user code can read the event without its descriptor, which may then be closed. */
bool plumb_perf_has_page(const struct plumb_perf_event *e);
/* Reads by the page, on the thread that the event counts. False: only a descriptor reads it. */
bool plumb_perf_read_page(struct plumb_perf_reading *out, uint32_t id,
                          const struct plumb_perf_event *e);
/* Reads by the descriptor, on any thread that has it. */
bool plumb_perf_read_fd(struct plumb_perf_reading *out, uint32_t id,
                        const struct plumb_perf_event *e);
/* Writes why the event `id` cannot be opened, in words a user can act on. `code`: an errno of
 * plumb_perf_open(). `level`: kernel.perf_event_paranoid, INT32_MIN: unknown. */
void plumb_perf_why(char *out, size_t size, uint32_t id, int code, int32_t level);
/* Returns kernel.perf_event_paranoid; INT32_MIN: unknown. Opens a file of /proc. */
int32_t plumb_perf_paranoid(void);

#endif
