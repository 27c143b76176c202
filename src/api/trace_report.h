/* trace_report.h: what the files of the reading interface share of an opened report. */
#ifndef PLUMB_API_TRACE_REPORT_H
#define PLUMB_API_TRACE_REPORT_H

#include "trace/load.h"
#include <plumb/trace.h>

/* What the report was loaded as; lives as long as it. */
const struct plumb_load *plumb_report_loaded(const plumb_report *report);

#endif
