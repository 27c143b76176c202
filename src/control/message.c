/* message.c: requests as bytes and back. response.c has the responses. */
#include "control/message.h"

#include <string.h>

#include "base/error.h"
#include "codec/protobuf.h"
#include "codec/wire.h"
#include "control/fields.h"

enum { SETTINGS_MAX = 256 };

/* ---- Writing --------------------------------------------------------------------------------- */

void plumb_control_put_text(struct plumb_pb *w, uint32_t field, const char *text)
{
    if (text)
        plumb_pb_bytes(w, field, text, strlen(text));
}

static void put_config(struct plumb_pb *w, const plumb_config *c)
{
    unsigned char *start = plumb_pb_open(w, PLUMB_REQUEST_CONFIG);
    plumb_pb_u64(w, PLUMB_CONFIG_ENABLED, c->enabled != 0);
    plumb_pb_u64(w, PLUMB_CONFIG_SYNC, c->sync != 0);
    plumb_pb_u64(w, PLUMB_CONFIG_RESET, c->reset != 0);
    plumb_pb_i64(w, PLUMB_CONFIG_SKIP_FIRST_N, c->skip_first_n);
    plumb_pb_close(w, start);
}

static void put_trace(struct plumb_pb *w, const plumb_control_trace *t)
{
    unsigned char *start = plumb_pb_open(w, PLUMB_REQUEST_TRACE);
    plumb_pb_u64(w, PLUMB_WINDOW_FOR_NS, t->for_ns);
    plumb_pb_u64(w, PLUMB_WINDOW_STEPS, t->steps);
    plumb_pb_u64(w, PLUMB_WINDOW_MAX_BYTES, t->max_bytes);
    plumb_control_put_text(w, PLUMB_WINDOW_PATH, t->path);
    plumb_control_put_text(w, PLUMB_WINDOW_REGIONS, t->regions);
    plumb_control_put_text(w, PLUMB_WINDOW_NODES, t->nodes);
    plumb_pb_close(w, start);
}

void plumb_control_put_request(struct plumb_pb *w, const struct plumb_control_request *r)
{
    plumb_pb_u64(w, PLUMB_REQUEST_COMMAND, r->command);
    plumb_control_put_text(w, PLUMB_REQUEST_PIPELINE, r->pipeline);
    plumb_control_put_text(w, PLUMB_REQUEST_PHASE, r->phase);
    plumb_control_put_text(w, PLUMB_REQUEST_TEXT, r->text);
    for (size_t i = 0; i < r->setting_count; i++)
        plumb_control_put_text(w, PLUMB_REQUEST_SETTING, r->settings[i]);
    if (r->command == PLUMB_CONTROL_CONFIGURE)
        put_config(w, &r->config);
    if (r->command == PLUMB_CONTROL_TRACE_ON)
        put_trace(w, &r->trace);
    if (r->value)
        plumb_pb_i64(w, PLUMB_REQUEST_VALUE, r->value);
    if (r->while_connected)
        plumb_pb_u64(w, PLUMB_REQUEST_WHILE_CONNECTED, 1);
}

/* ---- Reading --------------------------------------------------------------------------------- */

const char *plumb_control_get_text(const struct plumb_wire *w, struct plumb_arena *a)
{
    char *text = plumb_arena_alloc(a, w->n + 1);
    if (text && w->n)
        memcpy(text, w->bytes, w->n);
    return text;
}

int plumb_control_end(const struct plumb_wire *w, const struct plumb_arena *a, const char *what,
                      plumb_error *err)
{
    if (a->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a %s", what);
    if (w->bad)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "a %s of the control channel is damaged", what);
    return PLUMB_OK;
}

static void get_config(plumb_config *out, struct plumb_wire *w)
{
    struct plumb_wire in = plumb_wire_inner(w);
    while (plumb_wire_next(&in))
        switch (in.field) {
        case PLUMB_CONFIG_ENABLED:
            out->enabled = in.v != 0;
            break;
        case PLUMB_CONFIG_SYNC:
            out->sync = in.v != 0;
            break;
        case PLUMB_CONFIG_RESET:
            out->reset = in.v != 0;
            break;
        case PLUMB_CONFIG_SKIP_FIRST_N:
            out->skip_first_n = (int64_t)in.v;
            break;
        default:
            break;
        }
    w->bad |= in.bad;
}

static void get_trace(plumb_control_trace *out, struct plumb_wire *w, struct plumb_arena *a)
{
    struct plumb_wire in = plumb_wire_inner(w);
    while (plumb_wire_next(&in))
        switch (in.field) {
        case PLUMB_WINDOW_FOR_NS:
            out->for_ns = in.v;
            break;
        case PLUMB_WINDOW_STEPS:
            out->steps = in.v;
            break;
        case PLUMB_WINDOW_MAX_BYTES:
            out->max_bytes = in.v;
            break;
        case PLUMB_WINDOW_PATH:
            out->path = plumb_control_get_text(&in, a);
            break;
        case PLUMB_WINDOW_REGIONS:
            out->regions = plumb_control_get_text(&in, a);
            break;
        case PLUMB_WINDOW_NODES:
            out->nodes = plumb_control_get_text(&in, a);
            break;
        default:
            break;
        }
    w->bad |= in.bad;
}

static void get_setting(struct plumb_control_request *out, const struct plumb_wire *w,
                        struct plumb_arena *a)
{
    if (!out->settings)
        out->settings = plumb_arena_alloc(a, SETTINGS_MAX * sizeof *out->settings);
    if (out->settings && out->setting_count < SETTINGS_MAX) {
        const char *text = plumb_control_get_text(w, a);
        if (text)
            out->settings[out->setting_count++] = text;
    }
}

static void get_field(struct plumb_control_request *out, struct plumb_wire *w,
                      struct plumb_arena *a)
{
    switch (w->field) {
    case PLUMB_REQUEST_COMMAND:
        out->command = (uint32_t)w->v;
        break;
    case PLUMB_REQUEST_PIPELINE:
        out->pipeline = plumb_control_get_text(w, a);
        break;
    case PLUMB_REQUEST_PHASE:
        out->phase = plumb_control_get_text(w, a);
        break;
    case PLUMB_REQUEST_TEXT:
        out->text = plumb_control_get_text(w, a);
        break;
    case PLUMB_REQUEST_SETTING:
        get_setting(out, w, a);
        break;
    case PLUMB_REQUEST_CONFIG:
        get_config(&out->config, w);
        break;
    case PLUMB_REQUEST_TRACE:
        get_trace(&out->trace, w, a);
        break;
    case PLUMB_REQUEST_VALUE:
        out->value = (int64_t)w->v;
        break;
    case PLUMB_REQUEST_WHILE_CONNECTED:
        out->while_connected = w->v != 0;
        break;
    default:
        break;
    }
}

int plumb_control_get_request(struct plumb_control_request *out, struct plumb_arena *a,
                              const unsigned char *bytes, size_t n, plumb_error *err)
{
    struct plumb_wire w = plumb_wire_of(bytes, n);
    *out = (struct plumb_control_request){.config = {.size = sizeof out->config},
                                          .trace = {.size = sizeof out->trace}};
    while (plumb_wire_next(&w) && !w.bad)
        get_field(out, &w, a);
    return plumb_control_end(&w, a, "request", err);
}
