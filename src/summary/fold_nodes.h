/* fold_nodes.h: a report in which nodes that differ in a number alone are one: layer.0.attn to
 * layer.31.attn become layer.*.attn, in the rows and in the call tree. An 80-layer model fits a
 * screen then. Any thread, one report at a time. Part of libplumb too.
 *
 * A number is folded that stands between separators ("layer.0", "head_3", "x[2]") in two nodes or
 * more, or that ends a word ("block12") in four or more: fc1 and fc2 stay what they are. Nodes are
 * merged within their pipeline and phase. */
#ifndef PLUMB_SUMMARY_FOLD_NODES_H
#define PLUMB_SUMMARY_FOLD_NODES_H

#include <stddef.h>

#include "base/map.h"
#include "base/strings/strings.h"
#include "model/timing.h"

/* A table for people of so many rows is folded, unless the options say otherwise. */
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

/* Which names fold, of one report or of several that are to fold alike. Begins as zeros. The
 * pipeline is "" where it is that of the run itself, which is called as its program. */
struct plumb_fold_names {
    struct plumb_strings rows; /* pipeline, phase and name */
    struct plumb_map uses;     /* of a name with one number left out: nodes that have it */
    struct plumb_map seen;     /* of a node that was added */
};

/* Adds a node; one that was added before does not count again. PLUMB_ERR_MEMORY. */
int plumb_fold_names_add(struct plumb_fold_names *names, const char *pipeline, const char *phase,
                         const char *name);
/* The same for all nodes of a report. */
int plumb_fold_names_add_all(struct plumb_fold_names *names, const struct plumb_timing *t);
void plumb_fold_names_fini(struct plumb_fold_names *names);
/* `name` with a star for each number that folds, in the arena; `name` itself where none does; NULL:
 * out of memory. */
const char *plumb_fold_name(const struct plumb_fold_names *names, struct plumb_arena *arena,
                            const char *pipeline, const char *phase, const char *name);

/* Figures add up exactly; quantiles are those of the joined histograms. The strings and everything
 * other than nodes and tree are those of `t`, which must live as long. Other lists that refer to
 * nodes by number must not be read from out->timing. Errors: PLUMB_ERR_MEMORY. */
int plumb_fold_init(struct plumb_fold *out, const struct plumb_timing *t, plumb_error *err);
/* The same by names that are known, of this report and perhaps of others. */
int plumb_fold_init_by(struct plumb_fold *out, const struct plumb_timing *t,
                       const struct plumb_fold_names *names, plumb_error *err);
void plumb_fold_fini(struct plumb_fold *f);

/* "Folded: layer.*.attn is 32 nodes, means 1.20 ms (layer.3.attn) to 1.55 ms (layer.17.attn)": a
 * line each, with a newline before it, and a last one that says how to see all. Nothing without
 * groups. Of the pipeline and phase given, NULL: all; at most `most` groups, those with the largest
 * totals. */
void plumb_fold_put(struct plumb_buf *out, const struct plumb_fold *f, const char *pipeline,
                    const char *phase, size_t most);

#endif
