/* rows.c: kernels and operators by name, shape, stage or step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel/kernels.h"
#include "base/error.h"
#include "read/trace/ids.h"

static const uint32_t DIFFERS = UINT32_MAX; /* too large for an enumerator of C11 */

/* Keys of args, or UINT32_MAX. Args of nested values have keys such as "grid[0]". */
struct keys {
    uint32_t grid, shapes, types;
    uint32_t grids[3], blocks[3];
};
struct rowing {
    const struct plumb_kernels *k;
    enum plumb_kernels_by by;
    struct plumb_own_rows *out;
    size_t cap;
    struct keys keys;
    uint8_t *prefix;          /* of each text: enum prefix */
    struct plumb_ids step_of; /* step -> its number + 1 */
    uint32_t steps;
    struct plumb_ids groups; /* (name, group) -> number + 1 */
    uint32_t mark_name;      /* of one of the marks of steps, which are one row */
    uint32_t *row_of;        /* by slice: of operators, their row + 1 */
    struct plumb_buf text;
};
enum prefix { PREFIX_NONE, PREFIX_DIMS, PREFIX_TYPE, PREFIX_INPUT };

/* ---- Texts ---------------------------------------------------------------------------------- */

static void find_keys(struct rowing *g)
{
    const struct plumb_strings *s = &g->k->t->strings;
    char name[24];
    g->keys = (struct keys){.grid = plumb_strings_find(s, "grid"),
                            .shapes = plumb_strings_find(s, "shapes"),
                            .types = plumb_strings_find(s, "dtypes")};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "grid[%d]", i);
        g->keys.grids[i] = plumb_strings_find(s, name);
        snprintf(name, sizeof name, "block[%d]", i);
        g->keys.blocks[i] = plumb_strings_find(s, name);
    }
    for (uint32_t id = 0; id < s->count; id++) {
        const char *text = plumb_strings_get(s, id);
        g->prefix[id] = strncmp(text, "Input Dims[", 11) == 0   ? PREFIX_DIMS
                        : strncmp(text, "Input type[", 11) == 0 ? PREFIX_TYPE
                        : strncmp(text, "input.", 6) == 0       ? PREFIX_INPUT
                                                                : PREFIX_NONE;
    }
}

static uint32_t intern(struct rowing *g)
{
    uint32_t id = g->text.len ? plumb_strings_put(&g->out->texts, g->text.data, g->text.len) : 0;
    g->text.len = 0;
    return id;
}

/* The text of an arg, appended. */
static bool put_arg(struct rowing *g, uint32_t slice, uint32_t key)
{
    const struct plumb_table *t = g->k->t;
    uint32_t arg = key == UINT32_MAX ? PLUMB_TABLE_NONE : plumb_table_arg(t, slice, key);
    if (arg == PLUMB_TABLE_NONE)
        return false;
    plumb_table_put_value(&g->text, t, t->slice_args.type[arg], t->slice_args.value[arg]);
    return true;
}

/* "8x1x1/256x1x1": the groups of threads and the threads of one, as the tool of the trace has them.
 */
static uint32_t grid_of(struct rowing *g, uint32_t slice)
{
    if (put_arg(g, slice, g->keys.grid))
        return intern(g);
    for (int i = 0; i < 3; i++) {
        if (i > 0 && g->text.len > 0)
            plumb_buf_char(&g->text, 'x');
        put_arg(g, slice, g->keys.grids[i]);
    }
    if (g->text.len > 0 && g->keys.blocks[0] != UINT32_MAX)
        for (int i = 0; i < 3; i++) {
            plumb_buf_char(&g->text, i > 0 ? 'x' : '/');
            put_arg(g, slice, g->keys.blocks[i]);
        }
    return intern(g);
}

/* The number between the brackets that follow the first `skip` ones; -1: none. */
static long index_in(const char *key, int skip)
{
    for (const char *p = strchr(key, '['); p; p = strchr(p + 1, '['))
        if (skip-- == 0)
            return strtol(p + 1, NULL, 10);
    return -1;
}

/* "[1,512] [512,30]" of args "Input Dims[0][1]"; of plumb's args "input.x" their texts. */
static void put_dims(struct rowing *g, uint32_t slice)
{
    const struct plumb_table *t = g->k->t;
    const struct plumb_table_args *args = &t->slice_args;
    long tensor = -1;
    for (uint32_t i = t->slices.args[slice]; i < t->slices.args[slice + 1]; i++) {
        const char *key = plumb_table_text(t, args->key[i]);
        if (g->prefix[args->key[i]] == PREFIX_INPUT && args->type[i] == PLUMB_ARG_TEXT) {
            plumb_buf_str(&g->text, g->text.len ? " " : "");
            plumb_table_put_value(&g->text, t, args->type[i], args->value[i]);
        }
        if (g->prefix[args->key[i]] != PREFIX_DIMS || args->type[i] > PLUMB_ARG_U64)
            continue;
        long at = index_in(key, 0);
        plumb_buf_str(&g->text, at == tensor ? "," : tensor < 0 ? "[" : "] [");
        plumb_buf_printf(&g->text, "%" PRId64, args->value[i].i64);
        tensor = at;
    }
    if (tensor >= 0)
        plumb_buf_char(&g->text, ']');
}

/* Of the slice itself, and of a kernel otherwise those of the operator that launched it, or of the
 * one around that: calls of a driver have none. */
static uint32_t shape_of(struct rowing *g, uint32_t slice)
{
    uint32_t at = slice;
    if (put_arg(g, slice, g->keys.shapes))
        return intern(g);
    put_dims(g, slice);
    if (plumb_kernels_is(g->k, slice))
        for (at = g->k->launch[slice]; at != PLUMB_TABLE_NONE && g->text.len == 0;
             at = g->k->t->slices.parent[at])
            put_dims(g, at);
    return intern(g);
}

static uint32_t types_of(struct rowing *g, uint32_t slice)
{
    const struct plumb_table *t = g->k->t;
    uint32_t at = slice;
    if (put_arg(g, slice, g->keys.types))
        return intern(g);
    if (plumb_kernels_is(g->k, slice))
        at = g->k->launch[slice];
    for (; at != PLUMB_TABLE_NONE && g->text.len == 0; at = t->slices.parent[at])
        for (uint32_t i = t->slices.args[at]; i < t->slices.args[at + 1]; i++) {
            uint8_t prefix = g->prefix[t->slice_args.key[i]];
            if ((prefix != PREFIX_TYPE && prefix != PREFIX_INPUT) ||
                t->slice_args.type[i] != PLUMB_ARG_TEXT)
                continue;
            plumb_buf_str(&g->text, g->text.len ? " " : "");
            plumb_table_put_value(&g->text, t, t->slice_args.type[i], t->slice_args.value[i]);
        }
    return intern(g);
}

static uint32_t stage_of(struct rowing *g, uint32_t slice)
{
    uint32_t stage = plumb_kernels_stage(g->k, slice);
    if (stage == PLUMB_TABLE_NONE)
        return 0;
    const char *name = plumb_table_text(g->k->t, g->k->t->slices.name[stage]);
    return plumb_strings_put(&g->out->texts, name, strlen(name));
}

/* ---- Groups --------------------------------------------------------------------------------- */

struct facts {
    uint32_t name, grid, shape, type, stage;
    bool mark, has_step;
    int64_t step;
};

static struct facts facts_of(struct rowing *g, uint32_t slice)
{
    struct facts f = {.name = g->k->t->slices.name[slice]};
    int64_t number;
    f.mark = plumb_step_is_mark(g->k->marks, f.name, &number);
    if (f.mark)
        f.name = g->mark_name = g->mark_name ? g->mark_name : f.name;
    f.has_step = plumb_kernels_step(g->k, slice, &f.step);
    f.stage = stage_of(g, slice);
    if (plumb_kernels_is(g->k, slice) || g->by == PLUMB_KERNELS_BY_SHAPE) {
        f.grid = grid_of(g, slice);
        f.shape = shape_of(g, slice);
        f.type = types_of(g, slice);
    }
    return f;
}

/* The part of a row's key that is not its name. */
static bool group_of(struct rowing *g, const struct facts *f, uint32_t *out)
{
    *out = 0;
    if (g->by == PLUMB_KERNELS_BY_SHAPE)
        *out = f->shape ? f->shape : f->grid;
    else if (g->by == PLUMB_KERNELS_BY_STAGE)
        *out = f->stage;
    else if (g->by == PLUMB_KERNELS_BY_STEP && f->has_step) {
        *out = plumb_ids_get(&g->step_of, (uint64_t)f->step);
        if (!*out && !plumb_ids_put(&g->step_of, (uint64_t)f->step, *out = ++g->steps))
            return false;
    }
    return true;
}

static struct plumb_own_row *add_row(struct rowing *g, const struct facts *f, uint8_t kind)
{
    struct plumb_own_rows *r = g->out;
    if (r->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        struct plumb_own_row *rows = realloc(r->rows, cap * sizeof *rows);
        if (!rows)
            return NULL;
        r->rows = rows;
        g->cap = cap;
    }
    r->rows[r->count] = (struct plumb_own_row){.name = f->name,
                                               .kind = kind,
                                               .mark = f->mark,
                                               .has_step = f->has_step,
                                               .grid = f->grid,
                                               .shape = f->shape,
                                               .type = f->type,
                                               .stage = f->stage,
                                               .step = f->step};
    return &r->rows[r->count++];
}

static void agree(uint32_t *held, uint32_t value)
{
    *held = *held == value ? value : DIFFERS;
}

static struct plumb_own_row *row_for(struct rowing *g, uint32_t slice)
{
    struct facts f = facts_of(g, slice);
    struct plumb_own_row *row;
    uint32_t group, place;
    if (!group_of(g, &f, &group))
        return NULL;
    /* Names have 29 bits. */
    uint64_t key =
        (uint64_t)f.name << 32 | group | (uint64_t)(g->k->where[slice] != PLUMB_KERNEL_HOST) << 63;
    if (!(place = plumb_ids_get(&g->groups, key))) {
        row = add_row(g, &f, g->k->kind[slice]);
        return row && plumb_ids_put(&g->groups, key, (uint32_t)g->out->count) ? row : NULL;
    }
    row = &g->out->rows[place - 1];
    agree(&row->grid, f.grid);
    agree(&row->shape, f.shape);
    agree(&row->type, f.type);
    agree(&row->stage, f.stage);
    row->has_step = row->has_step && f.has_step && row->step == f.step;
    return row;
}

static bool wanted(const struct rowing *g, uint32_t slice, bool ops)
{
    if (g->k->t->slices.flags[slice] & PLUMB_SLICE_NO_SAMPLE)
        return false;
    return ops ? g->k->kind[slice] == PLUMB_KERNEL_OP : plumb_kernels_is(g->k, slice);
}

static bool collect(struct rowing *g, bool ops)
{
    const struct plumb_kernels *k = g->k;
    for (uint32_t i = 0; i < k->t->slices.count; i++) {
        uint64_t ns = k->self_ns[i];
        if (!wanted(g, i, ops))
            continue;
        struct plumb_own_row *row = row_for(g, i);
        if (!row)
            return false;
        row->count++;
        row->ns += ns;
        row->total_ns += k->t->slices.dur_ns[i];
        row->max_ns = ns > row->max_ns ? ns : row->max_ns;
        row->host_ns += k->where[i] == PLUMB_KERNEL_HOST ? ns : 0;
        row->device_ns += k->where[i] != PLUMB_KERNEL_HOST ? ns : 0;
        row->cuda_ns += k->where[i] == PLUMB_KERNEL_CUDA ? ns : 0;
        g->out->ns += ns;
        g->out->calls++;
        if (ops)
            g->row_of[i] = (uint32_t)(row - g->out->rows) + 1;
    }
    return true;
}

/* Device time of operators: that of the kernels which they launched themselves. */
static void add_device_time(struct rowing *g)
{
    const struct plumb_kernels *k = g->k;
    for (uint32_t i = 0; i < k->t->slices.count; i++) {
        uint32_t launch = k->launch[i];
        if (!wanted(g, i, false) || k->where[i] == PLUMB_KERNEL_HOST ||
            launch == PLUMB_TABLE_NONE || !g->row_of[launch])
            continue;
        struct plumb_own_row *row = &g->out->rows[g->row_of[launch] - 1];
        row->device_ns += k->self_ns[i];
        row->cuda_ns += k->where[i] == PLUMB_KERNEL_CUDA ? k->self_ns[i] : 0;
    }
}

/* ---- Order ---------------------------------------------------------------------------------- */

static int by_own_time(const void *a, const void *b)
{
    const struct plumb_own_row *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->shape != y->shape)
        return x->shape < y->shape ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static void settle(struct plumb_own_rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct plumb_own_row *row = &r->rows[i];
        uint32_t *const texts[] = {&row->grid, &row->shape, &row->type, &row->stage};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            *texts[k] = *texts[k] == DIFFERS ? 0 : *texts[k];
    }
    if (r->count > 0)
        qsort(r->rows, r->count, sizeof *r->rows, by_own_time);
}

int plumb_own_rows_init(struct plumb_own_rows *out, const struct plumb_kernels *k,
                        enum plumb_kernels_by by, bool ops, plumb_error *err)
{
    struct plumb_own_rows r = {.k = k};
    struct rowing g = {.k = k, .by = by, .out = &r};
    plumb_strings_put(&r.texts, "", 0);
    g.prefix = calloc(k->t->strings.count + (size_t)1, 1);
    g.row_of = calloc(k->t->slices.count + (size_t)1, sizeof *g.row_of);
    bool done = g.prefix && g.row_of;
    if (done) {
        find_keys(&g);
        done = collect(&g, ops);
    }
    if (done && ops)
        add_device_time(&g);
    if (done)
        settle(&r);
    done = done && !r.texts.text.failed && !g.text.failed;
    plumb_ids_fini(&g.step_of);
    plumb_ids_fini(&g.groups);
    plumb_buf_fini(&g.text);
    free(g.prefix);
    free(g.row_of);
    if (!done) {
        plumb_own_rows_fini(&r);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the kernels of a trace");
    }
    *out = r;
    return PLUMB_OK;
}

void plumb_own_rows_fini(struct plumb_own_rows *r)
{
    free(r->rows);
    plumb_strings_fini(&r->texts);
    *r = (struct plumb_own_rows){.k = NULL};
}

const char *plumb_own_rows_text(const struct plumb_own_rows *r, uint32_t id)
{
    return id ? plumb_strings_get(&r->texts, id) : NULL;
}
