/* settings_env.c: reads the settings of the environment. No state.
 *
 * A misspelt name is the commonest way of recording nothing. So each unknown name is warned about,
 * with the name that was probably meant. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/process/environment.h"
#include "base/text/nearest.h"
#include "config/settings.h"

enum { MAX_NAME = 100 }; /* bytes of an unknown name that a warning shows */

struct warnings {
    plumb_settings_warn_fn fn;
    void *arg;
    int count;
};

static void warn(struct warnings *w, const char *line)
{
    w->count++;
    if (w->fn)
        w->fn(line, w->arg);
}

static void warn_unknown(struct warnings *w, const char *variable)
{
    plumb_error line;
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    struct plumb_nearest nearest = plumb_nearest_start(variable + strlen("PLUMB_"));
    for (size_t i = 0; i < n; i++)
        if (!table[i].hidden && *table[i].name)
            plumb_nearest_offer(&nearest, table[i].name);
    if (nearest.best)
        plumb_fail(&line, PLUMB_ERR_ARG, "unknown variable %s: did you mean PLUMB_%s?", variable,
                   nearest.best);
    else
        plumb_fail(&line, PLUMB_ERR_ARG, "unknown variable %s: see 'plumb help environment'",
                   variable);
    warn(w, line.message);
}

static bool asks_for_recording(const struct plumb_setting *setting, const struct plumb_settings *s,
                               const char *text)
{
    if (!setting->implies_recording)
        return false;
    if (setting->type == PLUMB_SETTING_BOOL)
        return *(const bool *)((const char *)s + setting->offset);
    return *text != '\0';
}

/* Returns false where the text is refused. */
static bool take(struct plumb_settings *s, const struct plumb_setting *setting, const char *text,
                 struct warnings *w)
{
    char variable[64];
    plumb_error why;
    plumb_error line;
    int rc = plumb_setting_parse(setting, s, text, &why);
    if (rc != 0) {
        plumb_setting_variable(variable, sizeof variable, setting);
        plumb_fail(&line, PLUMB_ERR_ARG, "%s: %s%s", variable, why.message,
                   rc < 0 ? "; ignored" : "");
        warn(w, line.message);
    }
    if (rc >= 0 && !s->implied_by && asks_for_recording(setting, s, text))
        s->implied_by = setting;
    return rc >= 0;
}

/* Returns whether an earlier entry has the same name: getenv() sees only the first. */
static bool is_repeated(char *const *environment, char *const *entry, size_t len)
{
    for (char *const *e = environment; e < entry; e++)
        if (strncmp(*e, *entry, len) == 0 && (*e)[len] == '=')
            return true;
    return false;
}

int plumb_settings_from_env(struct plumb_settings *s, char *const *environment,
                            plumb_settings_warn_fn fn, void *arg)
{
    struct warnings w = {fn, arg, 0};
    bool no_trace = false;
    for (char *const *e = environment; e && *e; e++) {
        size_t len = strcspn(*e, "=");
        bool ours = strncmp(*e, "PLUMB", 5) == 0 && (len == 5 || (*e)[5] == '_');
        if (!ours || (*e)[len] != '=' || is_repeated(environment, e, len))
            continue;
        char name[MAX_NAME + 1];
        snprintf(name, sizeof name, "%.*s", (int)(len < MAX_NAME ? len : MAX_NAME), *e);
        const struct plumb_setting *setting = len <= MAX_NAME ? plumb_setting_find(name) : NULL;
        if (setting && take(s, setting, *e + len + 1, &w))
            no_trace = no_trace || (strcmp(name, "PLUMB_TRACE") == 0 && (*e)[len + 1] && !s->trace);
        else if (!setting)
            warn_unknown(&w, name);
    }
    if (s->trace_dir[0]) {
        s->trace = !no_trace;
        memcpy(s->dir, s->trace_dir, sizeof s->dir);
    }
    return w.count;
}

bool plumb_settings_wants_recording(const struct plumb_settings *s)
{
    return s->recording == PLUMB_ON || (s->recording == PLUMB_DEFAULT && s->implied_by);
}
