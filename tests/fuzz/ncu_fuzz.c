/* Fuzz target: any bytes as the CSV of an Nsight Compute report. An accepted report has kernels
 * with names and metrics in range, and an error is explained in one line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ncu/bound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct plumb_ncu_kernel *k)
{
    double dram = k->metric[PLUMB_NCU_DRAM];
    enum plumb_ncu_bound bound = plumb_ncu_bound_of(k);
    if (!k->name[0] || !k->id || !k->block || !k->grid || k->launches == 0)
        abort();
    for (unsigned m = 0; m < PLUMB_NCU_METRICS; m++)
        if (!isnan(k->metric[m]) && !(k->metric[m] >= 0))
            abort();
    if (isnan(dram) && bound != PLUMB_NCU_UNKNOWN)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_ncu report;
    plumb_error err = {0, ""};
    int rc = plumb_ncu_parse(&report, (const char *)data, size, "input", &err);
    if (rc != PLUMB_OK) {
        if (!err.message[0] || strchr(err.message, '\n'))
            abort();
        return 0;
    }
    if (report.count == 0)
        abort();
    for (size_t i = 0; i < report.count; i++)
        check(&report.kernels[i]);
    plumb_ncu_fini(&report);
    return 0;
}
