/* choice.h: whether a report has the pipeline and the phase that the caller asks for. An empty
 * table for a misspelt phase would look like a pipeline that did nothing. */
#ifndef PLUMB_REPORT_TABLE_CHOICE_H
#define PLUMB_REPORT_TABLE_CHOICE_H

#include "model/timing.h"

/* PLUMB_OK when a row has this pipeline and this phase (NULL: any), or when there are no rows at
 * all. PLUMB_ERR_NOT_FOUND: none has; the text names those there are. Any thread. */
int plumb_choice_check(const struct plumb_timing *t, const char *pipeline, const char *phase,
                       plumb_error *err);

#endif
