/* hook.h: hooks of nodes (plumb/activation.h), as stage.c calls them: outside enter, on the thread
 * of the span. */
#ifndef PLUMB_RECORD_STAGE_HOOK_H
#define PLUMB_RECORD_STAGE_HOOK_H

#include "record/runtime/enter.h"
#include <plumb/hook.h>

enum { PLUMB_HOOKS_MAX = 16 };

/* Never changes once it is a node's. */
struct plumb_hooks {
    uint32_t count;
    plumb_hook at[PLUMB_HOOKS_MAX];
};

int plumb_node_hook_impl(uint32_t change, plumb_node node, const char *name, plumb_hook *hook,
                         plumb_error *err);
void plumb_hooks_before(const struct plumb_hooks *list, plumb_node node);
void plumb_hooks_after(const struct plumb_hooks *list, plumb_node node);

#endif
