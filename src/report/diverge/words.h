/* words.h: the phrases of the sentence and the notes about a divergence. Names are escaped. */
#ifndef PLUMB_REPORT_DIVERGE_WORDS_H
#define PLUMB_REPORT_DIVERGE_WORDS_H

#include "report/diverge/view.h"

/* "12.5 %" */
void plumb_diverge_put_percent(struct plumb_buf *out, double part);
void plumb_diverge_put_name(struct plumb_buf *out, const char *name);
/* A's name for a record, and B's if it differs. */
void plumb_diverge_put_pair(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a);
/* Appends "model.py:12", the line of source that ran the record; false: it is not recorded. */
bool plumb_diverge_put_source(struct plumb_buf *out, const struct plumb_activations *t,
                              uint32_t record);
/* Whether both records are of modules of one name. */
bool plumb_diverge_same_module(const struct plumb_diverge_sheet *s, uint32_t a, uint32_t b);
/* "element type bfloat16 against float32" */
void plumb_diverge_put_types(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                             uint32_t a);
/* Appends the difference between A's record and its partner. */
void plumb_diverge_put_difference(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                                  uint32_t a);

#endif
