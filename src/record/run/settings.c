/* settings.c: the settings of the next run, from the environment and plumb_start(). */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pages.h"
#include "base/process/environment.h"
#include "record/run/run.h"
#include "record/runtime/lock.h"
#include "record/runtime/paths.h"
#include "record/runtime/runtime.h"

static void warn_setting(const char *line, void *arg)
{
    (void)arg;
    plumb_say("plumb: %s", line);
}

static void name_default_pipeline(void)
{
    const char *name = plumb_rt.settings.pipeline;
    char exe[1024];
    ssize_t n;
    if (!name[0]) {
        n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        exe[n > 0 ? n : 0] = '\0';
        name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : "default";
    }
    if (!plumb_rt.pipelines[0].name || strcmp(plumb_rt.pipelines[0].name, name) != 0) {
        char *kept = plumb_keep_text(name);
        if (kept)
            PLUMB_RELEASE(plumb_rt.pipelines[0].name, kept);
    }
}

/* Stores word by word: threads outside runs, without a lock, read single ones with PLUMB_LOAD. */
static void put_settings(const struct plumb_settings *next)
{
    typedef uint64_t __attribute__((may_alias)) word;
    const word *from = (const word *)(const void *)next;
    word *to = (word *)(void *)&plumb_rt.settings;
    _Static_assert(sizeof *next % sizeof *to == 0, "whole words");
    for (size_t i = 0; i < sizeof *next / sizeof *to; i++)
        PLUMB_STORE(to[i], from[i]);
}

/* Reads struct and environment; under the lock. After a result below 0 nothing has changed. */
static int read_settings(struct plumb_settings *out, const plumb_options *options, bool warn,
                         plumb_error *err)
{
    int rc;
    plumb_settings_default(out);
    rc = plumb_settings_apply(out, options, err);
    if (rc < 0)
        return rc;
    plumb_settings_from_env(out, plumb_environ(), warn ? warn_setting : NULL, NULL);
    /* Nodes outlive runs: the bound can only be raised. */
    if (out->max_nodes < plumb_rt.node_count)
        out->max_nodes = plumb_rt.node_count;
    return PLUMB_OK;
}

void plumb_run_adopt_settings(const struct plumb_settings *next)
{
    struct plumb_settings *s = &plumb_rt.settings;
    put_settings(next);
    plumb_paths_resolve();
    PLUMB_STORE(plumb_rt.debug, s->debug);
    name_default_pipeline();
    for (uint32_t i = 0; i < PLUMB_PIPELINES_MAX; i++) {
        plumb_pipeline *p = &plumb_rt.pipelines[i];
        if (p->configured)
            continue;
        PLUMB_STORE(p->enabled, 1);
        PLUMB_STORE(p->sync, s->sync);
        PLUMB_STORE(p->skip_first_n, s->skip_first_n);
    }
}

int plumb_run_take_settings(const plumb_options *options, bool warn, plumb_error *err)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    /* Too large for the stacks of some threads. */
    struct plumb_settings *next = plumb_pages_map(sizeof *next);
    int rc;
    if (!next)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the settings");
    rc = read_settings(next, options, warn, err);
    if (rc == PLUMB_OK)
        plumb_run_adopt_settings(next);
    plumb_pages_unmap(next, sizeof *next);
    if (rc < 0)
        return rc;
    plumb_run_forget_changes();
    if (options || s->log_level)
        plumb_log_set((int)s->log_level, s->log, s->log_arg);
    return PLUMB_OK;
}

void plumb_runtime_settings(void)
{
    plumb_environ_look(true);
    plumb_lock();
    plumb_run_take_settings(NULL, true, NULL);
    PLUMB_STORE(plumb_rt.want_run, plumb_settings_wants_recording(&plumb_rt.settings));
    plumb_unlock();
}
