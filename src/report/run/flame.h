/* flame.h: the call tree as rectangles: where each place lies and how wide it is, before anything
 * is drawn. Any thread, one layout at a time.
 *
 * A section is a row of outermost places of one pipeline and phase with all that is below them, on
 * a scale of its own. Widths are nanoseconds: total time of all runs in the place. Children lie
 * side by side, in order of first sight, from the left edge of their parent; the part that they
 * leave uncovered is the parent's own time.
 *
 * A section must not show two places side by side that ran at the same time. So two kinds of places
 * have sections of their own, in which widths do not add up to anything: async spans, and places
 * whose runs were not inside the runs of the place above them (APART). The report does not say
 * which those are, but it says how much of a parent its children cover (total less self). Children
 * that do not fit into that ran elsewhere: on a thread that adopted the parent's context.
 *
 * If the parent itself lost samples (skipped, failed), its children may be wider although they ran
 * inside. Up to a quarter more they are drawn narrower, and marked. */
#ifndef PLUMB_REPORT_RUN_FLAME_H
#define PLUMB_REPORT_RUN_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/timing.h"
#include "summary/table.h"

enum plumb_flame_kind { PLUMB_FLAME_NESTED, PLUMB_FLAME_APART, PLUMB_FLAME_ASYNC };

struct plumb_flame_section {
    const char *pipeline, *phase;
    enum plumb_flame_kind kind;
    double width_ns;
    uint32_t levels;
    size_t first, count; /* boxes */
};

struct plumb_flame_box {
    const struct plumb_timing_tree *place; /* NULL: a box for `merged` places */
    const struct plumb_timing_node *node;  /* of `place` */
    double begin_ns, width_ns;             /* as drawn; from the left edge of the section */
    double total_ns;                       /* of all its places */
    uint32_t level;                        /* 0: outermost */
    const struct plumb_timing_node *root;  /* of the outermost place around it; NULL: none */
    double root_ns;                        /* that one's total */
    const struct plumb_timing_node *below; /* APART: of the place it hangs below in the tree */
    size_t merged;
    bool squeezed; /* narrower than its time, see above */
};

struct plumb_flame_options {
    struct plumb_summary_options summary; /* pipeline, phase; of siblings at most `top` */
    double min_share;                     /* of its section's width that a box must have */
    size_t limit;                         /* boxes at most; the smallest are merged first */
};

struct plumb_flame {
    struct plumb_flame_section *sections; /* by pipeline and phase in order of first sight */
    size_t section_count;
    struct plumb_flame_box *boxes; /* by section; a parent before its children */
    size_t box_count;
    double whole_ns; /* outermost time without async spans: what percentages refer to */
    size_t merged;   /* places that share a box with others */
    size_t left_out; /* places of sections beyond PLUMB_FLAME_SECTIONS */
    size_t squeezed;
    size_t deeper; /* places that `depth` leaves out: they show as time of their parents */
    size_t empty;  /* places without any time: not drawn, their children stand in their stead */
    bool over_limit;
    bool too_deep; /* some lie beyond PLUMB_FLAME_LEVELS */
};

enum { PLUMB_FLAME_LEVELS = 256, PLUMB_FLAME_SECTIONS = 200, PLUMB_FLAME_LIMIT = 20000 };

/* Points into `t`. Errors: PLUMB_ERR_MEMORY. */
int plumb_flame_init(struct plumb_flame *out, const struct plumb_timing *t,
                     const struct plumb_flame_options *o, plumb_error *err);
void plumb_flame_fini(struct plumb_flame *f);

#endif
