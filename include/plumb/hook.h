/* hook.h: functions of the program that plumb calls around the runs of a node. Part of plumb.h.
 *
 * Called around every recorded run of a node on a thread, outside its two clock reads. A change
 * applies to runs that begin later: each hook whose `before` was called gets its `after`, also if
 * an outer end closes the run or plumb_stop() comes between, but not if the thread ends while the
 * run is open. Regions and async spans have no hooks. Hooks add about 0.1 us to a run.
 *
 * Any thread may call the functions here, hooks included; a change takes the runtime's lock, some
 * microseconds, and its memory is kept for the life of the process. Errors of all: PLUMB_ERR_ARG:
 * `node` is 0, the name is NULL or "", the struct has no size, or the node has a hook of that name
 * already (add), or none (get, replace, remove); PLUMB_ERR_STATE: it has 16 (add);
 * PLUMB_ERR_MEMORY. */
#ifndef PLUMB_HOOK_H
#define PLUMB_HOOK_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Callbacks for the runs of a node; each may be NULL. The struct is copied when it is added. */
struct plumb_hook {
    size_t size;                                   /* sizeof(plumb_hook) */
    const char *name;                              /* unique among the node's hooks */
    void (*before)(plumb_node node, void *arg);    /* a span begins: first added, first called */
    void (*after)(plumb_node node, void *arg);     /* it has ended: last added, first called */
    void (*on_attach)(plumb_node node, void *arg); /* added or replaced, in that call */
    void (*on_detach)(plumb_node node, void *arg); /* removed or replaced, in that call */
    void *arg;                                     /* of all four */
};
enum plumb_hook_change {
    PLUMB_HOOK_ADD = 0,
    PLUMB_HOOK_REPLACE = 1,
    PLUMB_HOOK_REMOVE = 2,
    PLUMB_HOOK_GET = 3
};

/* Returns a hook without functions. */
static inline plumb_hook plumb_hook_default(void)
{
    plumb_hook h;
    size_t i;
    for (i = 0; i < sizeof h; i++)
        ((unsigned char *)&h)[i] = 0;
    h.size = sizeof h;
    return h;
}

static inline int plumb_hook_change_(uint32_t change, plumb_node node, const char *name,
                                     plumb_hook *hook, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, node_hook) ? api->node_hook(change, node, name, hook, err)
                                        : PLUMB_ERR_ABSENT;
}
/* Adds a hook to a node. The struct and its name are copied; `arg` and the functions must live
 * until the hook is removed and the open runs of the node have ended. */
static inline int plumb_hook_add(plumb_node node, const plumb_hook *hook, plumb_error *err)
{
    plumb_hook copy = *hook;
    return plumb_hook_change_(PLUMB_HOOK_ADD, node, hook->name, &copy, err);
}
/* Replaces the hook of the same name; it keeps its position in the order. */
static inline int plumb_hook_replace(plumb_node node, const plumb_hook *hook, plumb_error *err)
{
    plumb_hook copy = *hook;
    return plumb_hook_change_(PLUMB_HOOK_REPLACE, node, hook->name, &copy, err);
}
/* Removes the hook of that name. Runs that are open still call its `after`. */
static inline int plumb_hook_remove(plumb_node node, const char *name, plumb_error *err)
{
    return plumb_hook_change_(PLUMB_HOOK_REMOVE, node, name, NULL, err);
}
/* Copies the hook of that name to `out`, as far as `out->size` says, which stays. Its name lives
 * until the process ends. */
static inline int plumb_hook_get(plumb_hook *out, plumb_node node, const char *name,
                                 plumb_error *err)
{
    return plumb_hook_change_(PLUMB_HOOK_GET, node, name, out, err);
}

#ifdef __cplusplus
}
#endif
#endif
