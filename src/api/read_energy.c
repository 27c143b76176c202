/* read_energy.c: energy, of the public interface; and how it is shared among the stages of a run
 * that was recorded during the measuring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/read/energy.h>

#include "api/take.h"
#include "base/buf.h"
#include "base/error.h"
#include "codec/json_write.h"
#include "isolate/energy/meter.h"
#include "read/run/load.h"

_Static_assert((int)PLUMB_ENERGY_DOMAINS == (int)PLUMB_RAPL_DOMAINS, "all domains have a place");

static struct plumb_meter *meter_of(plumb_energy_meter *meter)
{
    return (struct plumb_meter *)(void *)meter;
}

int plumb_energy_open(plumb_energy_meter **out, const plumb_energy_options *options,
                      plumb_error *err)
{
    plumb_energy_options o = plumb_energy_options_default();
    struct plumb_meter *meter = NULL;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc == PLUMB_OK)
        rc = plumb_meter_open(&meter, o.powercap, o.nvml, err);
    if (rc == PLUMB_OK)
        *out = (plumb_energy_meter *)(void *)meter;
    return rc;
}

void plumb_energy_close(plumb_energy_meter *meter)
{
    plumb_meter_close(meter_of(meter));
}

static void add_note(plumb_energy *out, const char *text)
{
    if (text[0] && out->note_count < PLUMB_ENERGY_NOTES)
        snprintf(out->notes[out->note_count++], sizeof out->notes[0], "%s", text);
}

static double mean_w(double joules, double seconds)
{
    return seconds > 0 ? joules / seconds : 0;
}

static void fill(plumb_energy *out, const struct plumb_meter *meter)
{
    struct plumb_meter_sums s;
    plumb_meter_sums(&s, meter);
    *out = (plumb_energy){.duration_s = s.seconds,
                          .cpu_available = !isnan(s.cpu_joules),
                          .gpu_available = !isnan(s.gpu_joules),
                          .gpu_sample_count = s.gpu_samples,
                          .cpu_domain_count = (uint32_t)s.rapl->count};
    if (out->cpu_available) {
        out->cpu_joules = s.cpu_joules;
        out->cpu_mean_w = mean_w(s.cpu_joules, s.seconds);
    }
    if (out->gpu_available) {
        out->gpu_joules = s.gpu_joules;
        out->gpu_mean_w = mean_w(s.gpu_joules, s.seconds);
        out->gpu_peak_w = s.gpu_peak_w;
    }
    for (uint32_t i = 0; i < out->cpu_domain_count; i++)
        snprintf(out->cpu_domains[i], sizeof out->cpu_domains[i], "%s", s.rapl->domains[i].name);
    add_note(out, s.rapl->why);
    add_note(out, s.gpu_why);
}

void plumb_energy_stop(plumb_energy *out, plumb_energy_meter *meter)
{
    plumb_meter_stop(meter_of(meter));
    fill(out, meter_of(meter));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_f64(struct plumb_json *j, const char *key, double v)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, v);
}

static void put_u64(struct plumb_json *j, const char *key, uint64_t v)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, v);
}

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text);
}

static void put_bool(struct plumb_json *j, const char *key, bool v)
{
    plumb_json_key(j, key);
    plumb_json_bool(j, v);
}

static void put_energy(struct plumb_json *j, const plumb_energy *e)
{
    put_f64(j, "duration_s", e->duration_s);
    put_bool(j, "cpu_available", e->cpu_available);
    put_f64(j, "cpu_joules", e->cpu_joules);
    put_f64(j, "cpu_mean_w", e->cpu_mean_w);
    plumb_json_key(j, "cpu_rapl_domains");
    plumb_json_array_inline(j);
    for (uint32_t i = 0; i < e->cpu_domain_count; i++)
        plumb_json_str(j, e->cpu_domains[i]);
    plumb_json_array_end(j);
    put_bool(j, "gpu_available", e->gpu_available);
    put_f64(j, "gpu_joules", e->gpu_joules);
    put_f64(j, "gpu_mean_w", e->gpu_mean_w);
    put_f64(j, "gpu_peak_w", e->gpu_peak_w);
    put_u64(j, "gpu_sample_count", e->gpu_sample_count);
}

struct stage {
    uint64_t runs, ns;
    double cpu_joules, gpu_joules;
};

/* The runs of each node; `out` has as many as there are nodes. */
static void share(struct stage *out, const struct plumb_timing *t, const struct plumb_meter *m)
{
    for (size_t i = 0; i < t->stage_run_count; i++) {
        const struct plumb_timing_stage_run *run = &t->stage_runs[i];
        uint64_t from = t->start_unix_ns + run->begin_ns, to = from + run->duration_ns;
        struct stage *s = run->node < t->node_count ? &out[run->node] : NULL;
        if (!s)
            continue;
        s->runs++;
        s->ns += run->duration_ns;
        s->cpu_joules += plumb_meter_cpu_between(m, from, to);
        s->gpu_joules += plumb_meter_gpu_between(m, from, to);
    }
}

static void put_stage(struct plumb_json *j, const struct plumb_timing_node *node,
                      const struct stage *s)
{
    plumb_json_object_inline(j);
    put_text(j, "name", node->name);
    put_text(j, "phase", node->phase);
    put_u64(j, "runs", s->runs);
    put_f64(j, "duration_s", (double)s->ns / 1e9);
    put_f64(j, "cpu_joules", s->cpu_joules);
    put_f64(j, "gpu_joules", s->gpu_joules);
    plumb_json_object_end(j);
}

/* Returns how many runs of stages the recording has no times of. */
static int put_stages(struct plumb_json *j, const struct plumb_meter *m, const char *run,
                      uint64_t *lost, plumb_error *err)
{
    struct plumb_load load;
    int rc = plumb_load_run(&load, run, err);
    if (rc < 0)
        return rc;
    struct stage *stages = calloc(load.timing.node_count + 1, sizeof *stages);
    if (stages) {
        share(stages, &load.timing, m);
        plumb_json_key(j, "stages");
        plumb_json_array(j);
        for (size_t i = 0; i < load.timing.node_count; i++)
            if (stages[i].runs)
                put_stage(j, &load.timing.nodes[i], &stages[i]);
        plumb_json_array_end(j);
        *lost = load.timing.stage_runs_lost;
    }
    rc = stages ? PLUMB_OK
                : plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the energy of stages");
    free(stages);
    plumb_timing_fini(&load.timing);
    return rc;
}

static void put_notes(struct plumb_json *j, const plumb_energy *e, uint64_t lost)
{
    char text[120];
    plumb_json_key(j, "notes");
    plumb_json_array(j);
    for (uint32_t i = 0; i < e->note_count; i++)
        plumb_json_str(j, e->notes[i]);
    if (lost) {
        snprintf(text, sizeof text,
                 "%llu runs of stages are not in the sums: the recording kept the newest alone",
                 (unsigned long long)lost);
        plumb_json_str(j, text);
    }
    plumb_json_array_end(j);
}

int plumb_energy_json(char **out, const plumb_energy_meter *meter, const char *command,
                      const char *run, plumb_error *err)
{
    const struct plumb_meter *m = (const struct plumb_meter *)(const void *)meter;
    struct plumb_buf text = {0};
    struct plumb_json json, *j = &json;
    plumb_energy energy;
    uint64_t lost = 0;
    int rc = PLUMB_OK;
    fill(&energy, m);
    plumb_json_init(j, &text, 2);
    plumb_json_object(j);
    put_text(j, "format", "plumb-energy");
    put_u64(j, "schema", 1);
    put_text(j, "command", command);
    put_energy(j, &energy);
    if (run)
        rc = put_stages(j, m, run, &lost, err);
    put_notes(j, &energy, lost);
    plumb_json_object_end(j);
    plumb_buf_char(&text, '\n');
    if (rc == PLUMB_OK && text.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the energy of a run");
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
