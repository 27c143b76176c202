/* json.c: a bench in the form of google/benchmark: `context`, and `benchmarks` with an entry for
 * each run and for each aggregate. Its readers ignore fields that they do not know: those of plumb
 * are in `plumb`. Its tools sum up real_time; cpu_time is not measured and repeats it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "codec/json_fields.h"
#include "report/bench/view.h"

enum { NAME = 300 };

static void put_context(struct plumb_json *j, const struct plumb_bench_view *v)
{
    char date[40] = "", host[256] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S+00:00", &tm);
    gethostname(host, sizeof host - 1);
    plumb_put_object(j, "context");
    plumb_put_text(j, "date", date);
    plumb_put_text(j, "host_name", host);
    plumb_put_text(j, "executable", v->facts->library);
    plumb_put_i64(j, "num_cpus", sysconf(_SC_NPROCESSORS_ONLN));
    plumb_put_text(j, "library_build_type", "release");
    plumb_json_object_end(j);
}

static void begin_entry(struct plumb_json *j, const char *name, const char *suffix,
                        const char *type, uint32_t repetitions)
{
    char full[NAME];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    plumb_json_object(j);
    plumb_put_text(j, "name", full);
    plumb_put_u64(j, "family_index", 0);
    plumb_put_u64(j, "per_family_instance_index", 0);
    plumb_put_text(j, "run_name", name);
    plumb_put_text(j, "run_type", type);
    plumb_put_u64(j, "repetitions", repetitions);
    plumb_put_u64(j, "threads", 1);
}

static void end_entry(struct plumb_json *j, uint64_t iterations, double ms)
{
    plumb_put_u64(j, "iterations", iterations);
    plumb_put_f64(j, "real_time", ms);
    plumb_put_f64(j, "cpu_time", ms);
    plumb_put_text(j, "time_unit", "ms");
    plumb_json_object_end(j);
}

static void put_aggregate(struct plumb_json *j, const char *name, const char *aggregate,
                          const plumb_bench_result *r, double ms)
{
    char suffix[32];
    if (isnan(ms))
        return;
    snprintf(suffix, sizeof suffix, "_%s", aggregate);
    begin_entry(j, name, suffix, "aggregate", r->runs);
    plumb_put_text(j, "aggregate_name", aggregate);
    plumb_put_text(j, "aggregate_unit", "time");
    end_entry(j, r->runs, ms);
}

static void put_benchmarks(struct plumb_json *j, const struct plumb_bench_view *v)
{
    const plumb_bench_result *r = v->result;
    const char *name = v->facts->stage;
    plumb_put_array(j, "benchmarks");
    for (uint32_t i = 0; i < r->runs; i++) {
        begin_entry(j, name, "", "iteration", r->runs);
        plumb_put_u64(j, "repetition_index", i);
        end_entry(j, 1, (double)r->run_ns[i] / 1e6);
    }
    put_aggregate(j, name, "mean", r, r->mean_ms);
    put_aggregate(j, name, "median", r, r->median_ms);
    put_aggregate(j, name, "stddev", r, r->std_ms);
    plumb_json_array_end(j);
}

static void put_figures(struct plumb_json *j, const plumb_bench_result *r)
{
    static const char *const shapes[] = {"whole", "loop", "step"};
    plumb_put_text(j, "shape", r->shape < 3 ? shapes[r->shape] : NULL);
    plumb_put_i64(j, "first_step", r->first_step);
    plumb_put_i64(j, "steps", r->steps);
    plumb_put_i64(j, "loop_steps", r->loop_steps);
    plumb_put_text(j, "inputs", r->captured ? "captured" : "random");
    plumb_put_u64(j, "warmups", r->warmups);
    plumb_put_f64(j, "warmup_ms", r->warmup_ms);
    plumb_put_f64(j, "median_ms", r->median_ms);
    plumb_put_f64(j, "low_ms", r->low_ms);
    plumb_put_f64(j, "high_ms", r->high_ms);
    plumb_put_f64(j, "mean_ms", r->mean_ms);
    plumb_put_f64(j, "std_ms", r->std_ms);
    plumb_put_f64(j, "min_ms", r->min_ms);
    plumb_put_f64(j, "p25_ms", r->p25_ms);
    plumb_put_f64(j, "p75_ms", r->p75_ms);
    plumb_put_f64(j, "p95_ms", r->p95_ms);
    plumb_put_f64(j, "p99_ms", r->p99_ms);
    plumb_put_f64(j, "p999_ms", r->p999_ms);
    plumb_put_f64(j, "max_ms", r->max_ms);
    plumb_put_f64(j, "drift", r->drift);
    plumb_put_f64(j, "noise", r->noise);
    plumb_put_u64(j, "preemptions", r->preemptions);
    plumb_put_u64(j, "peak_bytes", r->peak_bytes);
}

static void put_deadline(struct plumb_json *j, const plumb_bench_result *r)
{
    if (!(r->deadline_ms > 0))
        return;
    plumb_put_object(j, "deadline");
    plumb_put_f64(j, "deadline_ms", r->deadline_ms);
    plumb_put_u64(j, "overruns", r->overruns);
    plumb_put_f64(j, "latency_p50_ms", r->median_ms);
    plumb_put_f64(j, "latency_p95_ms", r->p95_ms);
    plumb_put_f64(j, "latency_p99_ms", r->p99_ms);
    plumb_put_f64(j, "latency_max_ms", r->max_ms);
    plumb_put_f64(j, "budget_p99", r->budget_p99);
    plumb_put_f64(j, "budget_max", r->budget_max);
    plumb_json_object_end(j);
}

static void put_hash(struct plumb_json *j, const plumb_bench_result *r)
{
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, r->output_hash);
    plumb_put_u64(j, "outputs", r->outputs);
    plumb_put_text(j, "output_hash", r->outputs ? hash : NULL);
    plumb_put_bool(j, "outputs_vary", r->outputs_vary);
    if (r->outputs_equal == PLUMB_BENCH_NOT_COMPARED)
        plumb_put_null(j, "outputs_equal");
    else
        plumb_put_bool(j, "outputs_equal", r->outputs_equal == PLUMB_BENCH_EQUAL);
    plumb_put_u64(j, "outputs_compared", r->outputs_compared);
}

static void put_pipeline(struct plumb_json *j, const plumb_bench_facts *f)
{
    plumb_put_object(j, "pipeline");
    plumb_put_f64(j, "ms", f->pipeline_ms);
    plumb_put_text(j, "node", f->pipeline_node[0] ? f->pipeline_node : NULL);
    plumb_put_u64(j, "count", f->pipeline_count);
    plumb_put_u64(j, "iterations", f->pipeline_iterations);
    plumb_put_u64(j, "peak_bytes", f->pipeline_peak_bytes);
    plumb_put_u64(j, "trace_bytes", f->pipeline_trace_bytes);
    plumb_json_object_end(j);
}

static void put_plumb(struct plumb_json *j, const struct plumb_bench_view *v)
{
    const plumb_bench_facts *f = v->facts;
    plumb_put_object(j, "plumb");
    plumb_put_text(j, "stage", f->stage);
    plumb_put_text(j, "library", f->library);
    plumb_put_text(j, "signature", f->signature);
    plumb_put_u64(j, "seed", f->seed);
    put_figures(j, v->result);
    put_hash(j, v->result);
    put_deadline(j, v->result);
    plumb_put_f64(j, "cpu_joules", v->result->cpu_joules);
    plumb_put_f64(j, "cpu_watts", v->result->cpu_watts);
    put_pipeline(j, f);
    plumb_put_u64(j, "trace_bytes", f->trace_bytes);
    plumb_put_text(j, "trace", f->trace);
    plumb_put_text(j, "breakdown", f->breakdown);
    plumb_put_text(j, "program", f->program);
    plumb_put_text(j, "remarks", v->result->remarks);
    plumb_json_object_end(j);
}

void plumb_bench_json(struct plumb_buf *out, const struct plumb_bench_view *view)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    put_context(&j, view);
    put_benchmarks(&j, view);
    put_plumb(&j, view);
    plumb_json_object_end(&j);
}
