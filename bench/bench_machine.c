/* bench_machine.c: what the figures were taken on. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first line of a file, or "" when there is none. */
static void first_line(char *out, size_t size, const char *path)
{
    FILE *f = fopen(path, "r");
    out[0] = '\0';
    if (!f)
        return;
    if (!fgets(out, (int)size, f))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

static void processor(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, size, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

/* The smallest difference of successive reads that is common: the step the counter moves in. */
static double tick_step_ns(void)
{
    enum { READS = 20000 };
    static double step[READS];
    size_t n = 0;
    uint64_t last = bench_ticks();
    for (size_t i = 0; i < READS; i++) {
        uint64_t now = bench_ticks();
        if (now != last)
            step[n++] = (double)(now - last);
        last = now;
    }
    if (n == 0)
        return 0;
    bench_stat_of(step, n);
    return bench_quantile(step, n, 0.01) * bench_tick_ns();
}

#if defined(__x86_64__)
/* Eight multiplications that wait for each other take 24 cycles on every x86 of the last decade. */
static void multiply_chain(void *arg, uint64_t n)
{
    uint64_t x = n | 3;
    for (uint64_t i = 0; i < n; i++) {
        x *= x;
        x *= x;
        x *= x;
        x *= x;
        x *= x;
        x *= x;
        x *= x;
        x *= x;
        bench_barrier();
    }
    *(volatile uint64_t *)arg = x;
}

static void core_clock(struct bench *b)
{
    uint64_t product;
    struct bench_cell c = {.name = "24 cycles", .run = multiply_chain, .arg = &product};
    bench_interleave(b, &c, 1, 20000, 100);
    bench_put(b, "core_ghz", 24 / c.ns.median);
}
#else
static void core_clock(struct bench *b)
{
    bench_put_null(b, "core_ghz", "not measured on this architecture");
}
#endif

int main(int argc, char **argv)
{
    static struct bench b;
    char text[256], path[128];
    double load = 0;
    struct utsname u;
    bench_open(&b, "machine", argc, argv);
    processor(text, sizeof text);
    bench_put_text(&b, "cpu", text);
    core_clock(&b);
    bench_put(&b, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    bench_put(&b, "l2_kb", (double)sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024);
    if (uname(&u) == 0) {
        snprintf(text, sizeof text, "%s %s", u.sysname, u.release);
        bench_put_text(&b, "kernel", text);
    }
    first_line(text, sizeof text,
               "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    bench_put_text(&b, "clock_source", text[0] ? text : "unknown");
    bench_put(&b, "tick_ns", bench_tick_ns());
    bench_put(&b, "tick_step_ns", tick_step_ns());
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", b.cpu);
    first_line(text, sizeof text, path);
    bench_put_text(&b, "governor", text[0] ? text : "none visible");
    bench_put(&b, "nice", b.nice);
    if (getloadavg(&load, 1) == 1)
        bench_put(&b, "load_average", load);
    return bench_close(&b);
}
