/* Fuzz target: any bytes as a timing.json.
 *
 * What the reader accepts, the writer must be able to write, and the reader must find the same in
 * it: otherwise `plumb report --format json` of a report would not be that report.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/timing.h"
#include "trace/timing_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses and writes again; false when the text is no report. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_buf once = {0}, twice = {0};

    if (rewrite(&once, (const char *)data, size)) {
        if (!rewrite(&twice, once.data, once.len))
            abort();
        if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
            abort();
    }
    plumb_buf_fini(&once);
    plumb_buf_fini(&twice);
    return 0;
}
