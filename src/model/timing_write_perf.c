/* timing_write_perf.c: `perf` of timing.json: counters of stages and kernels. Any thread. */
#include "model/timing_parts.h"

const char *plumb_timing_counter_state_name(uint32_t state)
{
    static const char *const names[PLUMB_COUNTER_STATES] = {NULL, "there", "absent", "simulated"};
    return state < PLUMB_COUNTER_STATES ? names[state] : NULL;
}

const struct plumb_timing_counted *plumb_timing_counted_of(const struct plumb_timing *t,
                                                           size_t node)
{
    for (size_t i = 0; i < t->perf.row_count; i++)
        if (!t->perf.rows[i].kernel && t->perf.rows[i].node == node)
            return &t->perf.rows[i];
    return NULL;
}

void plumb_timing_write_counters(const struct plumb_timing_counted *c, struct plumb_json *j)
{
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        const struct plumb_timing_counter *k = &c->counter[i];
        if (!k->runs)
            continue;
        plumb_json_key(j, plumb_perf_name(i));
        plumb_json_object_inline(j);
        plumb_put_u64(j, "total", k->total);
        plumb_put_u64(j, "runs", k->runs);
        if (i >= PLUMB_PERF_FIRST_EVENT) {
            plumb_put_u64(j, "scaled", k->scaled);
            plumb_put_u64(j, "enabled_ns", k->enabled_ns);
            plumb_put_u64(j, "running_ns", k->running_ns);
        }
        plumb_json_object_end(j);
    }
}

void plumb_timing_write_counter_states(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "counters");
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        const char *state = plumb_timing_counter_state_name(t->perf.state[i]);
        if (!state)
            continue;
        plumb_json_object_inline(j);
        plumb_put_text(j, "name", plumb_perf_name(i));
        plumb_put_text(j, "state", state);
        plumb_put_text(j, "why", t->perf.why[i]);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_rows(const struct plumb_timing *t, struct plumb_json *j, bool kernels)
{
    plumb_put_array(j, kernels ? "kernels" : "stages");
    for (size_t i = 0; i < t->perf.row_count; i++) {
        const struct plumb_timing_counted *c = &t->perf.rows[i];
        if ((c->kernel != NULL) != kernels)
            continue;
        plumb_json_object(j);
        if (kernels)
            plumb_put_text(j, "kernel", c->kernel);
        plumb_put_index(j, "node", c->node);
        plumb_put_text(j, "name", c->node < t->node_count ? t->nodes[c->node].name : NULL);
        plumb_put_u64(j, "runs", c->runs);
        plumb_put_object(j, "counters");
        plumb_timing_write_counters(c, j);
        plumb_json_object_end(j);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

void plumb_timing_write_perf(const struct plumb_timing *t, struct plumb_json *j)
{
    if (!t->perf.on)
        return;
    plumb_put_object(j, "perf");
    plumb_put_u64(j, "threads_refused", t->perf.threads_refused);
    plumb_timing_write_counter_states(t, j);
    write_rows(t, j, false);
    write_rows(t, j, true);
    plumb_json_object_end(j);
}
