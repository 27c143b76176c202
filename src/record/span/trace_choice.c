/* trace_choice.c: see trace_choice.h. A region is chosen by its node, and not by the selection of
 * the run (region.h), which counts the threads that are inside and cannot change in the middle. */
#include "record/span/trace_choice.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "config/region_names.h"
#include "record/runtime/lock.h"
#include "record/span/region.h"
#include "record/trace/switch.h"

/* Under life_lock, for the process; `scratch` is for checks. */
static struct {
    char regions[PLUMB_WINDOW_TEXT], nodes[PLUMB_WINDOW_TEXT], scratch[PLUMB_WINDOW_TEXT];
} chosen;

static int nodes_of_regions(char *out, size_t size, const char *names, plumb_error *err)
{
    const char *token, *near;
    size_t len, used = 0;
    *out = '\0';
    while ((token = plumb_region_token(&names, &len)) != NULL) {
        char name[256];
        const char *found = "*";
        int n;
        snprintf(name, sizeof name, "%.*s", (int)(len < 255 ? len : 255), token);
        if (strcmp(name, "*") != 0 && !(found = plumb_region_resolve_impl(name))) {
            near = plumb_region_nearest(token, len);
            return plumb_fail(err, PLUMB_ERR_ARG, "no region is called '%.80s'%s%s%s", name,
                              near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
        n = snprintf(out + used, size - used, "%s" PLUMB_REGION_NODE "%s", used ? "," : "", found);
        if (n < 0 || (size_t)n >= size - used)
            return plumb_fail(err, PLUMB_ERR_ARG, "the names of regions are too many");
        used += (size_t)n;
    }
    return PLUMB_OK;
}

int plumb_trace_choose_regions(char *out, size_t size, const char *names, plumb_error *err)
{
    return nodes_of_regions(out, size, names ? names : chosen.regions, err);
}

const char *plumb_trace_chosen_nodes(void)
{
    return chosen.nodes;
}

static int choose(char out[PLUMB_WINDOW_TEXT], const char *text, plumb_error *err)
{
    if (strlen(text) >= PLUMB_WINDOW_TEXT)
        return plumb_fail(err, PLUMB_ERR_ARG, "a text of the trace is longer than %d bytes",
                          PLUMB_WINDOW_TEXT - 1);
    memcpy(out, text, strlen(text) + 1);
    return PLUMB_OK;
}

int plumb_trace_switch_regions(const char *names, plumb_error *err)
{
    int rc = plumb_may_lock_all("choosing regions", err);
    if (rc < 0)
        return rc;
    plumb_life_lock();
    names = names ? names : "";
    rc = nodes_of_regions(chosen.scratch, sizeof chosen.scratch, names, err);
    if (rc == PLUMB_OK)
        rc = choose(chosen.regions, names, err);
    plumb_life_unlock();
    return rc;
}

int plumb_trace_switch_nodes(const char *patterns, plumb_error *err)
{
    int rc = plumb_may_lock_all("choosing nodes", err);
    if (rc < 0)
        return rc;
    plumb_life_lock();
    rc = choose(chosen.nodes, patterns ? patterns : "", err);
    plumb_life_unlock();
    return rc;
}
