/* hook.c: functions of the program that are called around the runs of a node. A node's hooks are an
 * immutable list: adding, replacing and removing make another one, so a run that has begun with a
 * list ends with it. Lists are small and few, and live as long as the process. */
#include "record/stage/hook.h"

#include <string.h>

#include "base/error.h"
#include "record/runtime/lock.h"
#include "record/runtime/names.h"
#include "record/runtime/node.h"
#include "record/runtime/point.h"
#include "record/runtime/runtime.h"

static int tree_node_of(const struct plumb_hooks *list, const char *name)
{
    for (uint32_t i = 0; list && i < list->count; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Under the lock: a list like `old` (may be NULL) that can be changed before it is published. */
static struct plumb_hooks *copy_of(const struct plumb_hooks *old)
{
    struct plumb_hooks *list = plumb_keep_bytes(sizeof *list);
    if (list && old)
        *list = *old;
    else if (list)
        memset(list, 0, sizeof *list);
    return list;
}

static int change_list(struct plumb_hooks *list, uint32_t change, int place, plumb_hook *hook,
                       const char *name, plumb_error *err)
{
    if (change == PLUMB_HOOK_ADD && list->count == PLUMB_HOOKS_MAX)
        return plumb_fail(err, PLUMB_ERR_STATE, "the node has %d hooks already", PLUMB_HOOKS_MAX);
    if (change == PLUMB_HOOK_REMOVE) {
        *hook = list->at[place];
        list->count--;
        memmove(&list->at[place], &list->at[place + 1],
                (list->count - (uint32_t)place) * sizeof list->at[0]);
        return PLUMB_OK;
    }
    hook->name = plumb_keep_text(name);
    if (!hook->name)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    if (change == PLUMB_HOOK_ADD)
        place = (int)list->count++;
    list->at[place] = *hook;
    return PLUMB_OK;
}

/* Under the lock. `was`: the hook that was replaced or removed. */
static int publish(uint32_t change, plumb_node node, const char *name, plumb_hook *hook,
                   plumb_hook *was, plumb_error *err)
{
    struct plumb_node_entry *e = plumb_node_at(node);
    int place = tree_node_of(e->hooks, name);
    struct plumb_hooks *list;
    int rc;
    if (change == PLUMB_HOOK_ADD && place >= 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "node '%s' has a hook '%s' already", e->name, name);
    if (change != PLUMB_HOOK_ADD && place < 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "node '%s' has no hook '%s'", e->name, name);
    if (place >= 0)
        *was = e->hooks->at[place];
    if (change == PLUMB_HOOK_GET)
        return PLUMB_OK;
    list = copy_of(e->hooks);
    if (!list)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    rc = change_list(list, change, place, hook, name, err);
    if (rc == PLUMB_OK) {
        PLUMB_RELEASE(e->hooks, list);
        PLUMB_STORE(plumb_rt.hooked, true);
        plumb_points_refresh();
    }
    return rc;
}

/* Copies the members of a hook that the caller's header has. */
static void take(plumb_hook *to, const plumb_hook *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    to->size = sizeof *to;
}

int plumb_node_hook_impl(uint32_t change, plumb_node node, const char *name, plumb_hook *hook,
                         plumb_error *err)
{
    plumb_hook mine = {.size = sizeof mine}, was = {.size = 0};
    int rc;
    if (node == 0 || node >= PLUMB_ACQUIRE(plumb_rt.node_count) || change > PLUMB_HOOK_GET)
        return plumb_fail(err, PLUMB_ERR_ARG, "no such node");
    if (!name || !*name)
        return plumb_fail(err, PLUMB_ERR_ARG, "a hook needs a name");
    if ((!hook || hook->size < sizeof hook->size) && change != PLUMB_HOOK_REMOVE)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_hook.size: start from plumb_hook_default()");
    if (change == PLUMB_HOOK_ADD || change == PLUMB_HOOK_REPLACE)
        take(&mine, hook);
    if (plumb_may_lock("a hook", err) < 0)
        return PLUMB_ERR_STATE;
    plumb_lock();
    rc = publish(change, node, name, &mine, &was, err);
    plumb_unlock();
    if (rc < 0)
        return rc;
    if (change == PLUMB_HOOK_GET) {
        was.size = hook->size;
        memcpy(hook, &was, hook->size < sizeof was ? hook->size : sizeof was);
    } else if (was.on_detach) {
        was.on_detach(node, was.arg);
    }
    if (change < PLUMB_HOOK_REMOVE && mine.on_attach)
        mine.on_attach(node, mine.arg);
    return PLUMB_OK;
}

void plumb_hooks_before(const struct plumb_hooks *list, plumb_node node)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].before)
            list->at[i].before(node, list->at[i].arg);
}

void plumb_hooks_after(const struct plumb_hooks *list, plumb_node node)
{
    for (uint32_t i = list->count; i-- > 0;)
        if (list->at[i].after)
            list->at[i].after(node, list->at[i].arg);
}
