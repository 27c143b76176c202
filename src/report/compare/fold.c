/* fold.c: one line of a table for the nodes that differ in a number alone (summary/fold_nodes.h)
 * and that are not marked. Verdicts are those of the nodes: nodes that are compared as one are
 * folded before they get here. No state. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/sample.h"
#include "base/error.h"
#include "report/compare/view.h"
#include "summary/cells.h"
#include "summary/fold_nodes.h"

enum { MOST_LISTED = 8 };

struct folding {
    struct plumb_compare_sheet *sheet;
    struct plumb_fold_names names;
    const char **name;   /* of each line, folded; NULL: it stays as it is */
    size_t *fold_of;     /* of each line, in s->folds, plus 1 */
    size_t *head, *next; /* the members of each fold and the line after each, plus 1 */
    struct plumb_map by_name;
    double *values; /* of members, to find their median */
};

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a comparison");
}

static const char *pipeline_of(const struct plumb_compare_line *line)
{
    return line->own ? "" : line->pipeline;
}

static bool may_fold(const struct plumb_compare_line *line)
{
    return line->main.verdict == PLUMB_VERDICT_SAME && isfinite(line->main.percent) &&
           plumb_compare_has(line, PLUMB_SIDE_A) && plumb_compare_has(line, PLUMB_SIDE_B);
}

static int find_names(struct folding *f)
{
    struct plumb_compare_sheet *s = f->sheet;
    for (size_t i = 0; i < s->shown; i++)
        if (plumb_fold_names_add(&f->names, pipeline_of(s->nodes[i]), s->nodes[i]->phase,
                                 s->nodes[i]->name) < 0)
            return PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < s->shown; i++) {
        const struct plumb_compare_line *line = s->nodes[i];
        if (!may_fold(line))
            continue;
        f->name[i] =
            plumb_fold_name(&f->names, &s->arena, pipeline_of(line), line->phase, line->name);
        if (!f->name[i])
            return PLUMB_ERR_MEMORY;
        if (f->name[i] == line->name)
            f->name[i] = NULL;
    }
    return PLUMB_OK;
}

static bool is_of(const struct plumb_compare_fold *fold, const struct plumb_compare_line *line,
                  const char *name)
{
    return strcmp(fold->line.name, name) == 0 && strcmp(fold->line.phase, line->phase) == 0 &&
           strcmp(pipeline_of(&fold->line), pipeline_of(line)) == 0;
}

/* Returns the place of the line's fold in s->folds, plus 1; adds the fold if it is new. 0: out of
 * memory. */
static size_t fold_of(struct folding *f, const struct plumb_compare_line *line, const char *name)
{
    struct plumb_compare_sheet *s = f->sheet;
    uint64_t hash = plumb_hash_text(name) * 31 + plumb_hash_text(line->phase);
    size_t known;
    for (hash = hash * 31 + plumb_hash_text(pipeline_of(line));; hash++) {
        hash += hash == 0;
        known = (size_t)plumb_map_get(&f->by_name, hash);
        if (!known)
            break;
        if (is_of(&s->folds[known - 1], line, name))
            return known;
    }
    struct plumb_compare_fold *fold = &s->folds[s->fold_count];
    *fold = (struct plumb_compare_fold){.line = *line, .least = line, .most = line};
    fold->line.name = name;
    return plumb_map_put(&f->by_name, hash, s->fold_count + 1) < 0 ? 0 : ++s->fold_count;
}

static int gather(struct folding *f)
{
    struct plumb_compare_sheet *s = f->sheet;
    for (size_t i = 0; i < s->shown; i++) {
        if (!f->name[i])
            continue;
        if (!(f->fold_of[i] = fold_of(f, s->nodes[i], f->name[i])))
            return PLUMB_ERR_MEMORY;
        struct plumb_compare_fold *fold = &s->folds[f->fold_of[i] - 1];
        const struct plumb_compare_line *line = s->nodes[i];
        fold->members++;
        f->next[i] = f->head[f->fold_of[i] - 1];
        f->head[f->fold_of[i] - 1] = i + 1;
        fold->least = line->main.percent < fold->least->main.percent ? line : fold->least;
        fold->most = line->main.percent > fold->most->main.percent ? line : fold->most;
    }
    return PLUMB_OK;
}

typedef double (*figure)(const struct plumb_compare_line *line);

static double main_a(const struct plumb_compare_line *line)
{
    return line->main.a;
}

static double main_b(const struct plumb_compare_line *line)
{
    return line->main.b;
}

static double p50_a(const struct plumb_compare_line *line)
{
    return line->p50.a;
}

static double p50_b(const struct plumb_compare_line *line)
{
    return line->p50.b;
}

static double p95_a(const struct plumb_compare_line *line)
{
    return line->p95.a;
}

static double p95_b(const struct plumb_compare_line *line)
{
    return line->p95.b;
}

static double count_a(const struct plumb_compare_line *line)
{
    return line->count[PLUMB_SIDE_A];
}

static double count_b(const struct plumb_compare_line *line)
{
    return line->count[PLUMB_SIDE_B];
}

static double median_of(struct folding *f, size_t fold, figure number)
{
    struct plumb_compare_sheet *s = f->sheet;
    size_t n = 0;
    for (size_t i = f->head[fold]; i > 0; i = f->next[i - 1])
        f->values[n++] = number(s->nodes[i - 1]);
    plumb_sample_sort(f->values, n);
    return plumb_sample_median(f->values, n);
}

static struct plumb_contrast contrast(double a, double b)
{
    double percent = a > 0 ? 100 * (b - a) / a : 0;
    return (struct plumb_contrast){.a = a, .b = b, .delta = b - a, .percent = percent};
}

static void settle(struct folding *f, size_t i)
{
    struct plumb_compare_line *line = &f->sheet->folds[i].line;
    line->main = contrast(median_of(f, i, main_a), median_of(f, i, main_b));
    line->p50 = contrast(median_of(f, i, p50_a), median_of(f, i, p50_b));
    line->p95 = contrast(median_of(f, i, p95_a), median_of(f, i, p95_b));
    line->count[PLUMB_SIDE_A] = median_of(f, i, count_a);
    line->count[PLUMB_SIDE_B] = median_of(f, i, count_b);
}

/* The fold stands where its first member stood. */
static void replace(struct folding *f)
{
    struct plumb_compare_sheet *s = f->sheet;
    size_t n = 0;
    for (size_t i = 0; i < s->shown; i++) {
        struct plumb_compare_fold *fold = f->fold_of[i] ? &s->folds[f->fold_of[i] - 1] : NULL;
        if (!fold || fold->members < 2)
            s->nodes[n++] = s->nodes[i];
        else if (fold->line.next != SIZE_MAX)
            s->nodes[n++] = &fold->line;
        if (fold)
            fold->line.next = SIZE_MAX;
    }
    s->shown = s->lines = n;
}

int plumb_compare_fold_lines(struct plumb_compare_sheet *s, plumb_error *err)
{
    struct folding f = {.sheet = s};
    size_t room = s->shown + 1;
    int rc = PLUMB_ERR_MEMORY;
    f.name = plumb_arena_alloc(&s->arena, room * sizeof *f.name);
    f.fold_of = plumb_arena_alloc(&s->arena, room * sizeof *f.fold_of);
    f.head = plumb_arena_alloc(&s->arena, room * sizeof *f.head);
    f.next = plumb_arena_alloc(&s->arena, room * sizeof *f.next);
    f.values = plumb_arena_alloc(&s->arena, room * sizeof *f.values);
    s->folds = plumb_arena_alloc(&s->arena, room * sizeof *s->folds);
    if (!s->arena.failed && find_names(&f) == PLUMB_OK && gather(&f) == PLUMB_OK) {
        for (size_t i = 0; i < s->fold_count; i++)
            settle(&f, i);
        replace(&f);
        rc = PLUMB_OK;
    }
    plumb_fold_names_fini(&f.names);
    plumb_map_fini(&f.by_name);
    return rc < 0 ? no_memory(err) : PLUMB_OK;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_member(struct plumb_buf *out, const struct plumb_compare_line *line,
                       void (*name)(struct plumb_buf *out, const char *text))
{
    plumb_compare_put_change(out, line->main.percent);
    plumb_buf_str(out, " % (");
    name(out, line->name);
    plumb_buf_char(out, ')');
}

void plumb_compare_put_folds(struct plumb_buf *out, const struct plumb_compare_sheet *s,
                             const char *start,
                             void (*name)(struct plumb_buf *out, const char *text))
{
    size_t lines = 0;
    size_t nodes = 0;
    for (size_t i = 0; i < s->fold_count; i++) {
        const struct plumb_compare_fold *fold = &s->folds[i];
        if (fold->members < 2)
            continue;
        nodes += fold->members;
        if (lines++ >= MOST_LISTED)
            continue;
        plumb_buf_printf(out, "%sFolded: ", start);
        name(out, fold->line.name);
        plumb_buf_printf(out, " is %zu unmarked nodes, ", fold->members);
        put_member(out, fold->least, name);
        plumb_buf_str(out, " to ");
        put_member(out, fold->most, name);
    }
    if (lines == 0)
        return;
    plumb_buf_printf(out,
                     "%sFolded: %zu unmarked nodes are shown as %zu, each with the median of its"
                     " members",
                     start, nodes, lines);
    if (lines > MOST_LISTED)
        plumb_buf_printf(out, " (%zu not listed)", lines - MOST_LISTED);
    plumb_buf_str(out, "; --fold=off shows each, --fold compares each as one");
}
