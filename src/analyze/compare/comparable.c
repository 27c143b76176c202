/* comparable.c: whether runs may be compared. A difference of machine, program or settings explains
 * a change of time by itself, so it is refused unless the user says that it is meant. Each fact is
 * a line of the table below. No state. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "base/error.h"

struct fact {
    const char *name;
    uint32_t allow; /* enum plumb_allow */
    bool text;      /* else uint64_t */
    size_t offset;  /* in struct plumb_compare_run: what must agree */
    size_t shown;   /* what stands in its place in a message */
};

#define MEMBER(member) offsetof(struct plumb_compare_run, member)
#define FACT(member) MEMBER(member), MEMBER(member)

static const struct fact facts[] = {
    {"host", PLUMB_ALLOW_MACHINE, true, FACT(host)},
    {"processor", PLUMB_ALLOW_MACHINE, true, FACT(cpu)},
    {"number of processors", PLUMB_ALLOW_MACHINE, false, FACT(cpus)},
    {"pipeline", PLUMB_ALLOW_PROGRAM, true, MEMBER(named), MEMBER(pipeline)},
    {"skip_first_n", PLUMB_ALLOW_SKIP, false, FACT(skip_first_n)},
    {"end of the run", PLUMB_ALLOW_STATE, true, FACT(state)},
    {"schema of the report", PLUMB_ALLOW_SCHEMA, false, FACT(schema)},
};
enum { FACTS = sizeof facts / sizeof *facts };

struct option {
    uint32_t allow;
    const char *name;
};
static const struct option insisting[] = {
    {PLUMB_ALLOW_MACHINE, "--any-machine"}, {PLUMB_ALLOW_PROGRAM, "--any-program"},
    {PLUMB_ALLOW_SKIP, "--any-skip"},       {PLUMB_ALLOW_STATE, "--any-end"},
    {PLUMB_ALLOW_SCHEMA, "--force"},
};

static const char *text_at(const struct plumb_compare_run *run, size_t offset)
{
    const char *text;
    memcpy(&text, (const char *)run + offset, sizeof text);
    return text;
}

static uint64_t number_of(const struct fact *f, const struct plumb_compare_run *run)
{
    uint64_t number;
    memcpy(&number, (const char *)run + f->offset, sizeof number);
    return number;
}

/* Pipelines agree if they have the same name, or if both have that of their program. */
static bool differs(const struct fact *f, const struct plumb_compare_run *a,
                    const struct plumb_compare_run *b)
{
    if (!f->text)
        return number_of(f, a) != number_of(f, b);
    return strcmp(text_at(a, f->offset), text_at(b, f->offset)) != 0 &&
           strcmp(text_at(a, f->shown), text_at(b, f->shown)) != 0;
}

/* The first run that differs from run 0 in the fact; 0: none. */
static size_t first_other(const struct plumb_compare *c, const struct fact *f)
{
    for (size_t i = 1; i < c->added; i++)
        if (differs(f, &c->runs[0], &c->runs[i]))
            return i;
    return 0;
}

size_t plumb_compare_differences(const struct plumb_compare *c, uint32_t allow,
                                 struct plumb_buf *out)
{
    size_t n = 0;
    for (size_t k = 0; k < FACTS; k++) {
        const struct fact *f = &facts[k];
        size_t other = first_other(c, f);
        if (other == 0 || !(f->allow & allow))
            continue;
        const struct plumb_compare_run *a = &c->runs[0];
        const struct plumb_compare_run *b = &c->runs[other];
        plumb_buf_str(out, n++ ? ", " : "");
        if (f->text)
            plumb_buf_printf(out, "%s '%s' and '%s'", f->name, text_at(a, f->shown),
                             text_at(b, f->shown));
        else
            plumb_buf_printf(out, "%s %" PRIu64 " and %" PRIu64, f->name, number_of(f, a),
                             number_of(f, b));
    }
    return n;
}

/* "--any-machine --any-skip" */
static void put_options(struct plumb_buf *out, uint32_t classes)
{
    const char *space = "";
    for (size_t i = 0; i < sizeof insisting / sizeof *insisting; i++)
        if (insisting[i].allow & classes) {
            plumb_buf_printf(out, "%s%s", space, insisting[i].name);
            space = " ";
        }
}

/* One run given twice does not count as a repeat: it would make any difference look certain. */
static int check_twice(const struct plumb_compare *c, plumb_error *err)
{
    for (size_t i = 0; i < c->added; i++)
        for (size_t k = 0; k < i; k++) {
            const struct plumb_compare_run *x = &c->runs[i];
            const struct plumb_compare_run *y = &c->runs[k];
            if (plumb_compare_side(c, i) == plumb_compare_side(c, k) &&
                x->start_unix_ns == y->start_unix_ns && x->pid == y->pid &&
                strcmp(x->host, y->host) == 0)
                return plumb_fail(err, PLUMB_ERR_ARG,
                                  "'%s' and '%s' are the same run: a repeat is a run of its own",
                                  y->path, x->path);
        }
    return PLUMB_OK;
}

static bool has_samples(const struct plumb_compare *c, const struct plumb_compare_line *line,
                        enum plumb_side side)
{
    for (size_t i = 0; i < c->added; i++)
        if (plumb_compare_side(c, i) == side && line->samples[i].present)
            return true;
    return false;
}

/* Two programs with no node in common: a table of missing and of new nodes compares nothing. */
static int check_common(const struct plumb_compare *c, plumb_error *err)
{
    const char *program = c->runs[0].program;
    size_t other = 0;
    for (size_t i = 0; i < c->nodes.count; i++)
        if (has_samples(c, &c->nodes.lines[i], PLUMB_SIDE_A) &&
            has_samples(c, &c->nodes.lines[i], PLUMB_SIDE_B))
            return PLUMB_OK;
    for (size_t i = 1; i < c->added && other == 0; i++)
        other = strcmp(c->runs[i].program, program) != 0 ? i : 0;
    if (other == 0 || (c->options.allow & PLUMB_ALLOW_PROGRAM))
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_STATE,
                      "not comparable: programs '%s' and '%s' have no node in common "
                      "(--any-program to compare all the same)",
                      program, c->runs[other].program);
}

int plumb_compare_check(struct plumb_compare *c, plumb_error *err)
{
    struct plumb_buf what = {0};
    struct plumb_buf how = {0};
    uint32_t differing = 0;
    int rc = check_twice(c, err);
    for (size_t k = 0; k < FACTS; k++)
        if (first_other(c, &facts[k]) > 0)
            differing |= facts[k].allow;
    uint32_t refused = differing & ~c->options.allow;
    if (rc == PLUMB_OK && refused) {
        plumb_compare_differences(c, refused, &what);
        put_options(&how, refused);
        rc = plumb_fail(err, PLUMB_ERR_STATE, "not comparable: %s (%s to compare all the same)",
                        what.data ? what.data : "", how.data ? how.data : "");
    }
    c->overridden = differing & c->options.allow;
    if (rc == PLUMB_OK)
        rc = check_common(c, err);
    plumb_buf_fini(&what);
    plumb_buf_fini(&how);
    return rc;
}
