/* read_doctor.c: the kinds of data that can be collected on this machine. One check is one function
 * in one array. It fills in its finding and, if something prevents the recording, the cure. Any
 * thread; no state. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process/device_platform.h"
#include "base/process/nvidia.h"
#include "base/process/perf.h"
#include "report/run/checks.h"
#include <plumb/read/doctor.h>
#include <plumb/read/run.h>

#define DETAIL(c, ...) snprintf((c)->detail, sizeof(c)->detail, __VA_ARGS__)
#define CURE(c, ...) snprintf((c)->cure, sizeof(c)->cure, __VA_ARGS__)

/* The first line of a small file, without its newline; false when it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    bool ok = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

static bool cpu_has(const char *flag)
{
    char *line = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && getline(&line, &cap, file) >= 0) {
        char *rest = line;
        char *word;
        if (strncmp(line, "flags", 5) != 0)
            continue;
        while (!found && (word = strtok_r(rest, " \t\n", &rest)))
            found = strcmp(word, flag) == 0;
        break;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

static void check_clock(plumb_check *c)
{
    char source[64] = "unknown";
    bool invariant = cpu_has("nonstop_tsc") && cpu_has("constant_tsc");
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
              sizeof source);
    if (plumb_clock_pick(PLUMB_CLOCK_AUTO) == PLUMB_CLOCK_TSC) {
        DETAIL(c, "time stamp counter (invariant; the kernel uses %s)", source);
        return;
    }
    c->state = PLUMB_CHECK_NOT_SEEN;
    DETAIL(c,
           "no usable time stamp counter (invariant: %s; the kernel uses %s): "
           "clock_gettime instead, at a higher cost a span",
           invariant ? "yes" : "no", source);
    if (invariant)
        CURE(c, "PLUMB_CLOCK=tsc if all processors' counters are in step");
}

static void check_proc(plumb_check *c)
{
    if (access("/proc/self/maps", R_OK) == 0) {
        DETAIL(c, "/proc is readable");
        return;
    }
    c->state = PLUMB_CHECK_BLOCKED;
    DETAIL(c, "/proc/self/maps: %s", strerror(errno));
    CURE(c, "mount /proc: marked libraries that link no libplumb find the runtime through it");
}

static void check_perf(plumb_check *c)
{
    char level[32];
    if (!read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof level)) {
        c->state = PLUMB_CHECK_NOT_SEEN;
        DETAIL(c, "this kernel has no perf events (not needed for timing)");
        return;
    }
    bool root = geteuid() == 0;
    if (root || atoi(level) <= 2) {
        DETAIL(c, "perf_event_paranoid is %s%s (not needed for timing)", level,
               root ? ", and this is root" : "");
        return;
    }
    c->state = PLUMB_CHECK_BLOCKED;
    DETAIL(c, "perf_event_paranoid is %s (not needed for timing)", level);
    CURE(c, "sysctl kernel.perf_event_paranoid=2, for hardware counters");
}

/* Tries each hardware counter and returns the reason of the first that is absent in `why`. */
static size_t try_counters(char *there, size_t size, char *why, size_t why_size, int *code)
{
    size_t n = 0, at = 0;
    *there = *why = '\0';
    *code = 0;
    for (uint32_t i = PLUMB_PERF_FIRST_HARD; i < PLUMB_PERF_COUNTERS; i++) {
        struct plumb_perf_event event;
        int refused = plumb_perf_open(&event, i, 0, NULL);
        plumb_perf_close(&event);
        if (refused && !*code) {
            *code = refused;
            plumb_perf_why(why, why_size, i, refused, plumb_perf_paranoid());
        }
        if (refused || at >= size)
            continue;
        at += (size_t)snprintf(there + at, size - at, "%s%s", n++ ? ", " : "", plumb_perf_name(i));
    }
    return n;
}

static void check_counters(plumb_check *c)
{
    char there[96], why[132];
    int code;
    size_t n = try_counters(there, sizeof there, why, sizeof why, &code);
    if (!code) {
        DETAIL(c, "of the hardware: %s; PLUMB_COLLECT=perf reads them", there);
        return;
    }
    c->state = code == EACCES || code == EPERM ? PLUMB_CHECK_BLOCKED : PLUMB_CHECK_NOT_SEEN;
    if (n)
        DETAIL(c, "of the hardware only %s: %s", there, why);
    else
        DETAIL(c, "none of the hardware: %s", why);
    if (c->state == PLUMB_CHECK_BLOCKED)
        CURE(c,
             "sysctl kernel.perf_event_paranoid=2, or a container that allows perf_event_open()");
    else
        CURE(c, "PLUMB_COLLECT=perf counts page faults, switches and processor time all the same");
}

static void check_limits(plumb_check *c)
{
    static const struct {
        int resource;
        const char *name, *option;
    } limits[] = {{RLIMIT_FSIZE, "file size", "f"}, {RLIMIT_AS, "address space", "v"}};
    const rlim_t needed_bytes = (rlim_t)256 << 20; /* the default PLUMB_MAX_STATE */
    DETAIL(c, "no limit on file size or address space is in the way");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;
        if (getrlimit((unsigned)limits[i].resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
            continue;
        if (limit.rlim_cur >= needed_bytes)
            continue;
        c->state = PLUMB_CHECK_BLOCKED;
        DETAIL(c, "the %s limit is %" PRIu64 " bytes, less than the 256 MiB of PLUMB_MAX_STATE",
               limits[i].name, (uint64_t)limit.rlim_cur);
        CURE(c, "ulimit -%s unlimited, or a smaller PLUMB_MAX_STATE", limits[i].option);
        return;
    }
}

/* The nearest folder above `path` that exists. */
static void existing_parent(char *path)
{
    while (access(path, F_OK) < 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            snprintf(path, 2, "%s", slash ? "/" : ".");
            return;
        }
        *slash = '\0';
    }
}

static bool output_folder(plumb_check *c, char *dir, size_t size)
{
    plumb_error err;
    if (plumb_runs_dir(dir, size, &err) == PLUMB_OK)
        return true;
    c->state = PLUMB_CHECK_BLOCKED;
    DETAIL(c, "%.200s", err.message);
    CURE(c, "set PLUMB_DIR to a folder that can be written");
    return false;
}

static void check_output(plumb_check *c)
{
    char dir[4096];
    char probe[4200];
    char parent[4096];
    if (!output_folder(c, dir, sizeof dir))
        return;
    snprintf(parent, sizeof parent, "%s", dir);
    existing_parent(parent);
    snprintf(probe, sizeof probe, "%s/.plumb-doctor-XXXXXX", parent);
    int fd = mkstemp(probe);
    if (fd >= 0) {
        close(fd);
        unlink(probe);
        DETAIL(c, "runs can be written to %.200s", dir);
        return;
    }
    c->state = PLUMB_CHECK_BLOCKED;
    DETAIL(c, "cannot write in %.160s: %s", parent, strerror(errno));
    CURE(c, "set PLUMB_DIR (or plumb record --dir) to a folder that can be written");
}

static void check_space(plumb_check *c)
{
    char dir[4096];
    struct statvfs fs;
    const uint64_t wanted_mib = 300; /* the default PLUMB_MAX_STATE and the reports */
    if (!output_folder(c, dir, sizeof dir))
        return;
    existing_parent(dir);
    if (statvfs(dir, &fs) < 0) {
        c->state = PLUMB_CHECK_BLOCKED;
        DETAIL(c, "cannot tell the free space of %.160s: %s", dir, strerror(errno));
        return;
    }
    uint64_t free_mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
    DETAIL(c, "%" PRIu64 " MiB are free for runs", free_mib);
    if (free_mib < wanted_mib) {
        c->state = PLUMB_CHECK_BLOCKED;
        CURE(c,
             "plumb runs --prune 30, or PLUMB_DIR on another disk, or a smaller PLUMB_MAX_STATE");
    }
}

static void check_membarrier(plumb_check *c)
{
    long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (have >= 0 && (have & MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        DETAIL(c, "the membarrier system call works (runs end at once)");
        return;
    }
    c->state = have < 0 && errno != ENOSYS ? PLUMB_CHECK_BLOCKED : PLUMB_CHECK_NOT_SEEN;
    DETAIL(c, "the membarrier system call does not work%s%s", have < 0 ? ": " : "",
           have < 0 ? strerror(errno) : "");
    CURE(c, "allow membarrier in the sandbox (seccomp), or expect the end of a run to take longer");
}

static void check_platform(plumb_check *c)
{
    const struct plumb_device_platform *p =
        plumb_device_platform_find("/dev", getenv("CUDA_VISIBLE_DEVICES"));
    if (strcmp(p->id, "cpu") == 0)
        DETAIL(c, "%s: activity %s alone; looked for rocm, cuda, npu", p->id, p->activity);
    else
        DETAIL(c, "%s: activities CPU, and %s from a collector (docs/collectors.md)", p->id,
               p->activity);
}

static void check_nvtx(plumb_check *c)
{
    const char *tool = getenv("NVTX_INJECTION64_PATH");
    bool named = tool && *tool;
#if PLUMB_HAVE_NVTX
    if (named && access(tool, R_OK) < 0) {
        c->state = PLUMB_CHECK_BLOCKED;
        DETAIL(c, "NVTX_INJECTION64_PATH is %.150s: %s", tool, strerror(errno));
        CURE(c, "unset it, or name the library of the tool that reads the ranges");
        return;
    }
    if (!plumb_nvidia_is_there("/dev", getenv("CUDA_VISIBLE_DEVICES"))) {
        c->state = PLUMB_CHECK_NOT_SEEN;
        DETAIL(c, "no NVIDIA GPU is there: PLUMB_NVTX=1 emits no ranges");
        CURE(c, "PLUMB_NVTX=always emits them%s%.150s",
             named ? " to " : ", where a tool is injected", named ? tool : "");
        return;
    }
    DETAIL(c, "PLUMB_NVTX=1 emits ranges%s%.150s", named ? " to " : ", where a tool is injected",
           named ? tool : "");
#else
    (void)named;
    c->state = PLUMB_CHECK_NOT_SEEN;
    DETAIL(c, "this plumb was built without the nvtx3 headers: PLUMB_NVTX does nothing");
    CURE(c, "build plumb where the CUDA toolkit is, or with -DNVTX3_INCLUDE_DIR=");
#endif
}

static const struct {
    const char *name;
    void (*run)(plumb_check *c);
} checks[] = {
    {"clock", check_clock},       {"proc", check_proc},
    {"perf events", check_perf},  {"counters", check_counters},
    {"limits", check_limits},     {"output folder", check_output},
    {"disk space", check_space},  {"membarrier", check_membarrier},
    {"platform", check_platform}, {"nvtx", check_nvtx},
};

int plumb_doctor_check(plumb_check *out, size_t i)
{
    plumb_check result;
    if (i >= sizeof checks / sizeof *checks)
        return 0;
    memset(&result, 0, sizeof result);
    result.name = checks[i].name;
    checks[i].run(&result);
    *out = result;
    return 1;
}

int plumb_doctor_render(char **out, const plumb_check *made, size_t n, uint32_t colour,
                        plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_checks_text(&text, made, n, colour != 0);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a table of checks");
    }
    *out = text.data;
    return PLUMB_OK;
}
