/* json.c: peaks and kernels as JSON. */
#include "codec/json_write.h"
#include "report/roofline/parts.h"

static void put_real(struct plumb_json *j, const char *key, double value)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, value); /* NaN becomes null */
}

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text && *text ? text : NULL);
}

static void put_peak(struct plumb_json *j, const char *key, const struct plumb_peak *p)
{
    plumb_json_key(j, key);
    plumb_json_object_inline(j);
    for (int i = 0; i < PLUMB_PEAK_SPANS; i++) {
        plumb_json_key(j, i ? "all_cores" : "one_core");
        if (p[i].rate > 0)
            plumb_json_f64(j, p[i].rate);
        else
            plumb_json_null(j);
        plumb_json_key(j, i ? "all_cores_spread" : "one_core_spread");
        plumb_json_fixed(j, p[i].spread, 4);
    }
    put_text(j, "loop", p[PLUMB_PEAK_ALL].how);
    plumb_json_object_end(j);
}

static void put_peaks(struct plumb_json *j, const struct plumb_roofline_view *v)
{
    const struct plumb_peaks *p = v->peaks;
    plumb_json_key(j, "peaks");
    plumb_json_object(j);
    put_text(j, "cpu", p->cpu);
    put_text(j, "measured", p->date);
    put_text(j, "file", v->peaks_path);
    plumb_json_key(j, "cores");
    plumb_json_i64(j, p->cores);
    put_peak(j, "memory_bytes_per_s", p->bandwidth);
    plumb_json_key(j, "operations_per_s");
    plumb_json_object(j);
    for (int i = 0; i < PLUMB_PEAK_TYPES; i++)
        put_peak(j, plumb_peak_type_name((enum plumb_peak_type)i), p->compute[i]);
    plumb_json_object_end(j);
    plumb_json_object_end(j);
}

static void put_kernel(struct plumb_json *j, const struct plumb_roofline_view *v,
                       const struct plumb_kernel_row *row)
{
    struct plumb_roof r = plumb_roof_of(&row->of, v->peaks, v->span);
    struct plumb_buf evidence = {0};
    plumb_roofline_evidence(&evidence, &r, &row->of);
    plumb_roofline_kernel_counters(&evidence, v, plumb_table_text(v->t, row->name));
    plumb_json_object(j);
    put_text(j, "kernel", plumb_table_text(v->t, row->name));
    put_text(j, "impl", plumb_table_text(v->t, row->impl));
    put_text(j, "shapes", plumb_table_text(v->t, row->shapes));
    put_text(j, "dtypes", plumb_table_text(v->t, row->dtypes));
    plumb_json_key(j, "count");
    plumb_json_i64(j, (int64_t)row->of.count);
    plumb_json_key(j, "total_ns");
    plumb_json_i64(j, (int64_t)row->of.total_ns);
    plumb_json_key(j, "min_ns");
    plumb_json_i64(j, (int64_t)row->min_ns);
    plumb_json_key(j, "max_ns");
    plumb_json_i64(j, (int64_t)row->max_ns);
    put_real(j, "flop_per_s", r.flops_rate);
    put_real(j, "peak_flop_per_s", r.peak_flops);
    put_real(j, "compute_share", r.compute_share);
    put_real(j, "bytes_per_s", r.bytes_rate);
    put_real(j, "peak_bytes_per_s", r.peak_bytes);
    put_real(j, "memory_share", r.memory_share);
    put_real(j, "flop_per_byte", r.intensity);
    put_real(j, "ridge_flop_per_byte", r.ridge);
    put_text(j, "verdict", plumb_roof_verdict_name(r.verdict));
    put_text(j, "evidence", evidence.data);
    plumb_json_object_end(j);
    j->out->failed |= evidence.failed;
    plumb_buf_fini(&evidence);
}

void plumb_roofline_json(struct plumb_buf *out, const struct plumb_roofline_page *p)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    put_text(&j, "format", "plumb.deep.1");
    if (p->v->peaks)
        put_peaks(&j, p->v);
    if (p->v->t) {
        put_text(&j, "trace", p->v->path);
        put_text(&j, "roofs_of", p->v->span == PLUMB_PEAK_ALL ? "all_cores" : "one_core");
        plumb_json_key(&j, "left_out");
        plumb_json_i64(&j, (int64_t)p->kernels.left_out);
        plumb_json_key(&j, "kernels");
        plumb_json_array(&j);
        for (size_t i = 0; i < p->shown; i++)
            put_kernel(&j, p->v, &p->kernels.rows[i]);
        plumb_json_array_end(&j);
    }
    if (plumb_roofline_has_counters(p->v)) {
        put_text(&j, "run", p->v->run);
        plumb_roofline_counters_json(&j, p->v);
    }
    plumb_json_object_end(&j);
}
