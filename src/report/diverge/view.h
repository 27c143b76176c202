/* view.h: the first divergence in the format that the caller asks for. Any thread. */
#ifndef PLUMB_REPORT_DIVERGE_VIEW_H
#define PLUMB_REPORT_DIVERGE_VIEW_H

#include "analyze/diverge/diverge.h"
#include "base/buf.h"
#include "codec/json_write.h"
#include "report/table/grid.h"
#include <plumb/read/diverge.h>

struct plumb_diverge_sheet {
    struct plumb_diverge *d;
    const plumb_divergence_view *view;
    const char *const *labels; /* of A and B, as the user called them */
    uint32_t *rows;            /* records of A that the table shows */
    size_t row_count, rows_hidden;
    size_t top; /* rows of a table, unless the options want all */
    bool calls; /* some record is not of call 0 */
    bool names; /* some partners have other names */
};

/* Appends the report, without a newline at its end. PLUMB_ERR_ARG: no such format;
 * PLUMB_ERR_MEMORY. */
int plumb_diverge_render(struct plumb_buf *out, struct plumb_diverge_sheet *sheet,
                         plumb_error *err);

/* One a file. */
void plumb_diverge_text(const struct plumb_diverge_sheet *s, struct plumb_buf *out);
void plumb_diverge_md(const struct plumb_diverge_sheet *s, struct plumb_buf *out);
void plumb_diverge_csv(const struct plumb_diverge_sheet *s, struct plumb_buf *out);
void plumb_diverge_json(const struct plumb_diverge_sheet *s, struct plumb_buf *out);
void plumb_diverge_svg(const struct plumb_diverge_sheet *s, struct plumb_buf *out);

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* frontier.c. Names are made harmless. */
/* Appends the outcome in one sentence. */
void plumb_diverge_put_sentence(struct plumb_buf *out, const struct plumb_diverge_sheet *s);
/* "equal to the last bit up to X (260 records); first difference at Y, 0.03 tolerances"; nothing
 * where all is equal. */
void plumb_diverge_put_equality(struct plumb_buf *out, const struct plumb_diverge_sheet *s);
/* sentence.c */
/* "block.3.attn out step 0 call 1" */
void plumb_diverge_put_record(struct plumb_buf *out, const struct plumb_activations *t,
                              uint32_t record);
/* notes.c. Appends the limits and circumstances of the outcome, a line each. */
void plumb_diverge_put_notes(struct plumb_buf *out, const struct plumb_diverge_sheet *s);
/* next.c. Appends what to record next, a line each; nothing when the runs are the same. */
void plumb_diverge_put_next(struct plumb_buf *out, const struct plumb_diverge_sheet *s);
/* Appends an expression that matches a record's module and the modules inside it:
 * "^block\.3\.attn(\.|$)". */
void plumb_diverge_put_filter(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side,
                              uint32_t record);
/* "A's attn.qkv out is B's attn.{q,k,v} out, joined in dimension 2 (...)" */
void plumb_diverge_put_joined(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                              const struct plumb_diverge_join *j);

/* table.c */
/* The side-by-side table, and that of full tensors with the number of rows that it leaves out. The
 * caller writes and ends the grid. */
void plumb_diverge_rows(struct plumb_grid *g, const struct plumb_diverge_sheet *s);
size_t plumb_diverge_tensors(struct plumb_grid *g, const struct plumb_diverge_sheet *s);
/* "[0, 1, 1]: -1.75 against -0.25" */
void plumb_diverge_put_first(struct plumb_buf *out, const struct plumb_tensor_diff *diff);
/* Whether a row bears "<<< DIVERGE". */
bool plumb_diverge_flag(const struct plumb_diverge_sheet *s, uint32_t a);
/* |A - B| of the mean magnitudes over that of A; NaN: a side has none. */
double plumb_diverge_relative(const struct plumb_diverge_sheet *s, uint32_t a);
const char *plumb_diverge_verdict_name(uint8_t verdict); /* "equal", "close", ... */
const char *plumb_diverge_how_name(uint8_t how);         /* "name", "map", ... */
const char *plumb_diverge_kind_name(enum plumb_diverge_kind kind);
const char *plumb_diverge_inputs_name(enum plumb_diverge_inputs inputs);

#endif
