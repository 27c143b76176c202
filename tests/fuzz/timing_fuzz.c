/* Fuzz target: any bytes as a timing.json.
 *
 * If the reader accepts a file, the writer can write it, and the reader finds the same in the
 * result; otherwise `plumb report --format json` of a report would not be that report. The report
 * compared with itself shows no node as worse or better, whatever its figures are, in every format.
 * Every view has each of its forms, in valid UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "model/timing.h"
#include "read/run/timing.h"
#include "report/compare/view.h"
#include "report/run/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses and writes again. Returns false if the text is not a report. */
static bool rewrite(struct plumb_buf *out, const char *text, size_t size)
{
    struct plumb_timing timing;
    plumb_error err;

    if (plumb_timing_parse(&timing, text, size, "input", &err) < 0)
        return false;
    if (plumb_timing_write(&timing, out, &err) < 0)
        abort();
    plumb_timing_fini(&timing);
    return true;
}

static void show(const struct plumb_timing *t, const char *format, uint32_t view,
                 const char *request)
{
    struct plumb_render_options o = {.summary.top = view,
                                     .wide = true,
                                     .tree = request != NULL,
                                     .explain = request != NULL,
                                     .run = "input",
                                     .request = request,
                                     .view = view};
    struct plumb_buf out = {0};
    plumb_error err;

    if (plumb_render(&out, t, format, &o, &err) < 0 || !plumb_utf8_valid(out.data))
        abort();
    plumb_buf_fini(&out);
}

static void show_all(const char *text, size_t size)
{
    struct plumb_timing timing;
    plumb_error err;
    size_t n;
    const struct plumb_renderer *formats = plumb_renderers(&n);

    if (plumb_timing_parse(&timing, text, size, "input", &err) < 0)
        abort();
    for (size_t i = 0; i < n; i++)
        for (uint32_t view = 0; view < PLUMB_VIEWS; view++) {
            if (!formats[i].render[view])
                continue;
            show(&timing, formats[i].name, view, NULL);
            if (timing.request_count > 0)
                show(&timing, formats[i].name, view, timing.requests[0].id);
        }
    plumb_timing_fini(&timing);
}

static void render(const struct plumb_compare *c)
{
    static const char *const formats[] = {"text", "json", "csv", "md"};
    static const char *const labels[] = {"a", "b"};
    plumb_error err;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct plumb_buf out = {0};
        plumb_compare_view view = plumb_compare_view_default();
        view.format = formats[i];
        view.wide = 1;
        if (plumb_compare_render(&out, c, &view, labels, "", &err) < 0)
            abort();
        plumb_buf_fini(&out);
    }
}

/* Compares three runs a side, so that the statistical test runs too. A report is refused if it has
 * no samples, or percentiles that are not durations. */
static void compare_with_itself(const char *text, size_t size)
{
    enum { RUNS = 6 };
    plumb_compare_options options = plumb_compare_options_default();
    struct plumb_compare c;
    plumb_error err;
    int rc = plumb_compare_init(&c, &options, RUNS / 2, RUNS / 2, &err);

    for (uint64_t i = 0; i < RUNS && rc == 0; i++) {
        struct plumb_timing timing;
        if (plumb_timing_parse(&timing, text, size, "input", &err) < 0)
            abort();
        timing.start_unix_ns = i;
        rc = plumb_compare_add(&c, &timing, false, "input", NULL, &err);
        plumb_timing_fini(&timing);
    }
    if (rc == 0) {
        if (plumb_compare_finish(&c, &err) < 0 || c.result.worse + c.result.better > 0)
            abort();
        render(&c);
    }
    plumb_compare_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_buf once = {0}, twice = {0};

    if (rewrite(&once, (const char *)data, size)) {
        if (!rewrite(&twice, once.data, once.len))
            abort();
        if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
            abort();
        compare_with_itself((const char *)data, size);
        show_all((const char *)data, size);
    }
    plumb_buf_fini(&once);
    plumb_buf_fini(&twice);
    return 0;
}
