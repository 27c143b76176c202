/* result.h: results of benchmarks in memory: the public struct, and what of it the public does not
 * see. Everything lives in one arena. One thread at a time. */
#ifndef PLUMB_READ_HISTORY_RESULT_H
#define PLUMB_READ_HISTORY_RESULT_H

#include <stdbool.h>

#include <plumb/read/history.h>

#include "base/arena.h"
#include "base/buf.h"

struct plumb_result_item {
    plumb_result r;
    const char *digest;      /* of what was measured: equal results are one record */
    const char *extra;       /* JSON: profiles, recipe, origin; NULL: none */
    const char *raw;         /* JSON of the raw record that was made of a run; NULL: none */
    const char *environment; /* id of the environment, for audit; NULL: none */
    bool keyed;              /* says that it has all six keys: one that is missing is an error */
    bool breached;           /* above one of its static limits */
    bool history;            /* an old result: it is stored and not compared */
    size_t metric_cap;
};

struct plumb_result_list {
    struct plumb_arena arena;
    struct plumb_result_item *items;
    size_t count, cap;
    struct plumb_buf remarks; /* what was left out, lines that end with a newline */
};

void plumb_result_list_init(struct plumb_result_list *l);
void plumb_result_list_fini(struct plumb_result_list *l);
/* Adds a zeroed result that counts as successful; NULL: out of memory (the arena says so too). */
struct plumb_result_item *plumb_result_add(struct plumb_result_list *l);
/* Adds a metric with the floors of its name and unit (metric_kinds.h), or replaces that of the same
 * name. The texts are copied. NULL: out of memory. */
plumb_metric *plumb_result_metric(struct plumb_result_list *l, struct plumb_result_item *item,
                                  const char *name, const char *unit, double value);
/* Returns the metric, or NULL. */
const plumb_metric *plumb_result_find(const plumb_result *r, const char *name);
/* The same, looking first at place `near`, where it mostly is: results of one benchmark have their
 * metrics in one order. */
const plumb_metric *plumb_result_find_near(const plumb_result *r, const char *name, size_t near);
/* Adds a metric whose name the result does not have yet, without looking for it. */
plumb_metric *plumb_result_append(struct plumb_result_list *l, struct plumb_result_item *item,
                                  const char *name, const char *unit, double value);
/* Orders results by time; those of one time stay in their order. */
void plumb_result_sort(struct plumb_result_list *l);

#endif
