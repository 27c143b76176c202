/* view.h: the result of a stage that was run alone, as text, Markdown, CSV and JSON. Any thread; no
 * state. */
#ifndef PLUMB_REPORT_BENCH_VIEW_H
#define PLUMB_REPORT_BENCH_VIEW_H

#include <stdbool.h>

#include <plumb/read/bench.h>

#include "base/buf.h"

/* A time alone may differ by this much from that in the pipeline and still agree. */
#define PLUMB_BENCH_AGREE 0.05

struct plumb_bench_view {
    const plumb_bench_result *result;
    const plumb_bench_facts *facts;
};

void plumb_bench_text(struct plumb_buf *out, const struct plumb_bench_view *view, bool md);
void plumb_bench_csv(struct plumb_buf *out, const struct plumb_bench_view *view);
/* The form of google/benchmark: context, and benchmarks with one entry for each run and one for
 * each aggregate. */
void plumb_bench_json(struct plumb_buf *out, const struct plumb_bench_view *view);

#endif
