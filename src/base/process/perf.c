/* perf.c: see perf.h. */
#include "base/process/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/u128.h"

static const struct {
    const char *name;
    uint32_t type, leader;
    uint64_t config;
} counters[PLUMB_PERF_COUNTERS] = {
    [PLUMB_PERF_TASK_CLOCK] = {"task_clock_ns", 0, 0, 0},
    [PLUMB_PERF_PROCESS_CPU] = {"process_cpu_ns", 0, 0, 0},
    [PLUMB_PERF_MINOR_FAULTS] = {"minor_faults", 0, 0, 0},
    [PLUMB_PERF_MAJOR_FAULTS] = {"major_faults", 0, 0, 0},
    [PLUMB_PERF_VOLUNTARY] = {"voluntary_switches", 0, 0, 0},
    [PLUMB_PERF_INVOLUNTARY] = {"involuntary_switches", 0, 0, 0},
    [PLUMB_PERF_MIGRATIONS] = {"migrations", PERF_TYPE_SOFTWARE, PLUMB_PERF_MIGRATIONS,
                               PERF_COUNT_SW_CPU_MIGRATIONS},
    [PLUMB_PERF_CYCLES] = {"cycles", PERF_TYPE_HARDWARE, PLUMB_PERF_CYCLES,
                           PERF_COUNT_HW_CPU_CYCLES},
    [PLUMB_PERF_INSTRUCTIONS] = {"instructions", PERF_TYPE_HARDWARE, PLUMB_PERF_CYCLES,
                                 PERF_COUNT_HW_INSTRUCTIONS},
    [PLUMB_PERF_CACHE_REFERENCES] = {"cache_references", PERF_TYPE_HARDWARE,
                                     PLUMB_PERF_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_REFERENCES},
    [PLUMB_PERF_CACHE_MISSES] = {"cache_misses", PERF_TYPE_HARDWARE, PLUMB_PERF_CACHE_REFERENCES,
                                 PERF_COUNT_HW_CACHE_MISSES},
    [PLUMB_PERF_BRANCHES] = {"branches", PERF_TYPE_HARDWARE, PLUMB_PERF_BRANCHES,
                             PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [PLUMB_PERF_BRANCH_MISSES] = {"branch_misses", PERF_TYPE_HARDWARE, PLUMB_PERF_BRANCHES,
                                  PERF_COUNT_HW_BRANCH_MISSES},
};

const char *plumb_perf_name(uint32_t id)
{
    return id < PLUMB_PERF_COUNTERS ? counters[id].name : NULL;
}

static bool is_name(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

uint32_t plumb_perf_bits_of(const char *name, size_t n)
{
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++)
        if (is_name(name, n, counters[i].name))
            return PLUMB_PERF_BIT(i);
    if (is_name(name, n, "software"))
        return PLUMB_PERF_SOFT;
    return is_name(name, n, "hardware") ? PLUMB_PERF_HARD : 0;
}

uint32_t plumb_perf_leader(uint32_t id)
{
    return counters[id].leader;
}

/* ---- Differences ----------------------------------------------------------------------------- */

uint64_t plumb_perf_scaled(uint64_t value, uint64_t enabled, uint64_t running)
{
    plumb_u128 v = ((plumb_u128)value * enabled + running / 2) / running;
    return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* `enabled` and `running` are known to the kernel only as exactly as its switches: an event that
 * never waited may show a few ns of difference, which is not multiplexing. */
static bool took_turns(uint64_t enabled, uint64_t running)
{
    return running < enabled && enabled - running > enabled / 10000;
}

/* Returns whether all three went forwards, and the event ran. */
static bool is_there(const struct plumb_perf_reading *begin, const struct plumb_perf_reading *end,
                     uint32_t i)
{
    if (!(begin->known & end->known & PLUMB_PERF_BIT(i)) || end->value[i] < begin->value[i])
        return false;
    return i < PLUMB_PERF_FIRST_EVENT ||
           (end->enabled[i] >= begin->enabled[i] && end->running[i] > begin->running[i]);
}

void plumb_perf_between(struct plumb_perf_counts *out, const struct plumb_perf_reading *begin,
                        const struct plumb_perf_reading *end)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        if (!is_there(begin, end, i))
            continue;
        out->known |= PLUMB_PERF_BIT(i);
        out->value[i] = end->value[i] - begin->value[i];
        if (i < PLUMB_PERF_FIRST_EVENT)
            continue;
        out->enabled[i] = end->enabled[i] - begin->enabled[i];
        out->running[i] = end->running[i] - begin->running[i];
        if (took_turns(out->enabled[i], out->running[i])) {
            out->value[i] = plumb_perf_scaled(out->value[i], out->enabled[i], out->running[i]);
            out->scaled |= PLUMB_PERF_BIT(i);
        }
    }
}

void plumb_perf_add_own(struct plumb_perf_reading *own, const struct plumb_perf_reading *begin,
                        const struct plumb_perf_reading *end)
{
    uint32_t both = begin->known & end->known;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        if (!(both & PLUMB_PERF_BIT(i)) || end->value[i] < begin->value[i])
            continue;
        own->value[i] += end->value[i] - begin->value[i];
        if (i < PLUMB_PERF_FIRST_EVENT)
            continue;
        own->enabled[i] += end->enabled[i] - begin->enabled[i];
        own->running[i] += end->running[i] - begin->running[i];
    }
}

void plumb_perf_without(struct plumb_perf_reading *reading, const struct plumb_perf_reading *own)
{
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        reading->value[i] -= own->value[i];
        reading->enabled[i] -= own->enabled[i];
        reading->running[i] -= own->running[i];
    }
}

/* ---- Software counters ----------------------------------------------------------------------- */

static void put(struct plumb_perf_reading *out, uint32_t wanted, uint32_t id, uint64_t value)
{
    if (!(wanted & PLUMB_PERF_BIT(id)))
        return;
    out->value[id] = value;
    out->known |= PLUMB_PERF_BIT(id);
}

static void put_clock(struct plumb_perf_reading *out, uint32_t wanted, uint32_t id, clockid_t clock)
{
    struct timespec t;
    if (wanted & PLUMB_PERF_BIT(id) && clock_gettime(clock, &t) == 0)
        put(out, wanted, id, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

void plumb_perf_read_soft(struct plumb_perf_reading *out, uint32_t wanted)
{
    const uint32_t usage = PLUMB_PERF_SOFT & ~(PLUMB_PERF_BIT(PLUMB_PERF_TASK_CLOCK) |
                                               PLUMB_PERF_BIT(PLUMB_PERF_PROCESS_CPU));
    struct rusage u;
    int saved = errno;
    if (wanted & usage && getrusage(RUSAGE_THREAD, &u) == 0) {
        put(out, wanted, PLUMB_PERF_MINOR_FAULTS, (uint64_t)u.ru_minflt);
        put(out, wanted, PLUMB_PERF_MAJOR_FAULTS, (uint64_t)u.ru_majflt);
        put(out, wanted, PLUMB_PERF_VOLUNTARY, (uint64_t)u.ru_nvcsw);
        put(out, wanted, PLUMB_PERF_INVOLUNTARY, (uint64_t)u.ru_nivcsw);
    }
    put_clock(out, wanted, PLUMB_PERF_TASK_CLOCK, CLOCK_THREAD_CPUTIME_ID);
    put_clock(out, wanted, PLUMB_PERF_PROCESS_CPU, CLOCK_PROCESS_CPUTIME_ID);
    errno = saved;
}

/* ---- Simulated counters ---------------------------------------------------------------------- */

void plumb_perf_read_simulated(struct plumb_perf_reading *out, uint32_t wanted)
{
    struct plumb_perf_reading clock = {.known = 0};
    plumb_perf_read_soft(&clock, PLUMB_PERF_BIT(PLUMB_PERF_TASK_CLOCK));
    uint64_t t = clock.value[PLUMB_PERF_TASK_CLOCK];
    const uint64_t value[PLUMB_PERF_COUNTERS] = {[PLUMB_PERF_MIGRATIONS] = 0,
                                                 [PLUMB_PERF_CYCLES] = 3 * t,
                                                 [PLUMB_PERF_INSTRUCTIONS] = 6 * t,
                                                 [PLUMB_PERF_CACHE_REFERENCES] = t / 16,
                                                 [PLUMB_PERF_CACHE_MISSES] = t / 64};
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++) {
        put(out, wanted, i, value[i]);
        out->enabled[i] = t;
        out->running[i] = i < PLUMB_PERF_CACHE_REFERENCES ? t : i < PLUMB_PERF_BRANCHES ? t / 2 : 0;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

bool plumb_perf_has_page(const struct plumb_perf_event *e)
{
#if defined(__x86_64__) || defined(__i386__)
    const struct perf_event_mmap_page *p = e->page;
    /* cap_user_rdpmc and cap_user_time: without times, taking turns would go unseen. */
    return p && (PLUMB_LOAD(p->capabilities) & 3u << 2) == 3u << 2;
#else
    (void)e; /* the sequence for other processors differs, and their kernels mostly refuse it */
    return false;
#endif
}

int plumb_perf_open(struct plumb_perf_event *out, uint32_t id, int32_t tid,
                    const struct plumb_perf_event *leader)
{
    struct perf_event_attr a;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page;
    int fd;
    *out = (struct plumb_perf_event){NULL, 0, -1};
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = counters[id].type;
    a.config = counters[id].config;
    a.exclude_kernel = id >= PLUMB_PERF_FIRST_HARD;
    a.exclude_hv = a.exclude_kernel;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    fd = (int)syscall(SYS_perf_event_open, &a, tid, -1, leader ? leader->fd : -1,
                      PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno ? errno : EINVAL;
    out->fd = fd;
    if (id < PLUMB_PERF_FIRST_HARD) /* the page of a software event has no count */
        return 0;
    page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) { /* otherwise the descriptor reads it */
        out->page = page;
        out->page_bytes = bytes;
    }
    return 0;
}

void plumb_perf_close(struct plumb_perf_event *e)
{
    if (e->page)
        munmap(e->page, e->page_bytes);
    if (e->fd >= 0)
        syscall(SYS_close, e->fd); /* libc's is a cancellation point */
    *e = (struct plumb_perf_event){NULL, 0, -1};
}

#if defined(__x86_64__) || defined(__i386__)
static uint64_t rdpmc(uint32_t counter)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
}

static uint64_t rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Returns the ns since the kernel last wrote the page's times. */
static uint64_t ns_since(const struct perf_event_mmap_page *p)
{
    uint64_t cycles = rdtsc(), whole, rest;
    whole = cycles >> p->time_shift;
    rest = cycles & (((uint64_t)1 << p->time_shift) - 1);
    return p->time_offset + whole * p->time_mult + ((rest * p->time_mult) >> p->time_shift);
}

/* The sequence that linux/perf_event.h gives: again, if the kernel has written in between. */
bool plumb_perf_read_page(struct plumb_perf_reading *out, uint32_t id,
                          const struct plumb_perf_event *e)
{
    const struct perf_event_mmap_page *p = e->page;
    uint64_t value, enabled, running;
    uint32_t lock;
    if (!plumb_perf_has_page(e))
        return false;
    do {
        uint64_t since;
        uint32_t index;
        lock = PLUMB_ACQUIRE(p->lock);
        since = ns_since(p);
        enabled = p->time_enabled + since;
        running = p->time_running;
        index = p->index;
        value = (uint64_t)p->offset;
        if (index) { /* it counts now */
            uint32_t unused = 64u - p->pmc_width;
            running += since;
            value += (uint64_t)((int64_t)(rdpmc(index - 1) << unused) >> unused);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (PLUMB_LOAD(p->lock) != lock);
    out->value[id] = value;
    out->enabled[id] = enabled;
    out->running[id] = running;
    out->known |= PLUMB_PERF_BIT(id);
    return true;
}
#else
bool plumb_perf_read_page(struct plumb_perf_reading *out, uint32_t id,
                          const struct plumb_perf_event *e)
{
    (void)out;
    (void)id;
    return plumb_perf_has_page(e);
}
#endif

bool plumb_perf_read_fd(struct plumb_perf_reading *out, uint32_t id,
                        const struct plumb_perf_event *e)
{
    uint64_t got[3];
    if (e->fd < 0 || syscall(SYS_read, e->fd, got, sizeof got) != (long)sizeof got)
        return false;
    out->value[id] = got[0];
    out->enabled[id] = got[1];
    out->running[id] = got[2];
    out->known |= PLUMB_PERF_BIT(id);
    return true;
}

/* ---- Reasons --------------------------------------------------------------------------------- */

/* By system calls alone: threads with descriptor tables of their own have this number in several,
 * which ThreadSanitizer takes for one file. */
int32_t plumb_perf_paranoid(void)
{
    char text[16] = "";
    long fd =
        syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
    char *end = text;
    long level;
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (n <= 0)
        return INT32_MIN;
    level = strtol(text, &end, 10);
    return end == text ? INT32_MIN : (int32_t)level;
}

void plumb_perf_why(char *out, size_t size, uint32_t id, int code, int32_t level)
{
    /* The kernel's own work, such as a migration, is refused from 2 on. */
    int32_t most = id < PLUMB_PERF_FIRST_HARD ? 1 : 2;
    switch (code) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
        snprintf(out, size, "not on this machine (%s), as on many virtual ones", strerror(code));
        break;
    case EACCES:
    case EPERM:
        if (level > most)
            snprintf(out, size, "kernel.perf_event_paranoid is %d, %d or less is needed",
                     (int)level, (int)most);
        else
            snprintf(out, size,
                     "perf_event_open() is refused (%s): a container's filter of system calls does "
                     "so unless it is told not to",
                     strerror(code));
        break;
    case ENOSYS:
        snprintf(out, size, "this kernel has no perf_event_open()");
        break;
    case EMFILE:
    case ENFILE:
        snprintf(out, size, "no descriptor is left (%s): raise ulimit -n", strerror(code));
        break;
    case EBUSY:
        snprintf(out, size, "another program uses the counter");
        break;
    default:
        snprintf(out, size, "perf_event_open() fails: %s", strerror(code));
        break;
    }
}
