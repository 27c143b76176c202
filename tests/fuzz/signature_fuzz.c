/* Fuzz target: any bytes as a timing_io_signature.json, of plumb or of its predecessor.
 *
 * If the reader accepts a file, the writer can write it, and the reader finds the same in the
 * result. Every form of the report on it is valid UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "model/signature.h"
#include "read/run/signature.h"
#include "report/run/render.h"
#include <plumb/read.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct plumb_signature *s)
{
    struct plumb_timing nothing;
    size_t n;
    const struct plumb_renderer *formats = plumb_renderers(&n);

    plumb_timing_init(&nothing);
    for (size_t i = 0; i < n; i++) {
        struct plumb_render_options o = {
            .view = PLUMB_VIEW_SIGNATURES, .signature = s, .explain = true};
        struct plumb_buf out = {0};
        plumb_error err = {0, ""};
        if (!formats[i].render[o.view])
            continue;
        if (plumb_render(&out, &nothing, formats[i].name, &o, &err) < 0 ||
            !plumb_utf8_valid(out.data))
            abort();
        plumb_buf_fini(&out);
    }
    plumb_timing_fini(&nothing);
}

/* Parses and writes again. Returns false if the text is not a file of signatures. */
static bool rewrite(struct plumb_buf *out, const char *text, size_t size)
{
    struct plumb_signature s;
    plumb_error err = {0, ""};

    if (plumb_signature_parse(&s, text, size, "input", &err) < 0) {
        if (!err.message[0] || strchr(err.message, '\n'))
            abort();
        return false;
    }
    if (plumb_signature_write(&s, out, &err) < 0)
        abort();
    show(&s);
    plumb_signature_fini(&s);
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
