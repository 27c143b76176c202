/* step_timer.h: named timers inside a step, which add up by name until the next log record takes
 * them. Part of plumb.h.
 *
 *     plumb_step_timers timers = {0};
 *     for (step = 0; step < n; step++) {
 *         { PLUMB_STEP_TIMED(&timers, "data"); load(); }
 *         { PLUMB_STEP_TIMED(&timers, "forward"); forward(); }
 *         if (step % 10 == 9)
 *             plumb_step_timers_log(&timers, PLUMB_LOG_INFO);   (data 0.120s, forward 1.034s)
 *     }
 *
 * They measure with and without a recording. An object belongs to one thread at a time. */
#ifndef PLUMB_STEP_TIMER_H
#define PLUMB_STEP_TIMER_H

#include <plumb/stopwatch.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLUMB_STEP_TIMERS = 32 };
/* All zero: empty. */
typedef struct plumb_step_timers {
    uint32_t count;
    uint32_t dropped; /* times of a name beyond the last one that fits */
    struct {
        const char *name; /* borrowed until the next flush */
        uint64_t ns, runs;
    } timers[PLUMB_STEP_TIMERS]; /* in the order in which the names were first used */
} plumb_step_timers;

/* Adds a time to the timer called `name`. NULL is "". Names are equal if their texts are. A new
 * name is dropped and counted if there are PLUMB_STEP_TIMERS already. O(names). */
static inline void plumb_step_timers_add(plumb_step_timers *timers, const char *name, uint64_t ns)
{
    uint32_t i;
    name = name ? name : "";
    for (i = 0; i < timers->count; i++)
        if (timers->timers[i].name == name || strcmp(timers->timers[i].name, name) == 0)
            break;
    if (i == PLUMB_STEP_TIMERS) {
        timers->dropped++;
        return;
    }
    if (i == timers->count) {
        timers->count++;
        timers->timers[i].name = name;
        timers->timers[i].ns = 0;
        timers->timers[i].runs = 0;
    }
    timers->timers[i].ns += ns;
    timers->timers[i].runs++;
}

/* Passes each timer to `fn`, in the order in which the names were first used, and clears them. `fn`
 * may be NULL: the timers are cleared. */
static inline void plumb_step_timers_flush(plumb_step_timers *timers,
                                           void (*fn)(void *arg, const char *name, double seconds),
                                           void *arg)
{
    uint32_t i;
    for (i = 0; fn && i < timers->count; i++)
        fn(arg, timers->timers[i].name, (double)timers->timers[i].ns * 1e-9);
    timers->count = 0;
    timers->dropped = 0;
}

/* Writes a line "data 0.120s, forward 1.034s" to plumb's log at `level` (enum plumb_log), if there
 * are timers, and clears them. The line is cut at 511 bytes. Without a runtime it clears them
 * alone. */
static inline void plumb_step_timers_log(plumb_step_timers *timers, int level)
{
    const struct plumb_api *api = plumb_api_();
    char line[512];
    size_t used = 0;
    uint32_t i;
    line[0] = 0;
    for (i = 0; i < timers->count && used < sizeof line - 1; i++) {
        /* No %f: the host's locale may write a comma. */
        uint64_t ms = (timers->timers[i].ns + 500000) / 1000000;
        int n = snprintf(line + used, sizeof line - used, "%s%.64s %llu.%03us", i ? ", " : "",
                         timers->timers[i].name, (unsigned long long)(ms / 1000),
                         (unsigned)(ms % 1000));
        used += n > 0 ? (size_t)n : 0;
    }
    if (api && timers->count)
        api->log_line(level, line);
    plumb_step_timers_flush(timers, NULL, NULL);
}

/* One running timer; see PLUMB_STEP_TIMED. */
typedef struct plumb_step_timed {
    plumb_step_timers *timers;
    const char *name;
    uint64_t begin_ns;
} plumb_step_timed;
/* Begins a time that plumb_step_timed_end() adds. Two clock reads with the end. */
static inline plumb_step_timed plumb_step_timed_begin(plumb_step_timers *timers, const char *name)
{
    plumb_step_timed t;
    t.timers = timers;
    t.name = name;
    t.begin_ns = plumb_now_ns();
    return t;
}
/* Ends the time and adds it. A second call does nothing. */
static inline void plumb_step_timed_end(plumb_step_timed *timed)
{
    if (timed->timers)
        plumb_step_timers_add(timed->timers, timed->name, plumb_now_ns() - timed->begin_ns);
    timed->timers = NULL;
}
/* Adds the time to the end of the block to the timer called `name` of `timers`. */
#define PLUMB_STEP_TIMED(timers, name)                                                             \
    plumb_step_timed PLUMB_STEP_TIMED_VAR_(__LINE__)                                               \
        __attribute__((cleanup(plumb_step_timed_end))) = plumb_step_timed_begin(timers, name)
#define PLUMB_STEP_TIMED_VAR_(line) PLUMB_STEP_TIMED_JOIN_(line)
#define PLUMB_STEP_TIMED_JOIN_(line) plumb_step_timed_##line##_

#ifdef __cplusplus
}
#endif
#endif
