/* tree.h: the call tree in an order for printing: every place after its parent, siblings by the
 * figure of the options, largest first. Any thread, one view at a time. */
#ifndef PLUMB_REPORT_RUN_TREE_H
#define PLUMB_REPORT_RUN_TREE_H

#include "base/buf.h"
#include "model/timing.h"
#include "summary/table.h"

struct plumb_tree_line {
    const struct plumb_timing_tree *place;
    const struct plumb_timing_node *node;
    uint32_t depth;
    double percent;   /* total in that of all outermost places */
    bool switched;    /* its phase or pipeline is not that of the line it hangs below */
    size_t hidden;    /* > 0: no place, but the number of siblings that `top` leaves out */
    double of_parent; /* its total in that of the place around it, in percent; 0: outermost */
    double children;  /* the total of the places below it in its own, in percent */
};

struct plumb_tree_view {
    struct plumb_tree_line *lines;
    size_t count;
    size_t deeper; /* places that `depth` leaves out */
    enum plumb_unit_choice unit;
};

/* Chooses the places of the pipeline, phase and nodes of the options. A place of another phase
 * stays when one below it is chosen, and so do the places inside a chosen node. At most `top`
 * siblings, at most `depth` levels. Points into `t`. Errors: PLUMB_ERR_MEMORY. */
int plumb_tree_init(struct plumb_tree_view *out, const struct plumb_timing *t,
                    const struct plumb_summary_options *o, plumb_error *err);
void plumb_tree_fini(struct plumb_tree_view *view);

/* Which places of the tree the options choose, into kept[tree_count], which comes zeroed. Returns
 * the time of the outermost of them, without async spans. *deeper: how many `depth` leaves out. */
double plumb_tree_keep(bool *kept, const struct plumb_timing *t,
                       const struct plumb_summary_options *o, size_t *deeper);
/* Appends " [150 % of what is around it: several threads]" if a place, or the places below it
 * together, took more time than the place above them. */
void plumb_tree_put_over(struct plumb_buf *out, const struct plumb_tree_line *line);

/* Appends the tree as text, without a newline at its end. */
void plumb_tree_write(const struct plumb_tree_view *view, struct plumb_buf *out);

#endif
