/* read_control.c: control of running processes, of the public interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <plumb/control.h>

#include "api/take.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "read/control/connection.h"
#include "report/run/process_list.h"

#define MS UINT64_C(1000000)
#define LIST_NS (200 * MS)
#define SHORT_NS (5000 * MS)
#define LONG_NS (60000 * MS) /* of commands that write files */

struct plumb_control {
    struct plumb_connection connection;
    uint64_t short_ns, long_ns;
    bool while_connected;
    struct plumb_arena status;
    plumb_process process;
    char socket[PLUMB_CONTROL_PATH + PLUMB_CONTROL_NAME + 1];
};

/* ---- Processes ------------------------------------------------------------------------------- */

struct plumb_process_list {
    struct plumb_arena arena;
    plumb_process *items;
    uint64_t *read_ns; /* [count] when each was asked, CLOCK_MONOTONIC */
    size_t count;
};

static const struct plumb_control_request status_request = {.command = PLUMB_CONTROL_STATUS};

static int take_status(plumb_process *out, const struct plumb_connection *c,
                       const struct plumb_control_response *response, plumb_error *err)
{
    if (!response->process)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "process %u answers without its state",
                          c->process.pid);
    *out = *response->process;
    out->answers = 1;
    return PLUMB_OK;
}

/* Returns the facts about a process that does not answer. */
static plumb_process silent(const struct plumb_found *found, struct plumb_arena *a)
{
    char program[1024];
    plumb_process p = {.size = sizeof p,
                       .pid = found->pid,
                       .start_time = found->start_time,
                       .command = "",
                       .pipeline = "",
                       .run_dir = "",
                       .version = "",
                       .rank = -1};
    plumb_found_program(program, sizeof program, found->pid);
    p.program = plumb_arena_strdup(a, program);
    return p;
}

/* Processes that are asked at once: each takes a descriptor. */
enum { ASKED_AT_ONCE = 64 };

struct asked {
    struct plumb_connection c;
    int rc; /* of connecting and asking */
};

static void ask_process(struct asked *out, const struct plumb_found *found, uint64_t until_ns)
{
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    uint64_t left = until_ns > now ? until_ns - now : 0;
    out->rc = plumb_connection_open(&out->c, found, left, NULL);
    if (out->rc == PLUMB_OK &&
        (out->rc = plumb_connection_request(&out->c, &status_request, left, NULL)) < 0)
        plumb_connection_close(&out->c);
}

/* Returns false if nothing listens: the process left its socket when it became another program
 * or another user's. */
static bool describe(plumb_process *out, struct asked *asked, const struct plumb_found *found,
                     uint64_t until_ns, struct plumb_arena *a)
{
    struct plumb_control_response response;
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (asked->rc == PLUMB_ERR_NOT_FOUND)
        return false;
    *out = silent(found, a);
    if (asked->rc == PLUMB_OK) {
        if (plumb_connection_response(&response, &asked->c, a, until_ns > now ? until_ns - now : 0,
                                      NULL) == PLUMB_OK)
            take_status(out, &asked->c, &response, NULL);
        plumb_connection_close(&asked->c);
    }
    out->pid = found->pid;
    out->start_time = found->start_time;
    out->socket = plumb_arena_printf(a, "%s/%s", found->folder, found->name);
    return true;
}

/* Asks up to ASKED_AT_ONCE processes, and waits for all of them together: those that are stopped
 * take one limit of time, and not one each. */
static void describe_some(plumb_process_list *list, struct asked asked[ASKED_AT_ONCE],
                          const struct plumb_found *found, size_t n)
{
    uint64_t until_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + LIST_NS;
    for (size_t i = 0; i < n; i++)
        ask_process(&asked[i], &found[i], until_ns);
    for (size_t i = 0; i < n; i++) {
        if (!describe(&list->items[list->count], &asked[i], &found[i], until_ns, &list->arena))
            continue;
        list->read_ns[list->count] = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
        list->count++;
    }
}

int plumb_process_list_open(plumb_process_list **out, plumb_error *err)
{
    struct plumb_found *found = NULL;
    size_t n = 0;
    plumb_process_list *list = NULL;
    struct asked *asked;
    int rc = plumb_found_list(&found, &n, err);
    if (rc < 0)
        return rc;
    list = calloc(1, sizeof *list);
    asked = calloc(ASKED_AT_ONCE, sizeof *asked);
    if (list) {
        list->items = plumb_arena_alloc(&list->arena, (n + 1) * sizeof *list->items);
        list->read_ns = plumb_arena_alloc(&list->arena, (n + 1) * sizeof *list->read_ns);
    }
    for (size_t i = 0; asked && list && !list->arena.failed && i < n; i += ASKED_AT_ONCE)
        describe_some(list, asked, found + i, n - i < ASKED_AT_ONCE ? n - i : ASKED_AT_ONCE);
    free(found);
    rc = asked ? PLUMB_OK : PLUMB_ERR_MEMORY;
    free(asked);
    if (rc < 0 || !list || list->arena.failed) {
        plumb_process_list_close(list);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the list of processes");
    }
    *out = list;
    return PLUMB_OK;
}

void plumb_process_list_close(plumb_process_list *list)
{
    if (!list)
        return;
    plumb_arena_fini(&list->arena);
    free(list);
}

size_t plumb_process_list_count(const plumb_process_list *list)
{
    return list->count;
}

const plumb_process *plumb_process_list_get(const plumb_process_list *list, size_t i)
{
    return i < list->count ? &list->items[i] : NULL;
}

/* Returns the spans per second of process `i` since `before`; negative: not known. */
static double rate_of(const plumb_process_list *list, size_t i, const plumb_process_list *before)
{
    const plumb_process *p = &list->items[i];
    for (size_t k = 0; before && k < before->count; k++) {
        const plumb_process *q = &before->items[k];
        double s = (double)(list->read_ns[i] - before->read_ns[k]) * 1e-9;
        if (q->pid != p->pid || q->start_time != p->start_time || !q->answers || !p->answers)
            continue;
        /* Rows that were reset in the meantime have no rate. */
        return p->recording == 1 && q->since_ns == p->since_ns && p->spans >= q->spans && s > 0
                   ? (double)(p->spans - q->spans) / s
                   : -1;
    }
    return -1;
}

int plumb_process_list_render(char **out, const plumb_process_list *list,
                              const plumb_process_list *before, uint32_t format, plumb_error *err)
{
    struct plumb_buf text = {0};
    struct plumb_process_row *rows;
    if (format > PLUMB_PROCESSES_JSON)
        return plumb_fail(err, PLUMB_ERR_ARG, "a list of processes has no format %u", format);
    rows = calloc(list->count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < list->count; i++)
        rows[i] = (struct plumb_process_row){&list->items[i], rate_of(list, i, before)};
    if (rows && format == PLUMB_PROCESSES_JSON)
        plumb_process_list_json(&text, rows, list->count);
    else if (rows)
        plumb_process_list_text(&text, rows, list->count);
    free(rows);
    if (!text.data || text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a list of processes");
    }
    *out = text.data;
    return PLUMB_OK;
}

/* ---- A connection ---------------------------------------------------------------------------- */

int plumb_control_connect(plumb_control **out, const char *who, uint32_t timeout_ms,
                          plumb_error *err)
{
    struct plumb_found found;
    plumb_control *c;
    int rc = who && who[0] ? plumb_found_one(&found, who, err)
                           : plumb_fail(err, PLUMB_ERR_ARG, "name a pid or a program");
    if (rc < 0)
        return rc;
    c = calloc(1, sizeof *c);
    if (!c)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a connection");
    c->short_ns = timeout_ms ? timeout_ms * MS : SHORT_NS;
    c->long_ns = timeout_ms ? timeout_ms * MS : LONG_NS;
    snprintf(c->socket, sizeof c->socket, "%s/%s", found.folder, found.name);
    rc = plumb_connection_open(&c->connection, &found, c->short_ns, err);
    if (rc < 0)
        free(c);
    else
        *out = c;
    return rc;
}

void plumb_control_disconnect(plumb_control *c)
{
    if (!c)
        return;
    plumb_connection_close(&c->connection);
    plumb_arena_fini(&c->status);
    free(c);
}

void plumb_control_while_connected(plumb_control *c, int on)
{
    c->while_connected = on != 0;
}

const char *plumb_control_notes(const plumb_control *c)
{
    return c->connection.notes;
}

/* ---- Watch ----------------------------------------------------------------------------------- */

int plumb_control_wait(const plumb_process **out, plumb_control *c, uint32_t ms, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_STATUS, .value = ms};
    struct plumb_control_response response;
    int rc;
    plumb_arena_reset(&c->status);
    rc = plumb_connection_call(&response, &c->connection, &c->status, &request,
                               c->short_ns + ms * MS, err);
    if (rc == PLUMB_OK)
        rc = take_status(&c->process, &c->connection, &response, err);
    c->process.socket = c->socket;
    if (rc == PLUMB_OK)
        *out = &c->process;
    return rc;
}

int plumb_control_status(const plumb_process **out, plumb_control *c, plumb_error *err)
{
    return plumb_control_wait(out, c, 0, err);
}

/* A response that a list or rows are read from. */
struct answer {
    struct plumb_arena arena;
    struct plumb_control_response response;
};

static int ask(struct answer **out, plumb_control *c, const struct plumb_control_request *request,
               plumb_error *err)
{
    struct answer *a = calloc(1, sizeof *a);
    int rc;
    if (!a)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a response");
    rc = plumb_connection_call(&a->response, &c->connection, &a->arena, request, c->short_ns, err);
    if (rc == PLUMB_OK) {
        *out = a;
        return rc;
    }
    plumb_arena_fini(&a->arena);
    free(a);
    return rc;
}

static void free_answer(struct answer *a)
{
    if (!a)
        return;
    plumb_arena_fini(&a->arena);
    free(a);
}

struct plumb_control_pipeline_list {
    struct answer answer;
};

int plumb_control_pipelines(plumb_control_pipeline_list **out, plumb_control *c, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_PIPELINES};
    struct answer *a;
    int rc = ask(&a, c, &request, err);
    if (rc == PLUMB_OK)
        *out = (plumb_control_pipeline_list *)a;
    return rc;
}

size_t plumb_control_pipelines_count(const plumb_control_pipeline_list *list)
{
    return list->answer.response.pipeline_count;
}

const plumb_control_pipeline *plumb_control_pipelines_get(const plumb_control_pipeline_list *list,
                                                          size_t i)
{
    const struct plumb_control_response *r = &list->answer.response;
    return i < r->pipeline_count ? &r->pipelines[i] : NULL;
}

void plumb_control_pipelines_free(plumb_control_pipeline_list *list)
{
    free_answer((struct answer *)list);
}

struct plumb_control_rows {
    struct answer answer;
};

int plumb_control_summary(plumb_control_rows **out, plumb_control *c, const char *pipeline,
                          const char *phase, plumb_error *err)
{
    const struct plumb_control_request request = {
        .command = PLUMB_CONTROL_SUMMARY, .pipeline = pipeline, .phase = phase};
    struct answer *a;
    int rc = ask(&a, c, &request, err);
    if (rc == PLUMB_OK)
        *out = (plumb_control_rows *)a;
    return rc;
}

size_t plumb_control_rows_count(const plumb_control_rows *rows)
{
    return rows->answer.response.row_count;
}

const plumb_row *plumb_control_rows_get(const plumb_control_rows *rows, size_t i)
{
    const struct plumb_control_response *r = &rows->answer.response;
    return i < r->row_count ? &r->rows[i] : NULL;
}

void plumb_control_rows_free(plumb_control_rows *rows)
{
    free_answer((struct answer *)rows);
}

/* ---- Steer ----------------------------------------------------------------------------------- */

/* A command without an answer but its status. */
static int command(plumb_control *c, const struct plumb_control_request *request,
                   uint64_t timeout_ns, plumb_error *err)
{
    struct plumb_arena arena = {NULL, false};
    struct plumb_control_response response;
    int rc = plumb_connection_call(&response, &c->connection, &arena, request, timeout_ns, err);
    plumb_arena_fini(&arena);
    return rc;
}

/* A command that answers with the path of a file. */
static int command_for_path(char *out, size_t size, plumb_control *c,
                            const struct plumb_control_request *request, plumb_error *err)
{
    struct plumb_arena arena = {NULL, false};
    struct plumb_control_response response;
    int rc = plumb_connection_call(&response, &c->connection, &arena, request, c->long_ns, err);
    const char *path = rc == PLUMB_OK && response.path ? response.path : "";
    if (rc == PLUMB_OK && strlen(path) >= size)
        rc = plumb_fail(err, PLUMB_ERR_ARG, "the path of the file needs %zu bytes",
                        strlen(path) + 1);
    if (rc == PLUMB_OK)
        strcpy(out, path);
    plumb_arena_fini(&arena);
    return rc;
}

int plumb_control_start(plumb_control *c, const char *const *settings, plumb_error *err)
{
    struct plumb_control_request request = {.command = PLUMB_CONTROL_START,
                                            .settings = (const char **)(uintptr_t)settings,
                                            .while_connected = c->while_connected};
    while (settings && settings[request.setting_count])
        request.setting_count++;
    return command(c, &request, c->long_ns, err);
}

int plumb_control_stop(plumb_control *c, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_STOP};
    return command(c, &request, c->long_ns, err);
}

int plumb_control_configure(plumb_control *c, const char *pipeline, const plumb_config *config,
                            plumb_error *err)
{
    struct plumb_control_request request = {.command = PLUMB_CONTROL_CONFIGURE,
                                            .pipeline = pipeline};
    plumb_config taken = plumb_config_default();
    int rc = config ? plumb_take(&taken, sizeof taken, config, err)
                    : plumb_fail(err, PLUMB_ERR_ARG, "plumb_control_configure: config is NULL");
    request.config = taken;
    return rc < 0 ? rc : command(c, &request, c->short_ns, err);
}

int plumb_control_reset(plumb_control *c, const char *pipeline, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_RESET,
                                                  .pipeline = pipeline};
    return command(c, &request, c->short_ns, err);
}

static int make_absolute(char *path, size_t size, const char **name, plumb_error *err)
{
    size_t n = getcwd(path, size) ? strlen(path) : size;
    int more = n < size ? snprintf(path + n, size - n, "/%s", *name) : -1;
    if (more < 0 || (size_t)more >= size - n)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path '%.200s' is too long", *name);
    *name = path;
    return PLUMB_OK;
}

int plumb_control_trace_on(char *out, size_t size, plumb_control *c,
                           const plumb_control_trace *options, plumb_error *err)
{
    struct plumb_control_request request = {.command = PLUMB_CONTROL_TRACE_ON,
                                            .while_connected = c->while_connected};
    plumb_control_trace taken = {.size = sizeof taken};
    char path[PLUMB_CONTROL_PATH];
    int rc = plumb_take(&taken, sizeof taken, options, err);
    /* A relative path is the caller's, whose folder the process does not know. */
    if (rc == PLUMB_OK && taken.path && taken.path[0] && taken.path[0] != '/')
        rc = make_absolute(path, sizeof path, &taken.path, err);
    request.trace = taken;
    return rc < 0 ? rc : command_for_path(out, size, c, &request, err);
}

int plumb_control_trace_off(char *out, size_t size, plumb_control *c, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_TRACE_OFF};
    return command_for_path(out, size, c, &request, err);
}

int plumb_control_trace_end(plumb_control *c, const char *path, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_TRACE_OFF, .text = path};
    return path ? command(c, &request, c->long_ns, err)
                : plumb_fail(err, PLUMB_ERR_ARG, "plumb_control_trace_end: path is NULL");
}

int plumb_control_keep(char *out, size_t size, plumb_control *c, const char *why, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_KEEP, .text = why};
    return command_for_path(out, size, c, &request, err);
}

int plumb_control_regions(plumb_control *c, const char *names, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_REGIONS,
                                                  .text = names ? names : ""};
    return command(c, &request, c->short_ns, err);
}

int plumb_control_nodes(plumb_control *c, const char *patterns, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_NODES,
                                                  .text = patterns ? patterns : ""};
    return command(c, &request, c->short_ns, err);
}

int plumb_control_debug(plumb_control *c, int on, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_DEBUG, .value = on != 0};
    return command(c, &request, c->short_ns, err);
}

int plumb_control_log_level(plumb_control *c, int level, plumb_error *err)
{
    const struct plumb_control_request request = {.command = PLUMB_CONTROL_LOG_LEVEL,
                                                  .value = level};
    return command(c, &request, c->short_ns, err);
}
