/* step_list.c: see step_list.h. */
#include "config/step_list.h"

#include <string.h>

#include "base/error.h"

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Moves `p` behind a number; false: there is none, or it is no step. */
static bool number(const char **p, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = skip_blanks(*p);
    size_t digits = strspn(at, "0123456789");
    if (!digits || digits > 18)
        return false;
    for (size_t i = 0; i < digits; i++)
        value = 10 * value + (uint64_t)(at[i] - '0');
    *p = skip_blanks(at + digits);
    *out = value;
    return true;
}

static int entry(struct plumb_step_list *l, const char *text, plumb_error *err)
{
    const char *p = text;
    int n = (int)strcspn(text, ",");
    uint64_t from, to;
    if (!number(&p, &from))
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.*s' is no step and no range of steps",
                          n < 40 ? n : 40, text);
    to = from;
    if (*p == '-') {
        p++;
        if (!number(&p, &to) || to < from)
            return plumb_fail(err, PLUMB_ERR_ARG, "'%.*s' is no range of steps", n < 40 ? n : 40,
                              text);
    }
    if (p != text + n)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.*s' is no step and no range of steps",
                          n < 40 ? n : 40, text);
    if (l->count == PLUMB_STEP_RANGES)
        return plumb_fail(err, PLUMB_ERR_ARG, "there are more than %d ranges of steps",
                          (int)PLUMB_STEP_RANGES);
    l->range[l->count].from = from;
    l->range[l->count++].to = to;
    return PLUMB_OK;
}

int plumb_step_list_parse(struct plumb_step_list *out, const char *text, plumb_error *err)
{
    struct plumb_step_list l = {.count = 0};
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        bool blank = skip_blanks(p) == p + n;
        int rc = blank ? PLUMB_OK : entry(&l, p, err);
        if (rc < 0)
            return rc;
        p += n + (p[n] == ',');
    }
    if (!l.count)
        return plumb_fail(err, PLUMB_ERR_ARG, "there is no step in the list");
    *out = l;
    return PLUMB_OK;
}

bool plumb_step_list_has(const struct plumb_step_list *l, int64_t step)
{
    for (uint32_t i = 0; step >= 0 && i < l->count; i++)
        if ((uint64_t)step >= l->range[i].from && (uint64_t)step <= l->range[i].to)
            return true;
    return false;
}
