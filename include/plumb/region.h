/* region.h: parts of a program to which a trace can be restricted. Part of plumb.h.
 *
 *     void train_one_step(struct trainer *t)
 *     {
 *         PLUMB_REGION("training_step");       (a declaration: lasts to the end of the block)
 *         ...
 *     }
 *
 * With PLUMB_REGIONS=training_step the trace contains only spans inside the region; without
 * PLUMB_REGIONS it contains the whole run. Statistics always include the whole run; in them a
 * region is a node whose name is "plumb.region::" followed by the region's long name.
 *
 * Regions are known by name. `plumb help regions` lists those that every program has; a program may
 * register others. Names are compared without regard to case, surrounding blanks and the prefix
 * "profiler_region_". Entering a region that is not registered is logged once and has no other
 * effect. While nothing is recorded, spans of regions do nothing. Any thread may call. */
#ifndef PLUMB_REGION_H
#define PLUMB_REGION_H

#include <plumb/detail/client.h>
#include <plumb/detail/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Describes a region. Its texts live as long as the process. */
struct plumb_region {
    const char *name;        /* "profiler_region_" and the short one */
    const char *short_name;  /* "training_train_one_step" */
    const char *twin;        /* another spelling of it; NULL: none */
    const char *description; /* "" when none was given */
    uint64_t entered;        /* times, in the run that is open */
    uint32_t selected;       /* 1: PLUMB_REGIONS names it */
    uint32_t reserved;
};

/* Registers the region `name`. Call it before the first span, so that PLUMB_REGIONS can select the
 * region. It stays for the life of the process. `description`: what runs in it, or NULL. Errors:
 * PLUMB_ERR_ARG (the name is empty, has no letter a to z, has a comma or a control character, or is
 * longer than 120 bytes), PLUMB_ERR_STATE (it is registered already), PLUMB_ERR_MEMORY (256 are
 * registered). */
static inline int plumb_region_register(const char *name, const char *description, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_register) ? api->region_register(name, description, err)
                                              : PLUMB_ERR_ABSENT;
}

/* Returns the long name of the region `name`, or NULL if there is none. The text lives as long as
 * the process. O(regions), 0.2 us. */
static inline const char *plumb_region_resolve(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_resolve) ? api->region_resolve(name) : NULL;
}

/* Copies the first `n` regions, sorted by name, to `out` [n]. Returns the number of all regions, at
 * most 256; `out` may be NULL if `n` is 0. In a signal handler that interrupted plumb nothing is
 * copied. O(regions), a microsecond. */
static inline size_t plumb_region_list(plumb_region *out, size_t n)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, region_list) ? api->region_list(out, n, sizeof *out) : 0;
}

/* Begins a region whose name is made at run time, or that is not a block. Returns its handle; end
 * it on the same thread. plumb_span_fail() and its like take the handle. 0.3 us with the end:
 * locks. */
static inline plumb_span plumb_region_begin(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    plumb_span none = {0};
    return PLUMB_KNOWS_(api, region_begin) ? api->region_begin(name) : none;
}
/* Ends the region. */
static inline void plumb_region_end(plumb_span region)
{
    plumb_end_(region);
}

/* The region `name` (a string literal), to the end of the block. _AS gives the handle a name, for
 * plumb_span_fail() and the like. */
#define PLUMB_REGION(name) PLUMB_SCOPE_UNNAMED_(name, PLUMB_POINT_REGION)
#define PLUMB_REGION_AS(var, name) PLUMB_SCOPE_(var, name, PLUMB_POINT_REGION)

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

#ifdef __cplusplus
}
#endif
#endif
