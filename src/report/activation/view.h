/* view.h: `plumb activations`: one run's activations by layer, or by layer and step, and which of
 * them are suspect (analyze/activation/suspects.h). Any thread. */
#ifndef PLUMB_REPORT_ACTIVATION_VIEW_H
#define PLUMB_REPORT_ACTIVATION_VIEW_H

#include <stdbool.h>

#include "base/buf.h"
#include "read/activation/table.h"

struct plumb_activations_view {
    const char *format; /* text, json, csv, md */
    const char *module; /* extended regular expression that a module's name must hold; NULL: all */
    uint64_t top;       /* rows of a table; 0: 10 suspects, all layers */
    uint32_t kind;      /* enum plumb_activations_kind of plumb/read/activation.h */
    bool explain;
};

/* Appends the view, without a newline at its end. PLUMB_ERR_ARG: no such format, or a bad
 * expression; PLUMB_ERR_NOT_FOUND: no module has that name. */
int plumb_activations_render(struct plumb_buf *out, const struct plumb_activations *t,
                             const struct plumb_activations_view *view, plumb_error *err);

#endif
