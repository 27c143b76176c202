/* command.c: see command.h. The commands are a table; what they do is done by the functions that a
 * program calls for the same purpose. state.c fills in the state of the process. */
#include "record/control/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "codec/protobuf.h"
#include "codec/wire.h"
#include "control/fields.h"
#include "control/message.h"
#include "record/control/state.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/point.h"
#include "record/runtime/run_wanted.h"
#include "record/runtime/runtime.h"
#include "record/span/pipeline.h"
#include "record/span/snapshot.h"
#include "record/trace/switch.h"
#include <plumb/version.h>

enum { REPLY_BYTES = 16 * 1024, TRIES = 5 };

/* A request, its response, and the memory that the response refers to. */
struct call {
    struct plumb_control_request in;
    struct plumb_control_response out;
    struct plumb_control_state state;
    plumb_control_pipeline *pipelines; /* [PLUMB_PIPELINES_MAX + 1], in pages */
    plumb_rows *rows;
    uint32_t run; /* the number of the run that it has opened; 0: none */
    char path[PLUMB_WINDOW_TEXT];
    char notes[PLUMB_LOG_ASIDE];
    plumb_error err;
};

/* ---- Commands -------------------------------------------------------------------------------- */

static int do_status(struct call *c)
{
    plumb_control_state_read(&c->state);
    c->out.process = &c->state.process;
    return PLUMB_OK;
}

static int do_pipelines(struct call *c)
{
    uint32_t n = PLUMB_ACQUIRE(plumb_rt.pipeline_count);
    c->pipelines = plumb_pages_map((PLUMB_PIPELINES_MAX + 1) * sizeof *c->pipelines);
    if (!c->pipelines)
        return plumb_fail(&c->err, PLUMB_ERR_MEMORY, "out of memory for the pipelines");
    plumb_lock();
    for (uint32_t i = 0; i < n; i++) {
        const plumb_pipeline *p = &plumb_rt.pipelines[i];
        c->pipelines[i] =
            (plumb_control_pipeline){p->name, PLUMB_LOAD(p->enabled) != 0, PLUMB_LOAD(p->sync) != 0,
                                     (int64_t)PLUMB_LOAD(p->skip_first_n)};
    }
    plumb_unlock();
    c->out.pipelines = c->pipelines;
    c->out.pipeline_count = n;
    return PLUMB_OK;
}

/* Finds a pipeline and makes none: a misspelt name must not become one. */
static int find_pipeline(plumb_pipeline **out, struct call *c)
{
    const char *name = c->in.pipeline;
    uint32_t n = PLUMB_ACQUIRE(plumb_rt.pipeline_count);
    *out = NULL;
    for (uint32_t i = 0; name && i < n && !*out; i++)
        if (strcmp(PLUMB_ACQUIRE(plumb_rt.pipelines[i].name), name) == 0)
            *out = &plumb_rt.pipelines[i];
    if (name && name[0] && !*out)
        return plumb_fail(&c->err, PLUMB_ERR_NOT_FOUND, "the process has no pipeline '%s'", name);
    return PLUMB_OK;
}

static int do_summary(struct call *c)
{
    plumb_pipeline *pipeline;
    int rc = find_pipeline(&pipeline, c);
    if (rc < 0)
        return rc;
    do
        rc = plumb_summary_rows_impl(&c->rows, pipeline, c->in.phase, &c->err);
    while (rc == PLUMB_ERR_STATE && c->state.tries++ < TRIES);
    if (rc == PLUMB_OK && (c->out.row_count = plumb_rows_count_impl(c->rows)) > 0)
        c->out.rows = plumb_rows_get_impl(c->rows, 0);
    return rc;
}

static int do_start(struct call *c)
{
    return plumb_run_start_asked(&c->run, c->in.settings, c->in.setting_count, &c->err);
}

static int do_stop(struct call *c)
{
    return plumb_run_stop_asked(0, &c->err);
}

static int do_configure(struct call *c)
{
    plumb_pipeline *pipeline;
    int rc = find_pipeline(&pipeline, c);
    return rc < 0 ? rc : plumb_configure_impl(pipeline, &c->in.config, &c->err);
}

static int do_reset(struct call *c)
{
    plumb_pipeline *pipeline;
    int rc = find_pipeline(&pipeline, c);
    return rc < 0 ? rc : plumb_reset_impl(pipeline, &c->err);
}

static int do_trace_on(struct call *c)
{
    const plumb_control_trace *t = &c->in.trace;
    const struct plumb_trace_window window = {t->path,   t->regions, t->nodes,
                                              t->for_ns, t->steps,   t->max_bytes};
    c->out.path = c->path;
    return plumb_trace_switch_on(&window, c->path, sizeof c->path, &c->err);
}

static int do_trace_off(struct call *c)
{
    c->out.path = c->path;
    if (c->in.text)
        return plumb_trace_switch_off_only(c->in.text, c->path, sizeof c->path, &c->err);
    return plumb_trace_switch_off(c->path, sizeof c->path, &c->err);
}

static int do_keep(struct call *c)
{
    c->out.path = c->path;
    return plumb_trace_keep_now(c->in.text ? c->in.text : "a front end asked for it", c->path,
                                sizeof c->path, &c->err);
}

static int do_regions(struct call *c)
{
    return plumb_trace_switch_regions(c->in.text, &c->err);
}

static int do_nodes(struct call *c)
{
    return plumb_trace_switch_nodes(c->in.text, &c->err);
}

static int do_debug(struct call *c)
{
    plumb_set_debug_points(c->in.value != 0);
    return PLUMB_OK;
}

static int do_log_level(struct call *c)
{
    if (c->in.value < 0 || c->in.value > PLUMB_LOG_DEBUG)
        return plumb_fail(&c->err, PLUMB_ERR_ARG, "log level %lld is not one of 0 to %d",
                          (long long)c->in.value, (int)PLUMB_LOG_DEBUG);
    plumb_log_set_level((int)c->in.value);
    return PLUMB_OK;
}

static const struct {
    enum plumb_control_command number;
    bool quick; /* reads the state, and waits for nothing but locks that are held shortly */
    int (*execute)(struct call *c);
} commands[] = {
    {PLUMB_CONTROL_STATUS, true, do_status},        {PLUMB_CONTROL_PIPELINES, true, do_pipelines},
    {PLUMB_CONTROL_SUMMARY, false, do_summary},     {PLUMB_CONTROL_START, false, do_start},
    {PLUMB_CONTROL_STOP, false, do_stop},           {PLUMB_CONTROL_CONFIGURE, false, do_configure},
    {PLUMB_CONTROL_RESET, false, do_reset},         {PLUMB_CONTROL_TRACE_ON, false, do_trace_on},
    {PLUMB_CONTROL_TRACE_OFF, false, do_trace_off}, {PLUMB_CONTROL_KEEP, false, do_keep},
    {PLUMB_CONTROL_REGIONS, false, do_regions},     {PLUMB_CONTROL_NODES, false, do_nodes},
    {PLUMB_CONTROL_DEBUG, false, do_debug},         {PLUMB_CONTROL_LOG_LEVEL, false, do_log_level},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* ---- Responses ------------------------------------------------------------------------------- */

void *plumb_control_pages(size_t bytes)
{
    void *pages = plumb_pages_map(bytes);
    if (pages)
        madvise(pages, bytes, MADV_DONTFORK);
    return pages;
}

void plumb_control_pages_free(void *pages, size_t bytes)
{
    plumb_pages_unmap(pages, bytes);
}

void plumb_control_reply_free(struct plumb_control_reply *out)
{
    plumb_control_pages_free(out->bytes, out->cap);
    *out = (struct plumb_control_reply){NULL, 0, 0};
}

/* Returns whether `out` now holds the response. False: it does not fit into `cap` bytes. */
static bool put_into(struct plumb_control_reply *out, const struct plumb_control_response *r,
                     size_t cap)
{
    struct plumb_pb w;
    plumb_control_reply_free(out);
    if (!(out->bytes = plumb_control_pages(cap)))
        return false;
    out->cap = cap;
    w = (struct plumb_pb){out->bytes + PLUMB_CONTROL_HEAD_BYTES, out->bytes + cap, false};
    plumb_control_put_response(&w, r);
    if (w.full)
        return false;
    out->len = (size_t)(w.p - out->bytes);
    plumb_control_put_length(out->bytes, (uint32_t)(out->len - PLUMB_CONTROL_HEAD_BYTES));
    return true;
}

static void put(struct plumb_control_reply *out, const struct plumb_control_response *r)
{
    static const struct plumb_control_response too_large = {
        .status = PLUMB_ERR_MEMORY,
        .message = "the response does not fit into memory, or into 64 MiB: ask for a pipeline or a "
                   "phase"};
    for (size_t cap = REPLY_BYTES; cap <= PLUMB_CONTROL_RESPONSE_MAX; cap *= 4)
        if (put_into(out, r, cap))
            return;
    put_into(out, &too_large, REPLY_BYTES);
}

void plumb_control_refuse(struct plumb_control_reply *out)
{
    static const struct plumb_control_response busy = {
        .status = PLUMB_ERR_STATE,
        .message = "the process has as many connections of front ends as it allows (16)"};
    put(out, &busy);
}

static bool is_quick(uint64_t command)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].number == command)
            return commands[i].quick;
    return false;
}

bool plumb_control_is_quick(const unsigned char *request, size_t n, uint32_t *wait_ms)
{
    struct plumb_wire w = plumb_wire_of(request, n);
    uint64_t number = 0, value = 0;
    while (plumb_wire_next(&w)) {
        if (w.field == PLUMB_REQUEST_COMMAND)
            number = w.v;
        if (w.field == PLUMB_REQUEST_VALUE)
            value = w.v;
    }
    value = number == PLUMB_CONTROL_STATUS ? value : 0;
    *wait_ms = value < PLUMB_CONTROL_WAIT_MS ? (uint32_t)value : PLUMB_CONTROL_WAIT_MS;
    return is_quick(number);
}

static int find_and_execute(struct call *c)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].number == c->in.command)
            return commands[i].execute(c);
    return plumb_fail(&c->err, PLUMB_ERR_ABSENT,
                      "the plumb of this process (" PLUMB_VERSION ") does not know command %u",
                      c->in.command);
}

/* The run is the one that was opened: the program may have ended it, and begun its own, since. */
static void lease_it(struct plumb_control_lease *lease, const struct call *c)
{
    if (c->in.command == PLUMB_CONTROL_TRACE_ON)
        lease->window = plumb_trace_window_number();
    if (c->in.command == PLUMB_CONTROL_START)
        lease->run = c->run;
}

void plumb_control_give_back(const struct plumb_control_lease *lease)
{
    char *path = plumb_pages_map(PLUMB_WINDOW_TEXT);
    if (path && lease->window && plumb_trace_window_number() == lease->window)
        plumb_trace_switch_off(path, PLUMB_WINDOW_TEXT, NULL);
    if (lease->run)
        plumb_run_stop_asked(lease->run, NULL);
    if (path && lease->run)
        plumb_log_take_aside(path); /* for a front end that is gone */
    plumb_pages_unmap(path, PLUMB_WINDOW_TEXT);
}

void plumb_control_execute(struct plumb_control_reply *out, struct plumb_control_lease *lease,
                           const unsigned char *request, size_t n)
{
    struct plumb_arena arena = {NULL, false};
    struct call *c = plumb_pages_map(sizeof *c);
    int rc;
    if (!c)
        return;
    rc = plumb_control_get_request(&c->in, &arena, request, n, &c->err);
    if (rc == PLUMB_OK)
        rc = find_and_execute(c);
    if (rc == PLUMB_OK && c->in.while_connected)
        lease_it(lease, c);
    if (rc < 0)
        c->out = (struct plumb_control_response){.status = rc, .message = c->err.message};
    if (!is_quick(c->in.command))
        plumb_log_take_aside(c->notes);
    if (c->notes[0])
        c->out.notes = c->notes;
    put(out, &c->out);
    plumb_rows_free_impl(c->rows);
    if (c->pipelines)
        plumb_pages_unmap(c->pipelines, (PLUMB_PIPELINES_MAX + 1) * sizeof *c->pipelines);
    plumb_arena_fini(&arena);
    plumb_pages_unmap(c, sizeof *c);
}
