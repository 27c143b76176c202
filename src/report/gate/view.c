/* view.c: the array of formats. */
#include "report/gate/view.h"

#include <string.h>

#include "base/error.h"

static const struct {
    const char *name;
    void (*render)(const struct plumb_gate_sheet *s, struct plumb_buf *out);
} formats[] = {
    {"text", plumb_gate_text}, {"json", plumb_gate_json},   {"md", plumb_gate_md},
    {"csv", plumb_gate_csv},   {"junit", plumb_gate_junit}, {"github", plumb_gate_github},
};

int plumb_gate_render(struct plumb_buf *out, const struct plumb_gate_sheet *s, const char *format,
                      plumb_error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, format) != 0)
            continue;
        formats[i].render(s, out);
        if (out->failed)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the report of a gate");
        return PLUMB_OK;
    }
    return plumb_fail(err, PLUMB_ERR_ARG,
                      "no such format: '%s'; there are text, json, md, csv, junit, github", format);
}
