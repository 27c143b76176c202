/* settings_expand.c: the patterns of paths. No state; any thread, as long as the environment does
 * not change during the call. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/process/environment.h"
#include "config/settings.h"

struct output {
    char *text;
    size_t size, len;
    plumb_error *err;
};

static int put(struct output *o, const char *text, size_t n)
{
    if (n >= o->size - o->len)
        return plumb_fail(o->err, PLUMB_ERR_ARG, "the path is longer than %zu bytes", o->size - 1);
    memcpy(o->text + o->len, text, n);
    o->len += n;
    return PLUMB_OK;
}

static int put_variable(struct output *o, const struct plumb_expand *values, const char *name,
                        size_t n)
{
    char copy[256];
    if (n == 0 || n >= sizeof copy)
        return plumb_fail(o->err, PLUMB_ERR_ARG, "%%q{} needs the name of a variable");
    memcpy(copy, name, n);
    copy[n] = '\0';
    const char *text = plumb_environment_get(values->environment, copy);
    if (!text)
        return plumb_fail(o->err, PLUMB_ERR_ARG, "%s is not set, which the path needs", copy);
    return put(o, text, strlen(text));
}

/* Expands the sequence at `*p`, which begins with '%', and moves `*p` past it. */
static int put_sequence(struct output *o, const struct plumb_expand *values, const char **p)
{
    char number[24];
    const char *close = NULL;
    char kind = (*p)[1];
    const char *name = *p + 3;
    *p += kind ? 2 : 1;
    switch (kind) {
    case '%':
        return put(o, "%", 1);
    case 'h':
        return put(o, values->host, strlen(values->host));
    case 'p':
        snprintf(number, sizeof number, "%" PRIu64, values->pid);
        return put(o, number, strlen(number));
    case 'r':
        snprintf(number, sizeof number, "%" PRId32, values->rank < 0 ? 0 : values->rank);
        return put(o, number, strlen(number));
    case 'q':
        close = **p == '{' ? strchr(name, '}') : NULL;
        if (close) {
            *p = close + 1;
            return put_variable(o, values, name, (size_t)(close - name));
        }
        break;
    default:
        break;
    }
    return plumb_fail(o->err, PLUMB_ERR_ARG,
                      "'%%%.1s' in a path is not one of %%h, %%p, %%r, %%q{NAME}, %%%%",
                      *p - (kind != 0));
}

static int expand_all(struct output *o, const char *pattern, const struct plumb_expand *values)
{
    int rc = PLUMB_OK;
    const char *p = pattern;
    if (p[0] == '~' && (p[1] == '/' || p[1] == '\0')) {
        rc = put_variable(o, values, "HOME", strlen("HOME"));
        p++;
    }
    while (rc == PLUMB_OK && *p) {
        size_t plain = strcspn(p, "%");
        rc = put(o, p, plain);
        p += plain;
        if (rc == PLUMB_OK && *p)
            rc = put_sequence(o, values, &p);
    }
    return rc;
}

int plumb_settings_expand(char *out, size_t size, const char *pattern,
                          const struct plumb_expand *values, plumb_error *err)
{
    struct output o = {out, size, 0, err};
    int rc;
    if (size == 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long");
    rc = expand_all(&o, pattern, values);
    out[rc == PLUMB_OK ? o.len : 0] = '\0';
    return rc;
}
