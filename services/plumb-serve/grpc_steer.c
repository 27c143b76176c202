/* grpc_steer.c: Start, Stop and Configure of plumb.v1.Profiler. Each success is a line of the log:
 * the process itself does not know who asked. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/read/setting.h>

#include "grpc_profiler.h"
#include "grpc_session.h"
#include "log.h"
#include <proto/plumb/v1/profiler.pb-c.h>

enum { RUN_DIR_MAX = 4096, SETTINGS_MAX = 64, SETTING_MAX = 4096 };

/* ---- Start ----------------------------------------------------------------------------------- */

struct start {
    char settings[SETTINGS_MAX][SETTING_MAX];
    const char *list[SETTINGS_MAX + 1];
    char run_dir[RUN_DIR_MAX];
};

/* Settings of free text that name neither a file nor a folder nor a library. Any other is refused:
 * a client of the network chooses what is recorded, not what the process writes to or loads. */
static bool is_harmless_text(const char *variable)
{
    static const char *const names[] = {
        "PLUMB_CAPTURE",           "PLUMB_COLLECT",           "PLUMB_KEEP_IF",
        "PLUMB_TRACE_STEPS",       "PLUMB_REGIONS",           "PLUMB_TRACE_NODES",
        "PLUMB_ACTIVATIONS_STATS", "PLUMB_ACTIVATIONS_STEPS", "PLUMB_ACTIVATIONS_LAYERS",
        "PLUMB_ACTIVATIONS_DUMP",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], variable) == 0)
            return true;
    return false;
}

/* "trace", "TRACE" and "PLUMB_TRACE" are one setting. */
static bool find_setting(plumb_setting_info *out, const char *name)
{
    if (strncasecmp(name, "PLUMB_", 6) == 0)
        name += 6;
    for (size_t i = 0; plumb_setting_get(out, i); i++)
        if (strlen(out->variable) > 6 && strcasecmp(out->variable + 6, name) == 0)
            return !out->hidden;
    return false;
}

static bool take_setting(struct serve_call *c, struct start *s, size_t at, const char *name,
                         const char *value)
{
    plumb_setting_info info;
    plumb_error err = {0, ""};
    if (!find_setting(&info, name)) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "'%s' is not a setting", name);
        return false;
    }
    if (info.kind == PLUMB_KIND_TEXT && !is_harmless_text(info.variable)) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT,
                        "%s cannot be set over the network: it names a file, a folder or a library",
                        info.variable);
        return false;
    }
    if (plumb_setting_check(info.variable, value, &err) < 0) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "%s: %s", name, err.message);
        return false;
    }
    char *text = s->settings[at];
    int n = snprintf(text, SETTING_MAX, "%s=%s", info.variable + 6, value);
    if (n >= SETTING_MAX) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "the value of %s is too long",
                        info.variable);
        return false;
    }
    for (char *p = text; *p != '='; p++)
        *p = (char)tolower((unsigned char)*p);
    s->list[at] = text;
    return true;
}

static int run_dir_of(char *out, struct serve_session *session, plumb_error *err)
{
    const plumb_process *p;
    int rc = plumb_control_status(&p, session->control, err);
    if (rc == PLUMB_OK)
        snprintf(out, RUN_DIR_MAX, "%s", p->run_dir ? p->run_dir : "");
    return rc;
}

static int start(struct serve_session *session, void *arg, plumb_error *err)
{
    struct start *s = arg;
    int rc = plumb_control_start(session->control, s->list, err);
    return rc < 0 ? rc : run_dir_of(s->run_dir, session, err);
}

void serve_profiler_start(struct serve_call *c, const void *request)
{
    const Plumb__V1__StartRequest *r = request;
    Plumb__V1__StartResponse reply = PLUMB__V1__START_RESPONSE__INIT;
    struct start *s = calloc(1, sizeof *s);
    bool good = s && r->n_settings <= SETTINGS_MAX;
    if (!good)
        serve_call_fail(c, s ? GRPC_STATUS_INVALID_ARGUMENT : GRPC_STATUS_RESOURCE_EXHAUSTED,
                        s ? "more than %d settings" : "out of memory", SETTINGS_MAX);
    for (size_t i = 0; good && i < r->n_settings; i++)
        good = take_setting(c, s, i, r->settings[i]->key, r->settings[i]->value);
    if (good && serve_grpc_do(c, r->session_id, SERVE_SLOW, false, start, s)) {
        serve_log("Start of session %s by %s: %s", r->session_id, c->peer, s->run_dir);
        reply.run_dir = s->run_dir;
        serve_call_send(c, &reply.base);
    }
    free(s);
}

/* ---- Stop ------------------------------------------------------------------------------------ */

static int stop(struct serve_session *session, void *arg, plumb_error *err)
{
    int rc = run_dir_of(arg, session, err);
    return rc < 0 ? rc : plumb_control_stop(session->control, err);
}

void serve_profiler_stop(struct serve_call *c, const void *request)
{
    const Plumb__V1__StopRequest *r = request;
    Plumb__V1__StopResponse reply = PLUMB__V1__STOP_RESPONSE__INIT;
    char run_dir[RUN_DIR_MAX] = "";
    if (!serve_grpc_do(c, r->session_id, SERVE_SLOW, false, stop, run_dir))
        return;
    serve_log("Stop of session %s by %s: %s", r->session_id, c->peer, run_dir);
    reply.run_dir = run_dir;
    serve_call_send(c, &reply.base);
}

/* ---- Configure ------------------------------------------------------------------------------- */

static int configure_pipeline(struct serve_session *session, const Plumb__V1__ConfigureRequest *r,
                              plumb_error *err)
{
    plumb_config config = plumb_config_default();
    if (!r->pipeline)
        return r->reset ? plumb_control_reset(session->control, session->pipeline, err) : PLUMB_OK;
    config.enabled = r->pipeline->enabled != 0;
    config.sync = r->pipeline->sync != 0;
    config.reset = r->reset != 0;
    config.skip_first_n = r->pipeline->skip_first_n;
    return plumb_control_configure(session->control, session->pipeline, &config, err);
}

static int configure(struct serve_session *session, void *arg, plumb_error *err)
{
    const Plumb__V1__ConfigureRequest *r = arg;
    plumb_control *control = session->control;
    int rc = configure_pipeline(session, r, err);
    if (rc == PLUMB_OK && r->opt_regions_case)
        rc = plumb_control_regions(control, r->regions, err);
    if (rc == PLUMB_OK && r->opt_nodes_case)
        rc = plumb_control_nodes(control, r->nodes, err);
    if (rc == PLUMB_OK && r->opt_debug_spans_case)
        rc = plumb_control_debug(control, r->debug_spans != 0, err);
    if (rc == PLUMB_OK && r->opt_log_level_case)
        rc = plumb_control_log_level(control, (int)r->log_level, err);
    return rc;
}

void serve_profiler_configure(struct serve_call *c, const void *request)
{
    const Plumb__V1__ConfigureRequest *r = request;
    Plumb__V1__ConfigureResponse reply = PLUMB__V1__CONFIGURE_RESPONSE__INIT;
    if (r->pipeline && r->pipeline->skip_first_n < 0) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "skip_first_n is 0 or more, not %lld",
                        (long long)r->pipeline->skip_first_n);
        return;
    }
    if (!serve_grpc_do(c, r->session_id, SERVE_QUICK, false, configure, (void *)r))
        return;
    serve_log("Configure of session %s by %s", r->session_id, c->peer);
    serve_call_send(c, &reply.base);
}
