/* measure.c: the runs. A run begins when `sync` has returned, and is timed from its first
 * instruction to the end of a second `sync`, less the time in which outputs were read: that is our
 * work, not the stage's.
 *
 * Outputs are hashed in the first and in the last measured run only. Hashing between two timed runs
 * would replace the stage's data in the caches by its outputs. */
#include "isolate/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/monotonic.h"
#include "isolate/energy/rapl.h"
#include "isolate/mark.h"
#include "isolate/output_hash.h"
#include "model/value_parts.h"
#include "tensor/value_hash.h"

enum { RUNS_DEFAULT = 5, RUNS_MAX = 1000000 };
static const double SECONDS_DEFAULT = 10.0;

struct state {
    const struct plumb_measure *m;
    plumb_bench_result *out;
    struct plumb_loop_limit limit;
    struct plumb_output_hash hash;
    bool hashing;
    int output_code; /* less than 0: an output was refused, output_err says why */
    plumb_error output_err;
    uint64_t output_ns; /* spent in taking outputs, in this run */
    size_t cap;
};

static uint64_t preemptions(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (uint64_t)use.ru_nivcsw : 0;
}

static void take_hash(void *arg, const char *name, const plumb_value *value)
{
    plumb_value_hashes_put(arg, name, value);
}

static void take_output(plumb_stage_call *call, const char *name, const plumb_value *value)
{
    struct state *s = call->arg;
    uint64_t begin;
    if (!s->hashing)
        return;
    begin = plumb_monotonic_ns();
    if (s->output_code == PLUMB_OK)
        s->output_code = plumb_output_hash_add(&s->hash, name, value, &s->output_err);
    if (s->output_code == PLUMB_OK && s->m->outputs)
        plumb_each_part(name, value, take_hash, s->m->outputs);
    s->output_ns += plumb_monotonic_ns() - begin;
}

/* ---- One run --------------------------------------------------------------------------------- */

static int run_steps(struct state *s, plumb_stage_call *call, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    int rc = PLUMB_OK;
    for (uint32_t i = 0; i < m->steps && rc >= 0; i++) {
        m->progress->step = m->first_step + i;
        rc = m->ops->step(m->instance, call, m->first_step + i, err);
    }
    return rc;
}

static int run_limited(struct state *s, plumb_stage_call *call, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    int rc;
    s->limit = (struct plumb_loop_limit){.size = sizeof s->limit,
                                         .first = m->first_step,
                                         .count = m->steps,
                                         .current = &m->progress->step};
    m->ops->limit(&s->limit);
    rc = m->ops->run(m->instance, call, err);
    m->ops->limit(NULL);
    return rc;
}

/* Whether the loop has done what was asked for. */
static int check_loop(const struct state *s, plumb_error *err)
{
    const struct plumb_loop_limit *l = &s->limit;
    const char *name = s->m->ops->name;
    if (l->loops == 0 && s->m->first_given)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "stage '%s' has no loop that can be limited: no PLUMB_STEPS ran on its "
                          "thread, and it has no 'step'; without --first-step, and with --inputs "
                          "random where a step was captured, it runs whole",
                          name);
    if (l->loops > 0 && l->first + l->count > l->steps)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "the loop of stage '%s' has %lld steps: it does not have step %lld", name,
                          (long long)l->steps, (long long)(l->first + l->count - 1));
    if (l->loops > 0 && l->ran != l->count * (int64_t)l->loops)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "the loop of stage '%s' ended early: %lld of %lld wanted steps ran", name,
                          (long long)l->ran, (long long)(l->count * (int64_t)l->loops));
    return PLUMB_OK;
}

static int call_stage(struct state *s, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    plumb_stage_call call = {sizeof call, m->inputs, m->input_count, take_output, s};
    if (m->ops->step)
        return run_steps(s, &call, err);
    if (m->ops->limit)
        return run_limited(s, &call, err);
    return m->ops->run(m->instance, &call, err);
}

/* Fills `err` for a stage that failed, with or without a reason of its own. */
static int failure(const struct state *s, int rc, plumb_error *err)
{
    char why[sizeof err->message];
    __builtin_memcpy(why, err->message, sizeof why);
    why[sizeof why - 1] = '\0';
    return plumb_fail(err, rc, "stage '%s' failed in run %u: %.400s", s->m->ops->name,
                      s->m->progress->run, why[0] ? why : "it gives no reason");
}

static int synchronise(const struct plumb_measure *m, plumb_error *err)
{
    return m->ops->sync ? m->ops->sync(m->instance, err) : PLUMB_OK;
}

static int run_once(uint64_t *out, struct state *s, bool measured, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    plumb_error why = {0, ""};
    uint64_t begin, end, mark;
    int rc;
    s->output_ns = 0;
    s->output_code = PLUMB_OK;
    m->progress->step = -1;
    /* Work that was launched before the run is not counted as the run's. */
    rc = synchronise(m, &why);
    mark = plumb_mark_begin(measured);
    begin = plumb_monotonic_ns();
    if (rc >= 0 && (rc = call_stage(s, &why)) >= 0)
        rc = synchronise(m, &why);
    end = plumb_monotonic_ns();
    plumb_mark_end(mark);
    if (rc >= 0 && s->output_code < 0) {
        rc = s->output_code;
        why = s->output_err;
    }
    if (rc < 0) {
        rc = failure(s, rc, &why);
        if (err)
            *err = why;
        return rc;
    }
    *out = end - begin - s->output_ns;
    return m->ops->step ? PLUMB_OK : check_loop(s, err);
}

/* ---- All runs -------------------------------------------------------------------------------- */

static int keep(struct state *s, uint64_t ns, plumb_error *err)
{
    plumb_bench_result *out = s->out;
    if (out->runs == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        uint64_t *grown = realloc(out->run_ns, cap * sizeof *grown);
        if (!grown)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the times of %zu runs", cap);
        out->run_ns = grown;
        s->cap = cap;
    }
    out->run_ns[out->runs++] = ns;
    return PLUMB_OK;
}

/* Runs that are wanted at least. */
static uint32_t wanted_runs(const struct state *s)
{
    const struct plumb_measure *m = s->m;
    if (m->repeat)
        return m->repeat;
    if (s->limit.loops == 0 && !m->ops->step && m->steps > 1)
        return m->steps;
    return RUNS_DEFAULT;
}

static bool enough(const struct state *s, uint64_t spent_ns)
{
    const struct plumb_measure *m = s->m;
    double spent = (double)spent_ns / 1e9;
    uint32_t runs = s->out->runs;
    if (runs == 0)
        return false;
    if (runs >= RUNS_MAX)
        return true;
    if (!m->repeat && m->min_time_s <= 0 && m->steps <= 1 && spent >= SECONDS_DEFAULT)
        return true;
    return runs >= wanted_runs(s) && spent >= m->min_time_s;
}

static int warm_up(struct state *s, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    m->progress->phase = PLUMB_BENCH_WARMING;
    for (uint32_t i = 0; i < m->warmup; i++) {
        uint64_t ns;
        int rc;
        m->progress->run = i;
        rc = run_once(&ns, s, false, err);
        if (rc < 0)
            return rc;
        if (i == 0)
            s->out->warmup_ms = (double)ns / 1e6;
        s->out->warmups++;
    }
    return PLUMB_OK;
}

/* The run that is last is known only after it: each one but the first is hashed when it may be the
 * last, and when it was not, the hash is thrown away. */
static bool may_be_last(const struct state *s, uint64_t spent_ns)
{
    uint32_t runs = s->out->runs;
    uint64_t longest = runs ? spent_ns / runs * 2 : 0;
    const struct plumb_measure *m = s->m;
    if (runs + 1 >= RUNS_MAX)
        return true;
    if (!m->repeat && m->min_time_s <= 0 && m->steps <= 1 &&
        (double)(spent_ns + longest) / 1e9 >= SECONDS_DEFAULT)
        return true;
    return runs + 1 >= wanted_runs(s) && (double)(spent_ns + longest) / 1e9 >= m->min_time_s;
}

static void forget_outputs(struct state *s)
{
    plumb_output_hash_init(&s->hash);
    if (s->m->outputs)
        memset(s->m->outputs, 0, sizeof *s->m->outputs);
}

static int measure_all(struct state *s, plumb_error *err)
{
    const struct plumb_measure *m = s->m;
    uint64_t spent = 0, first_hash = 0;
    m->progress->phase = PLUMB_BENCH_MEASURING;
    while (!enough(s, spent)) {
        uint64_t ns;
        int rc;
        m->progress->run = s->out->runs;
        s->hashing = s->out->runs == 0 || may_be_last(s, spent);
        if (s->hashing)
            forget_outputs(s);
        rc = run_once(&ns, s, true, err);
        if (rc < 0 || (rc = keep(s, ns, err)) < 0)
            return rc;
        spent += ns;
        if (s->hashing) {
            s->out->output_hash = plumb_output_hash_end(&s->hash);
            s->out->outputs = s->hash.outputs;
            if (s->out->runs == 1)
                first_hash = s->out->output_hash;
        }
    }
    s->out->outputs_vary = s->out->output_hash != first_hash;
    return PLUMB_OK;
}

static void tell_shape(const struct state *s)
{
    plumb_bench_result *out = s->out;
    const struct plumb_measure *m = s->m;
    out->shape = m->ops->step     ? PLUMB_BENCH_STEP
                 : s->limit.loops ? PLUMB_BENCH_LOOP
                                  : PLUMB_BENCH_WHOLE;
    out->first_step = out->shape == PLUMB_BENCH_WHOLE ? -1 : m->first_step;
    out->steps = out->shape == PLUMB_BENCH_WHOLE ? 1 : (int64_t)m->steps;
    out->loop_steps = out->shape == PLUMB_BENCH_LOOP ? s->limit.steps : -1;
}

int plumb_measure_runs(plumb_bench_result *out, const struct plumb_measure *m, plumb_error *err)
{
    struct state s = {.m = m, .out = out};
    uint64_t before;
    int rc = warm_up(&s, err);
    if (rc < 0)
        return rc;
    if (m->measuring)
        m->measuring(m->arg);
    before = preemptions();
    if (m->energy)
        plumb_rapl_begin(m->energy, m->powercap ? m->powercap : PLUMB_RAPL_FOLDER);
    rc = measure_all(&s, err);
    out->cpu_joules = out->cpu_watts = NAN;
    if (m->energy)
        plumb_rapl_end(&out->cpu_joules, &out->cpu_watts, m->energy);
    if (out->runs)
        out->cpu_joules /= out->runs;
    out->preemptions = preemptions() - before;
    m->progress->phase = PLUMB_BENCH_DONE;
    tell_shape(&s);
    return rc;
}
