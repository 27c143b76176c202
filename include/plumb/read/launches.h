/* launches.h: dispatches and launches per iteration of a program that repeats one piece of work, as
 * `plumb count-launches` prints them. Part of libplumb-read; plumb/read.h has the rules of all its
 * headers. */
#ifndef PLUMB_READ_LAUNCHES_H
#define PLUMB_READ_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the iterations of a run: its runs of the node "iteration". Counts of the phase
 * "warmup" are left out. */
typedef struct plumb_launch_counts {
    size_t size;         /* sizeof(plumb_launch_counts) */
    uint64_t iterations; /* that ended without a failure */
    uint64_t native;     /* dispatches, and calls of functions that were counted */
    uint64_t launches;   /* of work on devices */
    uint64_t wall_ns;    /* of the iterations */
} plumb_launch_counts;

/* Sets `out` to the sums of the run in the directory `run`. `out->size` must be set. Errors:
 * PLUMB_ERR_NOT_FOUND: no such run, or it has no node "iteration" outside the phase "warmup";
 * PLUMB_ERR_FORMAT, PLUMB_ERR_IO: as of plumb_report_open(). */
PLUMB_API int plumb_launches_read(plumb_launch_counts *out, const char *run, plumb_error *err);

typedef struct plumb_launches_row {
    size_t size; /* sizeof(plumb_launches_row) */
    uint32_t depth, fused;
    const char *device; /* NULL: "cpu" */
    double duration_s;
    uint32_t channels, fs;
    plumb_launch_counts counted; /* `iterations` above 0 */
} plumb_launches_row;

/* Renders the rows as a JSON array of objects: depth, fused, device, duration_s, channels, fs,
 * native_calls, cuda_launches, wall_us. The last three are per iteration, and never rounded to a
 * whole number: 31 calls in 30 iterations are 1.0333333333333334. PLUMB_ERR_ARG: a row without
 * iterations. */
PLUMB_API int plumb_launches_render(char **out, const plumb_launches_row *rows, size_t n,
                                    plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
