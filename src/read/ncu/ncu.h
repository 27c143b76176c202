/* ncu.h: a report of NVIDIA Nsight Compute, exported as CSV (`ncu --csv`), as a table of kernels.
 *
 * Four forms are read. They are told apart by the columns of their first line, which is searched
 * for: ncu and the program print lines of their own around the table.
 *   long     a row for each metric of each launch: "Metric Name", "Metric Unit", "Metric Value"
 *            (`--page details`; `--metrics`)
 *   summary  the same of each kernel: "Minimum", "Maximum", "Average" (`--print-summary`)
 *   wide     a row for each launch and a column for each metric; the first row has the units
 *            (`--page raw`)
 * Metrics are found by their exact raw name, alone or as "Label (name)", or by the label that the
 * details page prints by default. A value that is "n/a", empty or not a number is missing.
 *
 * A parsed report is never changed; any thread may read it. */
#ifndef PLUMB_READ_NCU_NCU_H
#define PLUMB_READ_NCU_NCU_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "read/ncu/metrics.h"
#include <plumb/error.h>

struct plumb_ncu_kernel {   /* one launch; in the summary form all launches of a kernel */
    const char *name;       /* never "" */
    const char *id;         /* of the launch, as ncu counts them; "": not in the report */
    const char *process_id; /* "": not in the report, as the texts below */
    const char *process;
    const char *block, *grid; /* "(256, 1, 1)" */
    const char *device, *capability;
    uint64_t launches;                /* 1, or "Invocations" of the summary form */
    double metric[PLUMB_NCU_METRICS]; /* NaN: missing */
};

struct plumb_ncu {
    struct plumb_ncu_kernel *kernels; /* in the order of the report */
    size_t count, cap;
    uint64_t skipped; /* lines after the first header that do not belong to the table */
    struct plumb_arena arena;
};

/* Reads the file, which may be packed by gzip.
 *   errors  PLUMB_ERR_NOT_FOUND: no such file; PLUMB_ERR_IO; PLUMB_ERR_MEMORY;
 *           PLUMB_ERR_FORMAT: it has no table of kernels, is cut, or is a binary .ncu-rep;
 *           PLUMB_ERR_STATE: ncu had no permission to read the counters (ERR_NVGPUCTRPERM). */
int plumb_ncu_read(struct plumb_ncu *out, const char *path, plumb_error *err);
/* The same from `size` bytes at `text`; `name` is what errors call it. */
int plumb_ncu_parse(struct plumb_ncu *out, const char *text, size_t size, const char *name,
                    plumb_error *err);
void plumb_ncu_fini(struct plumb_ncu *r);

#endif
