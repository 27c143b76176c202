/* read.h: from a live mapping to a timing report. */
#ifndef PLUMB_LIVE_READ_H
#define PLUMB_LIVE_READ_H

#include "live/clock.h"
#include "live/layout.h"
#include "live/merge.h"
#include "model/timing.h"

/* Fills `out` (plumb_timing_init() done) from a whole mapping that is no longer written.
 * Interrupted folds are undone in `base` first, so it must be writable. `end`: the clock at the
 * run's end; NULL: the newest moment in the mapping. Reads only inside `bytes`. Errors:
 * PLUMB_ERR_FORMAT, PLUMB_ERR_MEMORY. */
int plumb_live_to_timing(struct plumb_timing *out, unsigned char *base, size_t bytes,
                         const struct plumb_anchor *end, plumb_error *err);

/* The same from a view. One with a loader is of a mapping that its process may still write to: what
 * the loader gives is of one moment, but losses of the trace that the process has not counted yet
 * are left to it if `end` is given. The header is in the view's memory. */
int plumb_live_view_to_timing(struct plumb_timing *out, const struct plumb_live_view *view,
                              const struct plumb_anchor *end, plumb_error *err);

/* Fills `out` from <run_dir>/live.plumb, the mapping of a run that did not end. The file is not
 * changed. Errors: PLUMB_ERR_NOT_FOUND: there is none; PLUMB_ERR_FORMAT: not ours, or damaged;
 * PLUMB_ERR_STATE: its process is still recording (`out` is filled all the same, but its figures
 * may be torn); PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
int plumb_live_read(struct plumb_timing *out, const char *run_dir, plumb_error *err);

/* The same if the rest of its trace does not fit below the bound: those spans count as not in the
 * trace. */
int plumb_live_read_bounded(struct plumb_timing *out, const char *run_dir, plumb_error *err);

/* Copies <run_dir>/live.plumb, with its contents unchecked; plumb_pages_unmap() frees the copy.
 * Errors: PLUMB_ERR_NOT_FOUND, _FORMAT (also: cut short while it was read), _IO, _MEMORY. */
int plumb_live_copy(unsigned char **out, size_t *bytes, const char *run_dir, plumb_error *err);

/* The same for its signatures; a run without any gives none. */
struct plumb_signature;
int plumb_live_read_signature(struct plumb_signature *out, const char *run_dir, plumb_error *err);

/* The same for the times of its stages by shapes. `tick_ns`: as read with plumb_live_read(). */
struct plumb_shape_times;
int plumb_live_read_shape_times(struct plumb_shape_times *out, const char *run_dir, double tick_ns,
                                plumb_error *err);

/* Fills the figures of a merged row, without names, sites and (unless the figures need them)
 * buckets. `squares`: also the sums of squares, a tenth of the time; otherwise the deviation is
 * only in `std_ns`. */
void plumb_live_row_figures(struct plumb_timing_node *out, struct plumb_merge *m,
                            const struct plumb_merge_row *row, double tick_ns,
                            const struct plumb_anchor *end, bool squares);
/* Fills the rest of such a row: its names, its sites, and its histograms. Memory comes from the
 * arena of `m`. */
void plumb_live_row_identity(struct plumb_timing_node *out, struct plumb_merge *m,
                             const struct plumb_merge_row *row, double tick_ns);

/* Fills `t` with everything that was merged: pipelines, rows, and the call tree, from which the
 * outermost part of each row follows (plumb_merge_open() with `want_tree`). Texts stay in the
 * mapping, histograms in the arena of `m`. `node_of`: the node of each row of `m`, or
 * PLUMB_TIMING_NONE. Error: PLUMB_ERR_MEMORY. */
int plumb_live_rows(struct plumb_timing *t, struct plumb_merge *m, double tick_ns,
                    const struct plumb_anchor *end, uint32_t **node_of);

#endif
