/* clock.c: choosing and fitting the tick. Stateless; any thread. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/u128.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define SOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

enum { NEXT_READS = 100000, QUICK_READS = 50, QUICK_ROW = 8, QUICK_NS = 150 };

/* Far enough from zero that a test may look back. */
uint64_t plumb_clock_virtual_ns = UINT64_C(1000000000000);
uint64_t plumb_clock_virtual_asleep_ns;

#if defined(__x86_64__)
/* Used where /sys is absent (in some containers), so that the kernel's clock source is not known.
 * The counter, and clocks derived from it, are read without a system call, in some 20 ns. Any other
 * clock is a device, which takes at least ten times as long. A kernel that found the counter
 * unstable reads such a device. */
static bool kernel_reads_quickly(void)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < QUICK_READS && best > QUICK_NS; i++) {
        uint64_t before = plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW), d = 0;
        for (int k = 0; k < QUICK_ROW; k++)
            d = plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW) - before;
        best = d / QUICK_ROW < best ? d / QUICK_ROW : best;
    }
    return best <= QUICK_NS;
}
#endif

bool plumb_clock_counter_is_trusted(const char *source_file)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    char name[32] = "";
    FILE *f;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
        return false;
    f = fopen(source_file, "re");
    if (f && !fgets(name, sizeof name, f))
        name[0] = 0;
    if (f)
        fclose(f);
    if (!name[0])
        return kernel_reads_quickly();
    /* kvm-clock and hyperv are themselves scaled counters; "hpet" or "acpi_pm" mean that the kernel
     * measured the counter and found it unstable. */
    return strncmp(name, "tsc", 3) == 0 || strncmp(name, "kvm", 3) == 0 ||
           strncmp(name, "hyperv", 6) == 0;
#else
    (void)source_file;
    return false;
#endif
}

enum plumb_clock_source plumb_clock_pick(enum plumb_clock_choice choice)
{
    if (choice == PLUMB_CLOCK_USE_MONOTONIC)
        return PLUMB_CLOCK_GETTIME;
    if (choice == PLUMB_CLOCK_USE_VIRTUAL)
        return PLUMB_CLOCK_VIRTUAL;
#if defined(__x86_64__)
    if (choice == PLUMB_CLOCK_USE_TSC)
        return PLUMB_CLOCK_TSC;
#endif
    return plumb_clock_counter_is_trusted(SOURCE_FILE) ? PLUMB_CLOCK_TSC : PLUMB_CLOCK_GETTIME;
}

uint64_t plumb_ticks_next(enum plumb_clock_source source)
{
    uint64_t before = plumb_ticks_from(source), now = before;
    for (int i = 0; now <= before && i < NEXT_READS && source != PLUMB_CLOCK_VIRTUAL; i++)
        now = plumb_ticks_from(source);
    return now;
}

void plumb_anchor_take(struct plumb_anchor *a, enum plumb_clock_source source)
{
    uint64_t best = UINT64_MAX;
    if (source == PLUMB_CLOCK_VIRTUAL) {
        a->ticks = a->unix_ns = plumb_ticks_from(source);
        a->raw_ns = a->ticks - PLUMB_LOAD(plumb_clock_virtual_asleep_ns);
        a->half_width_ns = 0;
        return;
    }
    for (int i = 0; i < 5; i++) {
        uint64_t before = plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW);
        uint64_t ticks = plumb_ticks_from(source);
        uint64_t after = plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW);
        if (after - before >= best)
            continue;
        best = after - before;
        a->ticks = ticks;
        a->raw_ns = before + best / 2;
        a->half_width_ns = best / 2 + 1;
    }
    a->unix_ns = plumb_clock_gettime_ns(CLOCK_REALTIME) -
                 (plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW) - a->raw_ns);
}

double plumb_clock_fit(const struct plumb_anchor *from, const struct plumb_anchor *to,
                       enum plumb_clock_source source, double *ppm)
{
    double ticks = (double)(to->ticks - from->ticks);
    double ns = (double)(to->raw_ns - from->raw_ns);
    *ppm = 0;
    if (source != PLUMB_CLOCK_TSC)
        return 1;
    if (to->ticks <= from->ticks || to->raw_ns <= from->raw_ns) {
        *ppm = 1e6;
        return 1;
    }
    *ppm = (double)(from->half_width_ns + to->half_width_ns) / ns * 1e6;
    return ns / ticks;
}

uint64_t plumb_clock_step(enum plumb_clock_source source)
{
    if (source == PLUMB_CLOCK_VIRTUAL)
        return 1;
    uint64_t step = UINT64_MAX, last = plumb_ticks_from(source);
    for (int i = 0; i < 200; i++) {
        uint64_t t = plumb_ticks_from(source);
        if (t > last && t - last < step)
            step = t - last;
        last = t;
    }
    return step == UINT64_MAX ? 1 : step;
}

uint64_t plumb_ticks_to_ns(uint64_t ticks, double tick_ns)
{
    /* 2^-40 ns is finer than any fit: a double would lose whole ns after 104 days of total. */
    uint64_t scale = (uint64_t)(tick_ns * 1099511627776.0 + 0.5);
    plumb_u128 ns = ((plumb_u128)ticks * scale + ((plumb_u128)1 << 39)) >> 40;
    return ns >> 64 ? UINT64_MAX : (uint64_t)ns;
}
