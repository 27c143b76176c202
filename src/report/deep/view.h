/* view.h: the kernels of an Nsight Compute report as text, Markdown, CSV or JSON, and the Markdown
 * report on the kernel that takes the most time. Any thread. */
#ifndef PLUMB_REPORT_DEEP_VIEW_H
#define PLUMB_REPORT_DEEP_VIEW_H

#include "analyze/ncu/bound.h"
#include "base/buf.h"
#include "model/timing.h"

struct plumb_deep_page {
    const struct plumb_ncu *ncu;
    const char *path;                  /* of the CSV */
    const struct plumb_timing *timing; /* NULL: no run was named */
    const char *run;                   /* its path */
    const char *command;               /* that made the CSV; NULL: unknown */
    size_t shown;                      /* kernels of tables */
};

/* Each appends its form, without a newline at its end. */
void plumb_deep_text(struct plumb_buf *out, const struct plumb_deep_page *p);
void plumb_deep_md(struct plumb_buf *out, const struct plumb_deep_page *p);
void plumb_deep_csv(struct plumb_buf *out, const struct plumb_deep_page *p);
void plumb_deep_json(struct plumb_buf *out, const struct plumb_deep_page *p);

/* Appends the report: workload, environment, stage times, kernel, evidence, uncertainty, artifacts
 * and the next experiment, each under its own heading. A part without data says so, and how to get
 * it. */
void plumb_deep_report(struct plumb_buf *out, const struct plumb_deep_page *p);

#endif
