/* energy.h: the energy that the machine uses while something runs: joules of the processors and of
 * GPUs. Part of libplumb-read; plumb/read.h has the rules of all its headers.
 *
 *     plumb_energy_meter *meter;
 *     plumb_energy energy;
 *     if (plumb_energy_open(&meter, NULL, &err) < 0)
 *         return fail(err.message);
 *     denoise();
 *     plumb_energy_stop(&energy, meter);
 *     printf("%.1f J in %.1f s\n", energy.cpu_joules, energy.duration_s);
 *     plumb_energy_close(meter);
 *
 * `plumb record --energy` does this round a program. The counters are those of RAPL, which Linux
 * shows below /sys/class/powercap: of whole packages, and of the memory next to them. Other
 * programs that run at the same time are in them. The power of NVIDIA's GPUs is sampled ten times a
 * second, through libnvidia-ml, and integrated by the trapezoidal rule. */
#ifndef PLUMB_READ_ENERGY_H
#define PLUMB_READ_ENERGY_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A meter that runs, or has run. It has a thread of its own, which reads counters every 10 ms, if
 * there is something to read. */
typedef struct plumb_energy_meter plumb_energy_meter;

typedef struct plumb_energy_options {
    size_t size;          /* sizeof(plumb_energy_options) */
    const char *powercap; /* folder of the counters; NULL: /sys/class/powercap */
    const char *nvml;     /* library of the GPUs' driver; NULL: libnvidia-ml.so.1 */
} plumb_energy_options;
/* Returns options with every field at its default. */
static inline plumb_energy_options plumb_energy_options_default(void)
{
    plumb_energy_options o = {sizeof(plumb_energy_options), NULL, NULL};
    return o;
}

enum { PLUMB_ENERGY_DOMAINS = 16, PLUMB_ENERGY_NOTES = 4 };
/* The result of a meter. Figures of a source that is absent are 0, and a note says why it is
 * absent. */
typedef struct plumb_energy {
    double duration_s;
    double cpu_joules, cpu_mean_w;
    double gpu_joules, gpu_mean_w, gpu_peak_w; /* of all GPUs together */
    uint64_t gpu_sample_count;
    uint32_t cpu_available, gpu_available; /* 1: the figures are measured */
    uint32_t cpu_domain_count, note_count;
    char cpu_domains[PLUMB_ENERGY_DOMAINS][32]; /* counters that were added: "package-0", "dram" */
    char notes[PLUMB_ENERGY_NOTES][200];
} plumb_energy;

/* Begins to measure. `options` NULL: the defaults. Opening the GPUs' driver may take a second,
 * before the measuring begins. An absent source is not an error. Errors: PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_energy_open(plumb_energy_meter **out, const plumb_energy_options *options,
                                plumb_error *err);
/* Ends the measuring, at the first call, and fills `out`. */
PLUMB_API void plumb_energy_stop(plumb_energy *out, plumb_energy_meter *meter);
/* Frees it. */
PLUMB_API void plumb_energy_close(plumb_energy_meter *meter);
/* Renders what a stopped meter has measured as JSON, for plumb_read_free(). `run`: the directory of
 * a run that was recorded during it, whose stages are listed with their joules: all of the machine
 * while a run of the stage was open, between readings of the counters interpolated; NULL: none.
 * `command`: of the program that was measured; NULL: none. Errors: those of plumb_run_open(). */
PLUMB_API int plumb_energy_json(char **out, const plumb_energy_meter *meter, const char *command,
                                const char *run, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
