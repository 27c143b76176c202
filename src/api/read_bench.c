/* read_bench.c: a stage run alone, of the public interface. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <plumb/read/bench.h>
#include <plumb/read/run.h>

#include "api/take.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text/sanitize.h"
#include "isolate/changed_inputs.h"
#include "isolate/energy/rapl.h"
#include "isolate/in_situ.h"
#include "isolate/inputs.h"
#include "isolate/library.h"
#include "isolate/measure.h"
#include "isolate/program.h"
#include "isolate/same_outputs.h"
#include "isolate/source.h"
#include "isolate/spread.h"
#include "read/json/fields.h"
#include "read/run/load.h"
#include "read/run/runs.h"
#include "report/bench/aggregate.h"
#include "report/bench/view.h"
#include "summary/cells.h"

void plumb_bench_result_free(plumb_bench_result *result)
{
    if (!result)
        return;
    free(result->run_ns);
    free(result->remarks);
    *result = (plumb_bench_result){.size = sizeof *result};
}

int plumb_stages_load(const struct plumb_stage_library **out, const char *path, plumb_error *err)
{
    return plumb_stage_library_load(out, path, err);
}

int plumb_stages_find(const plumb_stage_ops **out, const struct plumb_stage_library *library,
                      const char *name, const char *path, plumb_error *err)
{
    return plumb_stage_library_find(out, library, name, path, err);
}

/* ---- The signature --------------------------------------------------------------------------- */

static int open_source(struct plumb_source *out, const char *signature, plumb_error *err)
{
    char runs[PLUMB_SOURCE_PATH];
    int rc = plumb_runs_dir(runs, sizeof runs, err);
    return rc < 0 ? rc : plumb_source_open(out, signature, runs, err);
}

/* Hands a buffer over to the caller, or says that memory was short. */
static int hand_over(char **out, struct plumb_buf *text, plumb_error *err)
{
    if (text->failed || !text->data) {
        plumb_buf_fini(text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a text");
    }
    *out = text->data;
    return PLUMB_OK;
}

int plumb_bench_stages(char **out, const char *signature, plumb_error *err)
{
    struct plumb_source source;
    struct plumb_buf text = {0};
    int rc = open_source(&source, signature, err);
    if (rc < 0)
        return rc;
    plumb_buf_str(&text, "");
    for (size_t i = 0; i < source.signature.stage_count; i++) {
        plumb_buf_str(&text, i ? "\n  - " : "  - ");
        plumb_put_left(&text, source.signature.stages[i].name, 0);
    }
    plumb_source_close(&source);
    return hand_over(out, &text, err);
}

int plumb_bench_config(char **out, char *folder, size_t size, const char *signature,
                       const char *name, plumb_error *err)
{
    struct plumb_source source;
    const struct plumb_signature_stage *stage;
    struct plumb_buf text = {0};
    int rc = open_source(&source, signature, err);
    if (rc < 0)
        return rc;
    rc = plumb_source_stage(&stage, &source, name, err);
    if (rc == PLUMB_OK && (size_t)snprintf(folder, size, "%s", source.folder) >= size)
        rc = plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", source.folder);
    if (rc == PLUMB_OK) {
        plumb_buf_str(&text, plumb_source_config(stage));
        rc = hand_over(out, &text, err);
    }
    plumb_source_close(&source);
    return rc;
}

const char *plumb_bench_file_name(char *out, size_t size, const char *name)
{
    char word[PLUMB_SAFE_NAME_MAX + 1];
    plumb_sanitize_word(word, name);
    if (size > 0)
        snprintf(out, size, "%s", word);
    return out;
}

/* ---- In the pipeline ------------------------------------------------------------------------- */

static uint64_t file_bytes(const char *folder, const char *name)
{
    char path[PLUMB_SOURCE_PATH + 64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void take_in_situ(plumb_bench_facts *facts, const struct plumb_in_situ *s)
{
    facts->pipeline_ms = s->ms;
    facts->pipeline_count = s->count;
    facts->pipeline_iterations = s->iterations;
    facts->pipeline_peak_bytes = s->peak_bytes;
    snprintf(facts->pipeline_node, sizeof facts->pipeline_node, "%s",
             s->average || !s->node ? "" : s->node);
}

int plumb_bench_pipeline(plumb_bench_facts *facts, const plumb_bench_result *result,
                         const char *signature, plumb_error *err)
{
    struct plumb_source source;
    struct plumb_load load;
    struct plumb_in_situ in_situ;
    int rc = open_source(&source, signature, err);
    if (rc < 0)
        return rc;
    if (plumb_runs_is_run(source.folder)) {
        rc = plumb_load_run(&load, source.folder, err);
        if (rc == PLUMB_OK) {
            plumb_in_situ_find(&in_situ, &load.timing, facts->stage, result);
            take_in_situ(facts, &in_situ);
            facts->pipeline_trace_bytes = file_bytes(source.folder, PLUMB_TRACE_FILE_NAME);
            plumb_timing_fini(&load.timing);
        }
    }
    plumb_source_close(&source);
    return rc;
}

static int check_format(const char *format, plumb_error *err)
{
    static const char *const words[] = {"text", "md", "csv", "json"};
    for (size_t i = 0; i < 4; i++)
        if (!format || strcmp(format, words[i]) == 0)
            return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_ARG, "no such format: '%s'; there are text, json, csv, md",
                      format);
}

int plumb_bench_render(char **out, const plumb_bench_result *result, const plumb_bench_facts *facts,
                       const char *format, plumb_error *err)
{
    struct plumb_bench_view view = {result, facts};
    struct plumb_buf text = {0};
    int rc = check_format(format, err);
    if (rc < 0)
        return rc;
    if (!format || strcmp(format, "text") == 0)
        plumb_bench_text(&text, &view, false);
    else if (strcmp(format, "md") == 0)
        plumb_bench_text(&text, &view, true);
    else if (strcmp(format, "csv") == 0)
        plumb_bench_csv(&text, &view);
    else
        plumb_bench_json(&text, &view);
    return hand_over(out, &text, err);
}

/* ---- The runs -------------------------------------------------------------------------------- */

static uint64_t peak_bytes(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (uint64_t)use.ru_maxrss * 1024 : 0;
}

/* Sentences about what the figures cannot show. */
static void write_remarks(struct plumb_buf *out, const plumb_bench_result *r,
                          const struct plumb_rapl *energy)
{
    if (r->runs == 1)
        plumb_buf_str(out, "one run has no spread: --repeat gives more\n");
    if (r->noise > 0.05)
        plumb_buf_printf(out,
                         "noisy: the middle half of the runs spreads over %.0f %% of the median; "
                         "quiet the machine, or measure longer\n",
                         100 * r->noise);
    if (r->drift > 1.05 || r->drift < 0.95)
        plumb_buf_printf(out, "drift: the last third of the runs took %.2f times the first; %s\n",
                         r->drift,
                         r->drift < 1 ? "more warm-ups are needed"
                                      : "the processor slows down, or the stage keeps something");
    if (r->preemptions > r->runs)
        plumb_buf_printf(out, "the kernel took the processor away %llu times in %u runs\n",
                         (unsigned long long)r->preemptions, r->runs);
    if (energy && energy->why[0])
        plumb_buf_printf(out, "%s\n", energy->why);
}

/* Says which inputs are not the captured ones although there was a capture. */
static void remark_inputs(struct plumb_buf *out, const struct plumb_signature_stage *stage,
                          const struct plumb_inputs *inputs, uint32_t mode)
{
    if ((!stage->capture && !inputs->file) || mode == PLUMB_BENCH_INPUTS_RANDOM)
        return;
    if (inputs->file && inputs->captured_count == inputs->tensor_count)
        return;
    if (inputs->file)
        plumb_buf_printf(out, "%zu of %zu tensors are captured, the others are random\n",
                         inputs->captured_count, inputs->tensor_count);
    else
        plumb_buf_printf(out,
                         "the captured inputs, '%s', are not next to the signature: the inputs are "
                         "random\n",
                         stage->capture->file);
}

/* `before`: the hashes that the inputs had before the runs. */
static int finish_result(plumb_bench_result *r, const struct plumb_measure *m,
                         const uint64_t *before, const struct plumb_inputs *inputs,
                         const struct plumb_signature_stage *stage, uint32_t mode, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_spread_fill(r, err);
    if (rc < 0)
        return rc;
    r->peak_bytes = peak_bytes();
    plumb_buf_str(&text, "");
    if (m->outputs)
        plumb_same_outputs(r, &text, inputs, m->outputs);
    remark_inputs(&text, stage, inputs, mode);
    plumb_inputs_remark_changed(&text, before, m->inputs, m->input_count);
    write_remarks(&text, r, m->energy);
    return hand_over(&r->remarks, &text, err);
}

/* The inputs that the stage takes; those of `inputs` in the order they have there. */
static plumb_field *taken(size_t *count, const struct plumb_inputs *inputs,
                          const char *const *wanted)
{
    plumb_field *fields = calloc(inputs->count + 1, sizeof *fields);
    *count = 0;
    for (size_t i = 0; fields && i < inputs->count; i++) {
        bool keep = !wanted;
        for (size_t k = 0; wanted && wanted[k]; k++)
            keep |= strcmp(wanted[k], inputs->at[i].name) == 0;
        if (keep)
            fields[(*count)++] = inputs->at[i];
    }
    return fields;
}

static void plan(struct plumb_measure *m, const plumb_bench_options *o,
                 const struct plumb_inputs *inputs, plumb_bench_progress *progress)
{
    m->first_given = o->first_step || inputs->step >= 0;
    /* Of a call inside a step, a stage without a loop of its own is that step of the loop around
     * it: `step` gets its index. */
    m->first_step = o->first_step                            ? *o->first_step
                    : inputs->step >= 0                      ? inputs->step
                    : m->ops->step && inputs->call_step >= 0 ? inputs->call_step
                                                             : 0;
    m->warmup = o->warmup < 0 ? 0 : o->warmup ? (uint32_t)o->warmup : 1;
    m->repeat = o->repeat;
    m->steps = o->steps ? o->steps : 1;
    m->min_time_s = o->min_time_s;
    m->progress = o->progress ? o->progress : progress;
    m->measuring = o->measuring;
    m->arg = o->arg;
}

/* Outputs that the host cannot read count by their shapes. Those of a captured call are
 * compared. */
static int measure(plumb_bench_result *out, struct plumb_measure *m,
                   const struct plumb_inputs *inputs, const struct plumb_signature_stage *stage,
                   const plumb_bench_options *o, plumb_error *err)
{
    struct plumb_rapl energy = {0};
    plumb_bench_progress progress = {0, 0, -1};
    plumb_field *fields = taken(&m->input_count, inputs, m->ops->inputs);
    struct plumb_value_hashes *outputs = inputs->file ? calloc(1, sizeof *outputs) : NULL;
    uint64_t *before = fields ? plumb_inputs_hash(fields, m->input_count) : NULL;
    int rc = PLUMB_ERR_MEMORY;
    if (!before || (inputs->file && !outputs)) {
        plumb_fail(err, rc, "no memory for the hashes of inputs and outputs");
        goto out;
    }
    plan(m, o, inputs, &progress);
    m->inputs = fields;
    m->outputs = outputs;
    m->energy = o->energy ? &energy : NULL;
    m->powercap = o->powercap;
    out->captured = inputs->file != NULL; /* scalars alone too */
    out->deadline_ms = o->deadline_ms;
    rc = plumb_measure_runs(out, m, err);
    if (rc == PLUMB_OK)
        rc = finish_result(out, m, before, inputs, stage, o->inputs, err);
out:
    free(before);
    free(outputs);
    free(fields);
    return rc;
}

static int make_inputs(struct plumb_inputs *out, const struct plumb_source *source,
                       const struct plumb_signature_stage *stage, uint32_t mode, uint64_t seed,
                       plumb_error *err)
{
    const struct plumb_inputs_options how = {.mode = (enum plumb_inputs_mode)mode,
                                             .seed = seed,
                                             .dir = source->folder,
                                             .devices_on_host = true};
    return plumb_inputs_make(out, stage, &how, err);
}

int plumb_bench(plumb_bench_result *out, const char *signature, const char *name,
                const plumb_stage_ops *ops, void *instance, const plumb_bench_options *options,
                plumb_error *err)
{
    plumb_bench_options o = plumb_bench_options_default();
    plumb_bench_result result = {.size = sizeof result, .warmup_ms = NAN};
    struct plumb_measure m = {.ops = ops, .instance = instance};
    const struct plumb_signature_stage *stage;
    struct plumb_inputs inputs;
    struct plumb_source source;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0 || (rc = plumb_stage_ops_check(ops, name, err)) < 0 ||
        (rc = open_source(&source, signature, err)) < 0)
        return rc;
    rc = plumb_source_stage(&stage, &source, name, err);
    if (rc == PLUMB_OK)
        rc = make_inputs(&inputs, &source, stage, o.inputs, o.seed, err);
    if (rc == PLUMB_OK) {
        rc = measure(&result, &m, &inputs, stage, &o, err);
        plumb_inputs_fini(&inputs);
    }
    plumb_source_close(&source);
    if (rc < 0)
        plumb_bench_result_free(&result);
    else
        *out = result;
    return rc;
}

/* ---- The program ----------------------------------------------------------------------------- */

static int write_program(struct plumb_buf *text, const struct plumb_source *source,
                         struct plumb_program *p, const plumb_bench_options *o, plumb_error *err)
{
    struct plumb_inputs inputs, random;
    int rc = make_inputs(&inputs, source, p->stage, o->inputs, o->seed, err);
    if (rc < 0)
        return rc;
    rc = make_inputs(&random, source, p->stage, PLUMB_BENCH_INPUTS_RANDOM, o->seed, err);
    if (rc == PLUMB_OK) {
        p->inputs = &inputs;
        p->random = &random;
        rc = plumb_program_write(text, p, err);
        plumb_inputs_fini(&random);
    }
    plumb_inputs_fini(&inputs);
    return rc;
}

int plumb_bench_program(char **out, const char *signature, const char *name, const char *file,
                        const char *library, const char *config, const plumb_bench_result *result,
                        const plumb_bench_options *options, plumb_error *err)
{
    plumb_bench_options o = plumb_bench_options_default();
    struct plumb_program p = {.file = file, .library = library, .config = config};
    struct plumb_buf text = {0};
    struct plumb_source source;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0 || (rc = open_source(&source, signature, err)) < 0)
        return rc;
    p.seed = o.seed;
    p.steps = o.steps ? o.steps : 1;
    p.first_step = result->first_step >= 0 ? result->first_step : 0;
    rc = plumb_source_stage(&p.stage, &source, name, err);
    if (rc == PLUMB_OK)
        rc = write_program(&text, &source, &p, &o, err);
    plumb_source_close(&source);
    if (rc == PLUMB_OK)
        return hand_over(out, &text, err);
    plumb_buf_fini(&text);
    return rc;
}

/* ---- Files of benchmarks --------------------------------------------------------------------- */

/* A file that is not one of benchmarks is passed over with a note; `why` keeps the first. */
static int add_file(struct plumb_aggregate *a, struct plumb_buf *notes, const char *path,
                    char why[512], plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_error problem = {0, ""};
    int rc = plumb_read_file(&text, path, err);
    if (rc < 0)
        return rc;
    rc = plumb_aggregate_add(a, text.data ? text.data : "", text.len, path, &problem);
    plumb_buf_fini(&text);
    if (rc == PLUMB_ERR_FORMAT) {
        plumb_buf_printf(notes, "%sskipped: %s", notes->len ? "\n" : "", problem.message);
        if (!why[0])
            snprintf(why, 512, "%s", problem.message);
        return PLUMB_OK;
    }
    if (rc < 0 && err)
        *err = problem;
    return rc;
}

static int write_aggregate(char *out[2], const struct plumb_aggregate *a, struct plumb_buf *notes,
                           const char *format, plumb_error *err)
{
    struct plumb_buf text = {0};
    char *made = NULL;
    int rc;
    plumb_aggregate_write(&text, a, format);
    rc = hand_over(&made, &text, err);
    if (rc < 0)
        return rc;
    rc = hand_over(&out[1], notes, err);
    *notes = (struct plumb_buf){.data = NULL};
    if (rc == PLUMB_OK)
        out[0] = made;
    else
        free(made);
    return rc;
}

int plumb_bench_aggregate(char *out[2], const char *const *files, size_t count, const char *format,
                          plumb_error *err)
{
    struct plumb_aggregate *a = NULL;
    struct plumb_buf told = {0};
    char why[512] = "";
    int rc = check_format(format, err);
    if (rc < 0 || (rc = plumb_aggregate_open(&a, count, err)) < 0)
        return rc;
    plumb_buf_str(&told, "");
    for (size_t i = 0; rc == PLUMB_OK && i < count; i++)
        rc = add_file(a, &told, files[i], why, err);
    if (rc == PLUMB_OK && plumb_aggregate_rows(a) == 0)
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "%s", why[0] ? why : "there are no files");
    if (rc == PLUMB_OK)
        rc = write_aggregate(out, a, &told, format ? format : "text", err);
    plumb_aggregate_close(a);
    plumb_buf_fini(&told);
    return rc;
}
