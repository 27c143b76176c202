/* peaks.h: the highest rates that this machine reaches: memory bandwidth, and arithmetic per
 * element type, on one core and on all cores. They are measured once and kept in a file.
 *
 * An arithmetic rate is that of the fastest instruction that the processor has for the type, in a
 * loop of independent multiply-adds on registers. A multiply-add counts as two operations. A type
 * that no measured instruction multiplies has the rate 0: absent. The bandwidth is the better of
 * two loops over arrays that exceed the caches as far as memory allows: a sum (8 bytes a value) and
 * the triad a = b + s * c (24 bytes a value, as STREAM counts). Each figure is the median of
 * several runs. Other load on the machine lowers the figures. */
#ifndef PLUMB_ANALYZE_ROOFLINE_PEAKS_H
#define PLUMB_ANALYZE_ROOFLINE_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include <plumb/error.h>

enum plumb_peak_type {
    PLUMB_PEAK_F64,
    PLUMB_PEAK_F32,
    PLUMB_PEAK_BF16,
    PLUMB_PEAK_F16,
    PLUMB_PEAK_INT8,
    PLUMB_PEAK_TYPES
};
enum plumb_peak_span { PLUMB_PEAK_ONE, PLUMB_PEAK_ALL, PLUMB_PEAK_SPANS }; /* cores */

struct plumb_peak {
    double rate;   /* of the median run: bytes or operations a second; 0: absent */
    double spread; /* (fastest - slowest) / median */
    char how[48];  /* the loop: "avx512 fma", "triad"; "": absent */
};

struct plumb_peaks {
    char cpu[128];        /* as /proc/cpuinfo names it */
    char date[32];        /* "2026-11-23T10:30:00Z" */
    uint32_t cores;       /* that the process may use: threads of the figures for all */
    uint32_t repeats;     /* runs of each loop */
    uint64_t run_ns;      /* length of each */
    uint64_t array_bytes; /* of the bandwidth loops */
    uint64_t cache_bytes; /* last-level cache; 0: unknown */
    struct plumb_peak bandwidth[PLUMB_PEAK_SPANS];
    struct plumb_peak compute[PLUMB_PEAK_TYPES][PLUMB_PEAK_SPANS];
};

/* Returns "f64", "f32", "bf16", "f16" or "int8". */
const char *plumb_peak_type_name(enum plumb_peak_type type);
/* Returns the type of the first `n` bytes of `name`, a name of oneDNN, NumPy or safetensors ("s8",
 * "float16", "BF16"); PLUMB_PEAK_TYPES: no type that is measured. */
enum plumb_peak_type plumb_peak_type_of(const char *name, size_t n);

struct plumb_peaks_options {
    uint64_t run_ns;        /* of each run; 0: 20 ms */
    uint32_t repeats;       /* 0: 5 */
    uint64_t largest_bytes; /* of the arrays; 0: 1 GiB */
};
/* Measures with the default length in about 3 s, on as many threads as there are processors in the
 * affinity mask. PLUMB_ERR_MEMORY: no memory or no thread. On x86 with AMX, asks the kernel to let
 * this process use its tiles; a process keeps that permission. */
int plumb_peaks_measure(struct plumb_peaks *out, const struct plumb_peaks_options *options,
                        plumb_error *err);

/* The processor and the number of cores that a file must have been measured with. */
void plumb_peaks_machine(char cpu[128], uint32_t *cores);

/* Sets `out` to the path of the kept file: $XDG_CACHE_HOME/plumb/peaks.json, or that in
 * $HOME/.cache. Relative values count as not set. False: neither is set, or the path is too
 * long. */
bool plumb_peaks_path(char *out, size_t size);
/* Reads a file. PLUMB_ERR_NOT_FOUND: there is none; PLUMB_ERR_FORMAT: it is damaged, or of another
 * version; PLUMB_ERR_IO. */
int plumb_peaks_load(struct plumb_peaks *out, const char *path, plumb_error *err);
/* Writes the file, and makes its folders. PLUMB_ERR_IO. */
int plumb_peaks_save(const struct plumb_peaks *peaks, const char *path, plumb_error *err);
/* Appends the JSON document, without a newline at the end. */
void plumb_peaks_json(struct plumb_buf *out, const struct plumb_peaks *peaks);
/* The same from a text; `name` is what errors call it. */
int plumb_peaks_parse(struct plumb_peaks *out, const char *text, size_t size, const char *name,
                      plumb_error *err);

#endif
