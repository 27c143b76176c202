/* step_list.c: see step_list.h. */
#include "config/step_list.h"

#include <string.h>

#include "base/error.h"

/* Bytes of a list, and of its bad entry, that an error shows. */
enum { LIST_SHOWN = 100, ENTRY_SHOWN = 40 };

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Moves `p` past a step and the blanks around it. Returns false if there is none, or if it is too
 * large. */
static bool read_step(const char **p, int64_t *out)
{
    int64_t value = 0;
    const char *at = skip_blanks(*p);
    size_t digits = strspn(at, "0123456789");
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, at[i] - '0', &value))
            return false;
    *p = skip_blanks(at + digits);
    *out = value;
    return digits > 0;
}

/* Reads the entry at `*p` and moves to its comma, or to the end. Returns what is wrong with it. */
static const char *read_entry(const char **p, struct plumb_step_list *l)
{
    int64_t from, to;
    if (!read_step(p, &from))
        return "is not a step or a range of steps";
    to = from;
    if (**p == '-') {
        ++*p;
        if (!read_step(p, &to))
            return "is not a step or a range of steps";
    }
    if (**p && **p != ',')
        return "is not a step or a range of steps";
    if (to < from)
        return "goes backwards";
    if (l->count == PLUMB_STEP_RANGES)
        return "is one entry too many";
    l->range[l->count].from = from;
    l->range[l->count++].to = to;
    return NULL;
}

static int refuse(const char *text, const char *entry, const char *wrong, plumb_error *err)
{
    size_t n = strcspn(entry, ",");
    return plumb_fail(err, PLUMB_ERR_ARG, "'%.*s' is not a list of steps, as 0,5-9: '%.*s' %s",
                      LIST_SHOWN, text, n < ENTRY_SHOWN ? (int)n : ENTRY_SHOWN, entry, wrong);
}

int plumb_step_list_parse(struct plumb_step_list *out, const char *text, plumb_error *err)
{
    struct plumb_step_list l = {.count = 0};
    const char *p = skip_blanks(text);
    while (*p) {
        const char *entry = p, *wrong = read_entry(&p, &l);
        if (wrong)
            return refuse(text, entry, wrong, err);
        p = skip_blanks(p + (*p == ','));
    }
    *out = l;
    return PLUMB_OK;
}

bool plumb_step_list_has(const struct plumb_step_list *l, int64_t step)
{
    for (uint32_t i = 0; step >= 0 && i < l->count; i++)
        if (step >= l->range[i].from && step <= l->range[i].to)
            return true;
    return l->count == 0;
}
