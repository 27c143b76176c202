/* parts.h: what the files of `plumb activations` share. Within this folder alone. */
#ifndef PLUMB_REPORT_ACTIVATION_PARTS_H
#define PLUMB_REPORT_ACTIVATION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/activation/suspects.h"
#include "report/activation/view.h"
#include "report/table/grid.h"

/* Records of a layer, or of one of its steps, added up. */
struct plumb_act_line {
    uint32_t first, last; /* records */
    uint64_t records;
    uint64_t steps; /* different ones in a row */
    double abs_mean, std, l2;
    uint64_t abs_means, stds, l2s; /* that were known */
    double min, max;
    uint64_t nan, inf;
    uint32_t place; /* in plumb_act_view.histograms */
    double before;  /* size_of() the step before, NaN: none */
};

struct plumb_act_view {
    const struct plumb_activations *t;
    const struct plumb_activations_view *o;
    struct plumb_suspects suspects;
    struct plumb_act_line *lines;
    size_t line_count;
    double *histograms;  /* [line_count][PLUMB_ACT_BINS]; NULL: no record has one */
    bool *taken;         /* by text: a module of that name is shown */
    uint64_t seen_steps; /* different ones */
    uint64_t modules;
};

/* group.c: which modules are shown and how many steps there are; then the lines of
 * layers, or with PLUMB_ACTIVATIONS_STEPS those of layers and steps, layer by layer. The errors are
 * those of plumb_activations_render(). plumb_act_ungroup() gives all of it back. */
int plumb_act_group(struct plumb_act_view *v, plumb_error *err);
void plumb_act_ungroup(struct plumb_act_view *v);
/* `sum` over `n` records; NaN of none. */
double plumb_act_mean(double sum, uint64_t n);
/* Change in percent since the step before; NaN where it is not known. */
double plumb_act_change(const struct plumb_act_line *l);

/* table.c: grids, which the caller ends, and phrases that JSON shares with them. */
void plumb_act_fill_layers(struct plumb_grid *g, const struct plumb_act_view *v);
void plumb_act_fill_steps(struct plumb_grid *g, const struct plumb_act_view *v);
void plumb_act_fill_suspects(struct plumb_grid *g, const struct plumb_act_view *v);
/* How many of `rows`, and of the suspects, are shown. */
size_t plumb_act_shown(const struct plumb_act_view *v, size_t rows);
size_t plumb_act_suspects_shown(const struct plumb_act_view *v);
/* "12 of 4096 values", "0.992 of the largest float16". */
void plumb_act_put_detail(struct plumb_buf *out, const struct plumb_activations *t,
                          const struct plumb_suspect *s);
const char *plumb_act_io_name(const struct plumb_activations *t, size_t i);

/* The histogram of a line, all its records together; NULL: there is none. */
const double *plumb_act_histogram(const struct plumb_act_view *v, const struct plumb_act_line *l);

/* json.c */
void plumb_act_json(const struct plumb_act_view *v, struct plumb_buf *out);

#endif
