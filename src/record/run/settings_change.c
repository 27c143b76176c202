/* settings_change.c: settings that a front end changes for the run that it opens. They are applied
 * to those that the program took last, and not to the environment, which belongs to the program's
 * threads. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/process/environment.h"
#include "record/activation/activation.h"
#include "record/run/run.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"

/* The settings without the changes, in a form that can be resolved again. NULL: no change is in
 * force. Under life_lock. */
static struct plumb_settings *unchanged;

void plumb_run_forget_changes(void)
{
    plumb_pages_unmap(unchanged, sizeof *unchanged);
    unchanged = NULL;
}

/* A path that was resolved is to stay what it is when it is resolved again. */
static void escape(char *path)
{
    char *to = path + PLUMB_SETTINGS_PATH - 1;
    size_t n = strlen(path), percents = 0;
    for (size_t i = 0; i < n; i++)
        percents += path[i] == '%';
    if (n + percents >= PLUMB_SETTINGS_PATH)
        return;
    to = path + n + percents;
    for (size_t i = n + 1; i-- > 0;) {
        *to-- = path[i];
        if (path[i] == '%')
            *to-- = '%';
    }
}

static struct plumb_settings *copy_unchanged(void)
{
    struct plumb_settings *s = plumb_pages_map(sizeof *s);
    const char *pattern = plumb_rt.report_pattern;
    bool relative = pattern[0] && pattern[0] != '/' && pattern[0] != '~';
    if (!s)
        return NULL;
    memcpy(s, &plumb_rt.settings, sizeof *s);
    escape(s->dir);
    escape(s->run_dir);
    snprintf(s->timing_report, sizeof s->timing_report, "%.*s%s%.*s",
             relative ? PLUMB_SETTINGS_PATH / 2 : 0, plumb_rt.report_base, relative ? "/" : "",
             PLUMB_SETTINGS_PATH / 2 - 2, pattern);
    return s;
}

/* "trace_max", "PLUMB_TRACE_MAX" and "--trace-max" are one name. */
static const struct plumb_setting *find(const char *name, size_t n)
{
    char option[80] = "--";
    if (n >= sizeof option - 2)
        return NULL;
    memcpy(option + (strncmp(name, "--", 2) == 0 || strncmp(name, "PLUMB_", 6) == 0 ? 0 : 2), name,
           n);
    for (char *p = option; *p && strncmp(option, "PLUMB_", 6) != 0; p++)
        *p = *p == '_' ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    return plumb_setting_find(option);
}

/* Settings that are used once, when the library is loaded. */
static bool is_fixed(const struct plumb_setting *setting)
{
    static const char *const fixed[] = {"", "CLOCK", "HELPER", "CONTROL", "COUNT"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(setting->name, fixed[i]) == 0)
            return true;
    return setting->hidden;
}

static int change(struct plumb_settings *next, const char *text, plumb_error *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    const struct plumb_setting *setting = find(text, n);
    plumb_error why = {0, ""};
    int rc;
    if (!equals || !setting)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "'%.80s' is not a setting: see 'plumb help environment'", text);
    if (is_fixed(setting))
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.80s' cannot be changed while the process runs",
                          text);
    rc = plumb_setting_parse(setting, next, equals + 1, &why);
    if (rc != PLUMB_OK)
        return plumb_fail(err, PLUMB_ERR_ARG, "%.*s: %s", (int)n, text, why.message);
    if (strcmp(setting->name, "TRACE_DIR") == 0 && next->trace_dir[0]) {
        memcpy(next->dir, next->trace_dir, sizeof next->dir);
        next->trace = true;
    }
    if (strcmp(setting->name, "DIR") == 0 || strcmp(setting->name, "TRACE_DIR") == 0)
        next->run_dir[0] = '\0';
    return PLUMB_OK;
}

static int check(const struct plumb_settings *next, plumb_error *err)
{
    if (next->recording == PLUMB_OFF)
        return plumb_fail(err, PLUMB_ERR_STATE, "PLUMB=0: this process is never to be recorded");
    if (plumb_is_privileged() && !next->run_dir[0] &&
        strcmp(next->dir, unchanged ? unchanged->dir : plumb_rt.settings.dir) == 0)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "this program has rights that its caller has not (set-user-ID, "
                          "capabilities): name the folder of the run (dir=...)");
    return plumb_activations_check(next, err);
}

static void adopt(const struct plumb_settings *next)
{
    uint32_t level = plumb_rt.settings.log_level;
    plumb_lock();
    plumb_run_adopt_settings(next);
    if (next->log_level != level)
        plumb_log_set_level((int)next->log_level);
    plumb_unlock();
}

int plumb_run_change_settings(const char *const *settings, size_t n, plumb_error *err)
{
    struct plumb_settings *base = unchanged ? unchanged : copy_unchanged();
    struct plumb_settings *next = plumb_pages_map(sizeof *next);
    int rc = PLUMB_OK;
    if (!base || !next) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the settings");
        goto out;
    }
    memcpy(next, base, sizeof *next);
    /* The program's stderr is not where the one who asks looks, and a wrong name must not end the
     * program. */
    next->quiet = true;
    next->region_check = PLUMB_REGION_WARN;
    for (size_t i = 0; i < n && rc == PLUMB_OK; i++)
        rc = change(next, settings[i], err);
    if (next->max_nodes < plumb_rt.node_count)
        next->max_nodes = plumb_rt.node_count; /* nodes outlive runs */
    if (rc == PLUMB_OK)
        rc = check(next, err);
    if (rc < 0)
        goto out;
    adopt(next);
    unchanged = base;
    base = NULL;
out:
    if (base != unchanged)
        plumb_pages_unmap(base, sizeof *base);
    plumb_pages_unmap(next, sizeof *next);
    return rc;
}
