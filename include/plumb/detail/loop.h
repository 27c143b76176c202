/* loop.h: runs a part of the loops that a program marks with PLUMB_STEPS. recording.h includes it;
 * stage_library.h sets the limit.
 *
 * A limit lies in one shared object, because its loops must obey where no libplumb is loaded. Only
 * the outermost loops of the thread that set it obey: a loop inside a step is part of the step's
 * work, and so are loops on other threads. */
#ifndef PLUMB_DETAIL_LOOP_H
#define PLUMB_DETAIL_LOOP_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which steps of its outermost PLUMB_STEPS loops a thread runs, and what the loops report back. Its
 * owner keeps it until it removes the limit. Only appended to. */
struct plumb_loop_limit {
    uint32_t size;  /* sizeof(struct plumb_loop_limit) */
    uint32_t loops; /* reported: loops that obeyed */
    int64_t first;  /* index of the first step that is run */
    int64_t count;  /* steps that are run at most */
    int64_t steps;  /* reported: steps that the last of these loops has without a limit */
    int64_t ran;    /* reported: steps that these loops began */
    /* Reported: the step that is being run, -1 before the first. NULL: not wanted. */
    volatile int64_t *current;
    int32_t inside; /* a loop that obeys is running */
    int32_t thread; /* whose loops obey, as gettid() names it */
};

#if PLUMB_HAS_CLIENT_
extern PLUMB_MERGED_ struct plumb_loop_limit *plumb_loop_limit_1;
PLUMB_MERGED_ struct plumb_loop_limit *plumb_loop_limit_1 = NULL;

static inline struct plumb_loop_limit *plumb_loop_limit_(void)
{
    return __atomic_load_n(&plumb_loop_limit_1, __ATOMIC_ACQUIRE);
}

/* Sets the limit for loops of this object on the calling thread, or removes it: NULL. One limit at
 * a time. The function that a stage's `limit` points to. */
static inline void plumb_loop_limit_set(struct plumb_loop_limit *limit)
{
    if (limit)
        limit->thread = (int32_t)plumb_syscall_(SYS_gettid);
    __atomic_store_n(&plumb_loop_limit_1, limit, __ATOMIC_RELEASE);
}

/* Returns 1 if the loop that begins obeys a limit, and 0 otherwise. The thread is asked for last:
 * that is a system call. */
static inline int plumb_loop_enter_(void)
{
    struct plumb_loop_limit *limit = plumb_loop_limit_();
    if (__builtin_expect(!limit, 1) || limit->inside ||
        limit->thread != (int32_t)plumb_syscall_(SYS_gettid))
        return 0;
    limit->inside = 1;
    limit->loops++;
    return 1;
}
#else
static inline struct plumb_loop_limit *plumb_loop_limit_(void)
{
    return NULL;
}
static inline void plumb_loop_limit_set(struct plumb_loop_limit *limit)
{
    (void)limit;
}
static inline int plumb_loop_enter_(void)
{
    return 0;
}
#endif

/* Returns the end of a loop of `steps` steps. */
static inline int plumb_loop_end_(int obeys, int steps)
{
    struct plumb_loop_limit *limit;
    if (!obeys)
        return steps;
    limit = plumb_loop_limit_();
    limit->steps = steps;
    return steps - limit->first > limit->count ? (int)(limit->first + limit->count) : steps;
}
/* Returns the first step of the loop. */
static inline int plumb_loop_first_(int obeys, int end)
{
    struct plumb_loop_limit *limit;
    if (!obeys)
        return 0;
    limit = plumb_loop_limit_();
    return limit->first < end ? (int)limit->first : end;
}
static inline void plumb_loop_step_(int step)
{
    struct plumb_loop_limit *limit = plumb_loop_limit_();
    if (!limit)
        return;
    limit->ran++;
    if (limit->current)
        *limit->current = step;
}
static inline void plumb_loop_leave_(const int *obeys)
{
    struct plumb_loop_limit *limit = *obeys ? plumb_loop_limit_() : NULL;
    if (limit)
        limit->inside = 0;
}

#ifdef __cplusplus
}
#endif
#endif
