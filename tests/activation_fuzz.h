/* activation_fuzz.h: what every fuzz target of activation records demands: a file is refused in one
 * line, or becomes a sound table that every view can show. */
#ifndef TESTS_ACTIVATION_FUZZ_H
#define TESTS_ACTIVATION_FUZZ_H

#include <plumb/read.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "read/activation/read.h"
#include "report/activation/view.h"

static void activation_fuzz_record(const struct plumb_activations *t, size_t i)
{
    struct plumb_activation r;
    size_t ndim;
    plumb_activations_get(t, i, &r);
    const uint32_t texts[] = {r.module, r.tensor, r.parent, r.phase, r.dtype, r.file, r.error};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (texts[k] >= t->text_count || strlen(t->texts[texts[k]].text) != t->texts[texts[k]].size)
            abort();
    if (r.shape != 0 && r.shape >= t->shape_count)
        abort();
    plumb_activations_shape(t, r.shape, &ndim);
    if (ndim > 64 || r.io > PLUMB_ACT_PARAM || (r.ref && r.ref >= t->ref_count))
        abort();
    if (!(r.has >> PLUMB_ACT_CALL & 1) || (r.has & ~t->seen))
        abort();
}

static void activation_fuzz_show(const struct plumb_activations *t)
{
    static const char *const formats[] = {"text", "json", "csv", "md"};
    for (uint32_t kind = 0; kind <= PLUMB_ACTIVATIONS_SUSPECTS; kind++) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            struct plumb_activations_view view = {
                .format = formats[i], .kind = kind, .explain = true};
            struct plumb_buf out = {0};
            plumb_error err = {0, ""};
            if (plumb_activations_render(&out, t, &view, &err) < 0 || !plumb_utf8_valid(out.data))
                abort();
            plumb_buf_fini(&out);
        }
    }
}

static void activation_fuzz(const uint8_t *data, size_t size, const char *name)
{
    struct plumb_activations t;
    plumb_error err = {0, ""};
    if (plumb_activations_parse(&t, data, size, name, &err) < 0) {
        if (!err.message[0] || strchr(err.message, '\n'))
            abort();
        return;
    }
    if (t.count == 0 || t.failed)
        abort();
    for (size_t i = 0; i < t.count; i++)
        activation_fuzz_record(&t, i);
    if (t.count < 1000)
        activation_fuzz_show(&t);
    plumb_activations_fini(&t);
}

#endif
