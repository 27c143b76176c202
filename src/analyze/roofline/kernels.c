/* kernels.c: slices with operations and bytes become rows. A slice is assigned by a sort of all of
 * them, so memory is one entry a slice that has the args. */
#include <stdlib.h>

#include "analyze/roofline/roofline.h"
#include "base/error.h"

struct entry {
    uint32_t name, impl, shapes, dtypes;
    uint64_t ns;
    double flops, bytes;
};
static double number_of(const struct plumb_table *t, uint32_t slice, uint32_t key)
{
    uint32_t arg = key == UINT32_MAX ? PLUMB_TABLE_NONE : plumb_table_arg(t, slice, key);
    double v = -1;
    if (arg == PLUMB_TABLE_NONE)
        return v;
    union plumb_table_number value = t->slice_args.value[arg];
    if (t->slice_args.type[arg] == PLUMB_ARG_I64)
        v = (double)value.i64;
    else if (t->slice_args.type[arg] == PLUMB_ARG_U64)
        v = (double)value.u64;
    else if (t->slice_args.type[arg] == PLUMB_ARG_F64)
        v = value.f64;
    return v >= 0 && v < 1e24 ? v : -1;
}

static uint32_t text_of(const struct plumb_table *t, uint32_t slice, uint32_t key)
{
    uint32_t arg = key == UINT32_MAX ? PLUMB_TABLE_NONE : plumb_table_arg(t, slice, key);
    return arg != PLUMB_TABLE_NONE && t->slice_args.type[arg] == PLUMB_ARG_TEXT
               ? (uint32_t)t->slice_args.value[arg].u64
               : 0;
}

struct plumb_kernel_args plumb_kernel_args_of(const struct plumb_table *t)
{
    const struct plumb_strings *s = &t->strings;
    return (struct plumb_kernel_args){
        plumb_strings_find(s, "flops"),  plumb_strings_find(s, "bytes"),
        plumb_strings_find(s, "impl"),   plumb_strings_find(s, "shapes"),
        plumb_strings_find(s, "dtypes"), plumb_strings_find(s, "dtype")};
}

bool plumb_kernel_figures(double *flops, double *bytes, const struct plumb_table *t,
                          const struct plumb_kernel_args *args, uint32_t slice)
{
    *flops = number_of(t, slice, args->flops);
    *bytes = number_of(t, slice, args->bytes);
    return *flops >= 0 || *bytes >= 0;
}

uint32_t plumb_kernel_types(const struct plumb_table *t, const struct plumb_kernel_args *args,
                            uint32_t slice)
{
    uint32_t dtypes = text_of(t, slice, args->dtypes);
    return dtypes ? dtypes : text_of(t, slice, args->dtype);
}

uint32_t plumb_kernel_shapes(const struct plumb_table *t, const struct plumb_kernel_args *args,
                             uint32_t slice)
{
    return text_of(t, slice, args->shapes);
}

#define ORDER(a, b, member)                                                                        \
    if ((a)->member != (b)->member)                                                                \
        return (a)->member < (b)->member ? -1 : 1;

static int by_key(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    bool flops[2] = {a->flops < 0, b->flops < 0}, bytes[2] = {a->bytes < 0, b->bytes < 0};
    ORDER(a, b, name)
    ORDER(a, b, impl)
    ORDER(a, b, shapes)
    ORDER(a, b, dtypes)
    if (flops[0] != flops[1])
        return flops[0] ? 1 : -1;
    return bytes[0] == bytes[1] ? 0 : bytes[0] ? 1 : -1;
}

static int by_total(const void *x, const void *y)
{
    const struct plumb_kernel_row *a = x, *b = y;
    if (a->of.total_ns != b->of.total_ns)
        return a->of.total_ns > b->of.total_ns ? -1 : 1;
    ORDER(a, b, name)
    ORDER(a, b, impl)
    ORDER(a, b, shapes)
    ORDER(a, b, dtypes)
    return 0;
}

static void add(struct plumb_kernel_rows *out, const struct plumb_table *t, const struct entry *e,
                bool begins)
{
    if (begins) {
        struct plumb_kernel_row row = {.name = e->name,
                                       .impl = e->impl,
                                       .shapes = e->shapes,
                                       .dtypes = e->dtypes,
                                       .min_ns = UINT64_MAX};
        row.of.type = plumb_first_type(plumb_table_text(t, e->dtypes));
        row.of.flops = e->flops < 0 ? -1 : 0;
        row.of.bytes = e->bytes < 0 ? -1 : 0;
        out->rows[out->count++] = row;
    }
    struct plumb_kernel_row *row = &out->rows[out->count - 1];
    row->of.count++;
    row->of.total_ns += e->ns;
    row->of.flops += e->flops < 0 ? 0 : e->flops;
    row->of.bytes += e->bytes < 0 ? 0 : e->bytes;
    row->min_ns = e->ns < row->min_ns ? e->ns : row->min_ns;
    row->max_ns = e->ns > row->max_ns ? e->ns : row->max_ns;
}

/* Fills `entries`, NULL: counts. */
static size_t collect(struct entry *entries, const struct plumb_table *t,
                      const struct plumb_kernel_args *k, uint64_t *left_out)
{
    size_t n = 0;
    *left_out = 0;
    for (uint32_t i = 0; i < t->slices.count; i++) {
        double flops, bytes;
        if (!plumb_kernel_figures(&flops, &bytes, t, k, i))
            continue;
        if (t->slices.flags[i] & PLUMB_SLICE_NO_SAMPLE) {
            ++*left_out;
            continue;
        }
        if (entries) {
            entries[n] = (struct entry){t->slices.name[i],
                                        text_of(t, i, k->impl),
                                        plumb_kernel_shapes(t, k, i),
                                        plumb_kernel_types(t, k, i),
                                        t->slices.dur_ns[i],
                                        flops,
                                        bytes};
        }
        n++;
    }
    return n;
}

int plumb_kernel_rows_init(struct plumb_kernel_rows *out, const struct plumb_table *t,
                           plumb_error *err)
{
    struct plumb_kernel_args k = plumb_kernel_args_of(t);
    struct plumb_kernel_rows rows = {0};
    size_t n = collect(NULL, t, &k, &rows.left_out);
    struct entry *entries = malloc((n + 1) * sizeof *entries);
    rows.rows = malloc((n + 1) * sizeof *rows.rows);
    if (!entries || !rows.rows) {
        free(entries);
        free(rows.rows);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the kernels of a trace");
    }
    collect(entries, t, &k, &rows.left_out);
    qsort(entries, n, sizeof *entries, by_key);
    for (size_t i = 0; i < n; i++)
        add(&rows, t, &entries[i], i == 0 || by_key(&entries[i - 1], &entries[i]) != 0);
    qsort(rows.rows, rows.count, sizeof *rows.rows, by_total);
    free(entries);
    *out = rows;
    return PLUMB_OK;
}

void plumb_kernel_rows_fini(struct plumb_kernel_rows *rows)
{
    free(rows->rows);
    rows->rows = NULL;
}
