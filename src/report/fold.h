/* fold.h: a report in which nodes that differ in a number alone are one: layer.0.attn to
 * layer.31.attn become layer.*.attn, in the rows and in the call tree. An 80-layer model fits a
 * screen then. Any thread, one report at a time. Part of libplumb too.
 *
 * A number is folded that stands between separators ("layer.0", "head_3", "x[2]") in two nodes or
 * more, or that ends a word ("block12") in four or more: fc1 and fc2 stay what they are. Nodes are
 * merged within their pipeline and phase. */
#ifndef PLUMB_REPORT_FOLD_H
#define PLUMB_REPORT_FOLD_H

#include <stddef.h>

#include "format/timing.h"

/* Rows from which on a table for people is folded unless told otherwise. */
enum { PLUMB_FOLD_FROM = 41 };

struct plumb_fold_group {
    const struct plumb_timing_node *node; /* of the folded report */
    size_t members;
    const struct plumb_timing_node *least, *most; /* members by their means; NULL: no samples */
};

struct plumb_fold {
    struct plumb_timing timing; /* with nodes and a tree of its own; not for plumb_timing_fini() */
    struct plumb_fold_group *groups; /* of two members or more, in the order of the nodes */
    size_t count;
    struct plumb_arena arena;
};

/* Figures add up exactly; quantiles are those of the joined histograms. The strings and everything
 * else are those of `t`, which must live as long. What refers to nodes by number, other than the
 * tree, must not be read from out->timing. Errors: PLUMB_ERR_MEMORY. */
int plumb_fold_init(struct plumb_fold *out, const struct plumb_timing *t, plumb_error *err);
void plumb_fold_fini(struct plumb_fold *f);

/* "Folded: layer.*.attn is 32 nodes, means 1.20 ms (layer.3.attn) to 1.55 ms (layer.17.attn)": a
 * line each, with a newline before it, and a last one that says how to see all. Nothing without
 * groups. Of the pipeline and phase given, NULL: all; at most `most` groups, those with the largest
 * totals. */
void plumb_fold_put(struct plumb_buf *out, const struct plumb_fold *f, const char *pipeline,
                    const char *phase, size_t most);

#endif
