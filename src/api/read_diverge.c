/* read_diverge.c: the first divergence of the public interface: reads both sides, has them
 * compared, renders the outcome. Any thread, one divergence at a time. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "api/read_recording.h"
#include "api/take.h"
#include "base/arena.h"
#include "base/error.h"
#include "read/activation/read.h"
#include "report/diverge/view.h"

struct plumb_divergence {
    struct plumb_activations tables[2];
    struct plumb_rename rename;
    struct plumb_diverge diverge;
    struct plumb_arena arena;
    const char *labels[2];
};

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a comparison of activations");
}

/* As the analysis has them: below 0 is the default. */
static double tolerance_of(double option)
{
    return option == 0 ? -1 : option < 0 ? 0 : option;
}

static int open_sides(struct plumb_divergence *p, const char *a, const char *b,
                      const plumb_divergence_options *o, plumb_error *err)
{
    int rc;
    if (o->expect > PLUMB_DIVERGENCE_EXPECT_CLOSE || o->only > PLUMB_DIVERGENCE_MAPPED)
        return plumb_fail(err, PLUMB_ERR_ARG, "options of a divergence that are unknown here");
    for (uint64_t i = 0; i < o->map_count; i++)
        if ((rc = plumb_rename_add(&p->rename, o->maps[i], err)) < 0)
            return rc;
    if ((rc = plumb_read_recording(&p->tables[PLUMB_DIVERGE_A], a, err)) < 0 ||
        (rc = plumb_read_recording(&p->tables[PLUMB_DIVERGE_B], b, err)) < 0)
        return rc;
    struct plumb_diverge_options options = {.relative = tolerance_of(o->relative),
                                            .absolute = tolerance_of(o->absolute),
                                            .rename = o->map_count > 0 ? &p->rename : NULL,
                                            .expect = (enum plumb_diverge_expect)o->expect,
                                            .only = (enum plumb_diverge_only)o->only};
    plumb_diverge_init(&p->diverge, &p->tables[PLUMB_DIVERGE_A], &p->tables[PLUMB_DIVERGE_B],
                       &options);
    return plumb_diverge_run(&p->diverge, err);
}

int plumb_divergence_open(plumb_divergence **out, const char *a, const char *b,
                          const plumb_divergence_options *options, plumb_error *err)
{
    plumb_divergence_options o = plumb_divergence_options_default();
    int rc = plumb_take(&o, sizeof o, options, err);
    struct plumb_divergence *p = rc == PLUMB_OK ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return rc < 0 ? rc : no_memory(err);
    plumb_activations_init(&p->tables[PLUMB_DIVERGE_A]);
    plumb_activations_init(&p->tables[PLUMB_DIVERGE_B]);
    plumb_rename_init(&p->rename);
    p->labels[PLUMB_DIVERGE_A] = plumb_arena_strdup(&p->arena, a);
    p->labels[PLUMB_DIVERGE_B] = plumb_arena_strdup(&p->arena, b);
    rc = p->arena.failed ? no_memory(err) : open_sides(p, a, b, &o, err);
    if (rc < 0) {
        plumb_divergence_close(p);
        return rc;
    }
    *out = p;
    return PLUMB_OK;
}

void plumb_divergence_close(plumb_divergence *p)
{
    if (!p)
        return;
    plumb_diverge_fini(&p->diverge);
    plumb_rename_fini(&p->rename);
    plumb_activations_fini(&p->tables[PLUMB_DIVERGE_A]);
    plumb_activations_fini(&p->tables[PLUMB_DIVERGE_B]);
    plumb_arena_fini(&p->arena);
    free(p);
}

void plumb_divergence_summary(plumb_divergence_result *out, const plumb_divergence *p)
{
    const struct plumb_diverge *d = &p->diverge;
    plumb_divergence_result result = {.size = out->size < sizeof result ? out->size : sizeof result,
                                      .diverged = d->culprit.kind != PLUMB_DIVERGE_SAME,
                                      .compared = d->pairs,
                                      .only_a = d->sides[PLUMB_DIVERGE_A].unmatched,
                                      .only_b = d->sides[PLUMB_DIVERGE_B].unmatched};
    memcpy(out, &result, result.size);
}

int plumb_divergence_render(char **out, plumb_divergence *p, const plumb_divergence_view *view,
                            plumb_error *err)
{
    plumb_divergence_view v = plumb_divergence_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&v, sizeof v, view, err);
    if (rc < 0)
        return rc;
    struct plumb_diverge_sheet sheet = {.d = &p->diverge, .view = &v, .labels = p->labels};
    rc = plumb_diverge_render(&text, &sheet, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
