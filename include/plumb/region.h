/* region.h: parts of a program that a trace can be kept to. Part of plumb.h.
 *
 *     void train_one_step(struct trainer *t)
 *     {
 *         PLUMB_REGION("training_step");       (a declaration: lasts to the end of the block)
 *         ...
 *     }
 *
 * With PLUMB_REGIONS=training_step the trace holds what runs inside and nothing else; without
 * PLUMB_REGIONS, the whole run. Statistics have all of the run in any case; there a region is a
 * node called "plumb.region::" and its long name.
 *
 * Regions are known by name. `plumb help regions` lists those that every program has; a program may
 * register others. A name counts in any case, with blanks around, with or without
 * "profiler_region_" before it. Entering one that nobody has registered is told of once in the log
 * and does nothing else; so does everything here while nothing is recorded. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_REGION_H
#define PLUMB_REGION_H

#if !defined(PLUMB_DISABLE)
#ifdef __cplusplus
extern "C" {
#endif

/* Makes `name` a region; before the first span, so that PLUMB_REGIONS can select it. `description`:
 * what runs in it, or NULL. Errors: PLUMB_ERR_ARG (empty; no letter a to z; a comma or a control
 * character; longer than 120 bytes), PLUMB_ERR_STATE (there is such a region), PLUMB_ERR_MEMORY
 * (there are 256). */
static inline int plumb_region_register(const char *name, const char *description, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_register) ? api->region_register(name, description, err)
                                              : PLUMB_ERR_ABSENT;
}

/* The long name of the region that `name` means; NULL: there is none. Lives as long as the process.
 */
static inline const char *plumb_region_resolve(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_resolve) ? api->region_resolve(name) : NULL;
}

/* Fills in the first `n` regions by name, and returns how many there are. */
static inline size_t plumb_region_list(plumb_region *out, size_t n)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_list) ? api->region_list(out, n, sizeof *out) : 0;
}

/* For a region whose name is made at run time, or one that is no block: begin and end. */
static inline plumb_span plumb_region_begin(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    plumb_span none = {0};
    return PLUMB_KNOWS_(api, region_begin) ? api->region_begin(name) : none;
}
static inline void plumb_region_end(plumb_span region)
{
    plumb_end(region);
}

#ifdef __cplusplus
}
#endif

/* The region `name` (a string literal), to the end of the block. _AS gives the handle a name, for
 * plumb_span_fail() and the like. */
#define PLUMB_REGION(name) PLUMB_SCOPE_(PLUMB_ID_(plumb_span_), name, PLUMB_POINT_REGION)
#define PLUMB_REGION_AS(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_REGION)

#endif

/* Wraps a function: PLUMB_REGION_WRAP("training_step", int, step, (struct t *t), (t)) defines
 * `int step_plumb(struct t *t)`, which runs step(t) in the region. */
#define PLUMB_REGION_WRAP(name, ret, fn, params, args)                                             \
    static inline ret fn##_plumb params                                                            \
    {                                                                                              \
        PLUMB_REGION(name);                                                                        \
        return fn args;                                                                            \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_
#define PLUMB_REGION_WRAP_VOID(name, fn, params, args)                                             \
    static inline void fn##_plumb params                                                           \
    {                                                                                              \
        PLUMB_REGION(name);                                                                        \
        fn args;                                                                                   \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_

#endif
