/* read.h: read recordings of plumb. The interface of libplumb-read, which the `plumb` command uses.
 *
 *     plumb_report *report;
 *     plumb_error err;
 *     char *text;
 *     if (plumb_report_open(&report, NULL, &err) < 0)          (the newest run)
 *         return fail(err.message);
 *     if (plumb_report_render(&text, report, NULL, &err) == 0) {
 *         puts(text);
 *         plumb_read_free(text);
 *     }
 *     plumb_report_close(report);
 *
 * | You want to                                    | Include                    |
 * |------------------------------------------------|----------------------------|
 * | list, prune or recover run directories         | <plumb/read/run.h>         |
 * | watch the run of a running process             | <plumb/read/live.h>        |
 * | print the tables of a run                      | <plumb/read/report.h>      |
 * | read or print a timeline                       | <plumb/read/trace.h>       |
 * | convert a timeline for another tool            | <plumb/read/export.h>      |
 * | print the kernels of an Nsight Compute report  | <plumb/read/ncu.h>         |
 * | compare runs                                   | <plumb/read/compare.h>     |
 * | keep results over time, and find baselines     | <plumb/read/history.h>     |
 * | find where the outputs of two runs part        | <plumb/read/diverge.h>     |
 * | print the recorded outputs of layers           | <plumb/read/activation.h>  |
 * | run one stage alone and measure it             | <plumb/read/bench.h>       |
 * | check results against rules                    | <plumb/read/gate.h>        |
 * | count dispatches per iteration of a program    | <plumb/read/launches.h>    |
 * | compare kernels with the peaks of the machine  | <plumb/read/deep.h>        |
 * | measure the energy of a command or a scope     | <plumb/read/energy.h>      |
 * | list or check settings                         | <plumb/read/setting.h>     |
 * | know what this machine can record              | <plumb/read/doctor.h>      |
 * | watch and steer running processes              | <plumb/control.h>          |
 * | translate names of other profilers             | <plumb/read/predecessor.h> |
 * | free a text, or get the version of the library | <plumb/read/text.h>        |
 *
 * Rules
 *   - Zero or more is success, less is an enum plumb_status; outputs are set only on success.
 *   - Nothing prints, exits or aborts on input. No state is kept between calls.
 *   - Any thread may call anything; one object belongs to one thread at a time.
 *   - The caller owns what _open() returns until _close(), which frees it and takes NULL. Texts
 *     returned through `char **` are freed with plumb_read_free(); those inside structs, or
 *     returned as `const char *`, belong to the object they were read from.
 *   - Options structs start with their size; zero means the default, NULL means all defaults.
 *   - Two statuses are not repeated in each comment: PLUMB_ERR_MEMORY, and PLUMB_ERR_ARG for
 *     options without a size, an unknown value of an enum, or a path of 4096 bytes or more.
 *   - Cost: opening reads whole files, once; rendering is O(rows); what returns a number, a name or
 *     columns is O(1) and copies no data.
 */
#ifndef PLUMB_READ_H
#define PLUMB_READ_H

#include <plumb/read/activation.h>
#include <plumb/read/bench.h>
#include <plumb/read/compare.h>
#include <plumb/read/deep.h>
#include <plumb/read/diverge.h>
#include <plumb/read/doctor.h>
#include <plumb/read/energy.h>
#include <plumb/read/export.h>
#include <plumb/read/gate.h>
#include <plumb/read/history.h>
#include <plumb/read/launches.h>
#include <plumb/read/live.h>
#include <plumb/read/metrics.h>
#include <plumb/read/ncu.h>
#include <plumb/read/otlp.h>
#include <plumb/read/predecessor.h>
#include <plumb/read/report.h>
#include <plumb/read/run.h>
#include <plumb/read/setting.h>
#include <plumb/read/text.h>
#include <plumb/read/trace.h>

#endif
