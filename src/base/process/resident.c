#include "base/process/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scratch.h"

/* The first bytes of a file, NUL-terminated; false when there are none. */
static bool head_of(const char *path, char *out, size_t size)
{
    int saved = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    errno = saved;
    return n > 0;
}

/* The descriptor of a thread with a table of its own; 0: none is kept. It is used through system
 * calls directly, because a race detector takes equal numbers in two tables for one descriptor. */
static __thread int statm __attribute__((tls_model("initial-exec")));

void plumb_resident_keep(void)
{
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
    statm = fd > 0 ? (int)fd : 0;
}

static bool read_statm(char *out, size_t size)
{
    int saved = errno;
    ssize_t n;
    if (!statm)
        return head_of("/proc/self/statm", out, size);
    n = syscall(SYS_pread64, statm, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    errno = saved;
    return n > 0;
}

uint64_t plumb_resident_now(void)
{
    char text[128];
    const char *second = read_statm(text, sizeof text) ? strchr(text, ' ') : NULL;
    return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t plumb_resident_high(void)
{
    struct rusage usage;
    int saved = errno;
    uint64_t high = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
    errno = saved;
    return high;
}

/* Bytes of a line "<key>  <number> kB". */
static uint64_t line_of(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

uint64_t plumb_resident_peak(void)
{
    char *text = plumb_scratch_take();
    bool read = text && head_of("/proc/self/status", text, PLUMB_SCRATCH_BYTES);
    uint64_t peak = read ? line_of(text, "\nVmHWM:") : 0;
    plumb_scratch_give(text);
    return peak;
}

bool plumb_resident_reset(void)
{
    int saved = errno, fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return done;
}

/* The frame holds a path and a file: 8 KiB. The limit is read once, when a run opens. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
/* The limit of the control group, 0: none. */
static uint64_t group_limit(void)
{
    char text[4096], path[4200], *group, *end;
    if (!head_of("/proc/self/cgroup", text, sizeof text))
        return 0;
    group = strncmp(text, "0::", 3) == 0 ? text + 3 : NULL;
    if (!group)
        return 0;
    end = strchr(group, '\n');
    if (end)
        *end = '\0';
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
    return head_of(path, text, sizeof text) ? strtoull(text, NULL, 10) : 0; /* "max" reads as 0 */
}
#pragma GCC diagnostic pop

uint64_t plumb_resident_total(void)
{
    char text[512];
    uint64_t machine = head_of("/proc/meminfo", text, sizeof text) ? line_of(text, "MemTotal:") : 0;
    uint64_t group = group_limit();
    return group && (group < machine || !machine) ? group : machine;
}
