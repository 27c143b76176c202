/* read_activations.c: recorded activations of the public interface. Any thread. */
#include <stdlib.h>

#include <plumb/read/activation.h>

#include "api/read_recording.h"
#include "api/take.h"
#include "base/error.h"
#include "read/activation/read.h"
#include "report/activation/view.h"

struct plumb_activation_log {
    struct plumb_activations table;
};

int plumb_activation_log_open(plumb_activation_log **out, const char *path, plumb_error *err)
{
    struct plumb_activation_log *log = malloc(sizeof *log);
    if (!log)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading activations");
    int rc = plumb_read_recording(&log->table, path, err);
    if (rc < 0) {
        free(log);
        return rc;
    }
    *out = log;
    return PLUMB_OK;
}

void plumb_activation_log_close(plumb_activation_log *log)
{
    if (!log)
        return;
    plumb_activations_fini(&log->table);
    free(log);
}

uint64_t plumb_activation_log_records(const plumb_activation_log *log)
{
    return log->table.count;
}

int plumb_activation_log_render(char **out, const plumb_activation_log *log,
                                const plumb_activation_log_view *view, plumb_error *err)
{
    plumb_activation_log_view given = plumb_activation_log_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&given, sizeof given, view, err);
    if (rc < 0)
        return rc;
    if (given.kind > PLUMB_ACTIVATIONS_SUSPECTS)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown view of activations: %u",
                          (unsigned)given.kind);
    struct plumb_activations_view o = {.format = given.format,
                                       .module = given.module,
                                       .top = given.top,
                                       .kind = given.kind,
                                       .explain = given.explain != 0};
    rc = plumb_activations_render(&text, &log->table, &o, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
