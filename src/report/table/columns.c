/* columns.c: the columns of a summary row. No state; the table is constant. */
#include "report/table/columns.h"

#include <string.h>

#define AT(member) offsetof(struct plumb_summary_row, member)

static const struct plumb_column table[] = {
    {"pipeline", NULL, "the pipeline that the node ran in", PLUMB_COLUMN_TEXT, AT(pipeline), 0},
    {"node", "Node", "name of the node", PLUMB_COLUMN_TEXT, AT(node), 40},
    {"phase", "Stage", "phase of the run: inference, train, val, test, or one of the program's",
     PLUMB_COLUMN_TEXT, AT(phase), 12},
    {"count", "Count", "samples: runs that ended, without skipped and failed ones",
     PLUMB_COLUMN_COUNT, AT(count), 7},
    {"mean_ms", "Mean(ms)", "arithmetic mean of one run", PLUMB_COLUMN_MS, AT(mean_ms), 10},
    {"std_ms", "Std(ms)", "standard deviation of the population", PLUMB_COLUMN_MS, AT(std_ms), 10},
    {"min_ms", "Min(ms)", "shortest run", PLUMB_COLUMN_MS, AT(min_ms), 10},
    {"max_ms", "Max(ms)", "longest run", PLUMB_COLUMN_MS, AT(max_ms), 10},
    {"median_ms", "Median(ms)",
     "the middle run, the mean of the two middle ones of an even count, by the estimator of column "
     "median_estimator",
     PLUMB_COLUMN_MS, AT(median_ms), 10},
    {"total_ms", "Total(s)", "sum of all runs, nested nodes included", PLUMB_COLUMN_SECONDS,
     AT(total_ms), 10},
    {"self_ms", "Self(s)", "total without the time of nodes nested in it", PLUMB_COLUMN_SECONDS,
     AT(self_ms), 10},
    {"percent", "Share(%)", "own time of the node in the time of its pipeline; adds up to 100",
     PLUMB_COLUMN_PERCENT, AT(percent), 8},
    {"p50_ms", NULL, "50th percentile, within 0.8 % (exact up to 5 samples)", PLUMB_COLUMN_MS,
     AT(p50_ms), 0},
    {"p90_ms", "P90(ms)", "90th percentile, within 0.8 %", PLUMB_COLUMN_MS, AT(p90_ms), 10},
    {"p95_ms", "P95(ms)", "95th percentile, within 0.8 %", PLUMB_COLUMN_MS, AT(p95_ms), 10},
    {"p99_ms", "P99(ms)", "99th percentile, within 0.8 %", PLUMB_COLUMN_MS, AT(p99_ms), 10},
    {"last_ms", NULL, "the run that ended last", PLUMB_COLUMN_MS, AT(last_ms), 0},
    {"device_count", "Dev", "samples of device time", PLUMB_COLUMN_COUNT, AT(device_count), 7},
    {"device_mean_ms", "Dev mean", "mean device time of one run, in ms", PLUMB_COLUMN_MS,
     AT(device_mean_ms), 11},
    {"device_median_ms", NULL, "median of the device time", PLUMB_COLUMN_MS, AT(device_median_ms),
     0},
    {"device_total_ms", "Dev tot(s)", "sum of all device time", PLUMB_COLUMN_SECONDS,
     AT(device_total_ms), 11},
    {"device_times", NULL,
     "events: the device reported its work; synced: host times hold it; launch: launch times only",
     PLUMB_COLUMN_TEXT, AT(device_times), 0},
    {"launched_ms", NULL, "device time of the work that it launched, whatever node in it did",
     PLUMB_COLUMN_MS, AT(launched_ms), 0},
    {"wait_ms", NULL, "host time that it waited for work of devices", PLUMB_COLUMN_MS, AT(wait_ms),
     0},
    {"skipped", "Skipped", "runs dropped at the start (skip_first_n)", PLUMB_COLUMN_COUNT,
     AT(skipped), 7},
    {"failures", "Failed", "runs marked as failed; they leave no sample", PLUMB_COLUMN_COUNT,
     AT(failures), 7},
    {"threads", "Threads", "threads that ran the node", PLUMB_COLUMN_THREADS, AT(threads), 7},
    {"median_estimator", NULL, "how the median was found: exact, sketch (within 0.8 %) or p2",
     PLUMB_COLUMN_ESTIMATOR, AT(median_estimator), 0},
    /* Where the collector `sched` ran: */
    {"on_cpu_ms", "On CPU(s)", "total without the time that its threads did not run",
     PLUMB_COLUMN_SECONDS, AT(on_cpu_ms), 10},
    {"preempted_ms", "Preempted(s)", "time in which a thread could have run, and another one did",
     PLUMB_COLUMN_SECONDS, AT(preempted_ms), 12},
    {"blocked_ms", "Blocked(s)", "time in which a thread waited: for a lock, a device, a timer",
     PLUMB_COLUMN_SECONDS, AT(blocked_ms), 10},
    {"switches", "Switches", "how often a thread stopped running in it", PLUMB_COLUMN_COUNT,
     AT(switches), 8},
    {"migrations", "Moved", "how often it went on on another processor", PLUMB_COLUMN_COUNT,
     AT(migrations), 7},
};
enum { SCHED = 5, COLUMNS = sizeof table / sizeof *table };

const struct plumb_column *plumb_columns_wide(const struct plumb_summary *s, size_t *n)
{
    bool any = false;
    for (size_t i = 0; i < s->count; i++)
        any |= s->rows[i].switches > 0;
    *n = any ? COLUMNS : COLUMNS - SCHED;
    return table;
}

static const void *member(const struct plumb_column *c, const struct plumb_summary_row *row)
{
    return (const char *)row + c->offset;
}

static double number(const struct plumb_column *c, const struct plumb_summary_row *row)
{
    double v;
    memcpy(&v, member(c, row), sizeof v);
    return v;
}

static uint64_t whole(const struct plumb_column *c, const struct plumb_summary_row *row)
{
    uint64_t wide = 0;
    uint32_t narrow;
    if (c->type == PLUMB_COLUMN_COUNT) {
        memcpy(&wide, member(c, row), sizeof wide);
        return wide;
    }
    memcpy(&narrow, member(c, row), sizeof narrow);
    return narrow;
}

const char *plumb_column_text(const struct plumb_column *c, const struct plumb_summary_row *row)
{
    const char *text;
    if (c->type == PLUMB_COLUMN_ESTIMATOR)
        return plumb_timing_estimator_name((uint32_t)whole(c, row));
    memcpy(&text, member(c, row), sizeof text);
    return text;
}

const struct plumb_unit *plumb_column_unit(const struct plumb_column *c,
                                           const struct plumb_summary *s, size_t begin, size_t end)
{
    bool of_device = strncmp(c->key, "device_", 7) == 0;
    if (c->type == PLUMB_COLUMN_MS) /* times of one run have one unit, so that they can be compared
                                     */
        return plumb_summary_unit(s, begin, end, of_device ? c->offset : AT(mean_ms),
                                  PLUMB_TIME_IN_MS);
    if (c->type == PLUMB_COLUMN_SECONDS)
        return plumb_summary_unit(s, begin, end, c->offset, PLUMB_TIME_IN_S);
    return NULL;
}

void plumb_column_title(struct plumb_buf *out, const struct plumb_column *c,
                        const struct plumb_unit *unit)
{
    const char *usual = unit ? strrchr(c->title, '(') : NULL;
    if (usual)
        plumb_buf_printf(out, "%.*s(%s)", (int)(usual - c->title), c->title, unit->name);
    else if (unit && unit != plumb_unit(PLUMB_TIME_IN_MS))
        plumb_buf_printf(out, "%s %s", c->title, unit->name);
    else
        plumb_buf_str(out, c->title);
}

void plumb_column_put(struct plumb_buf *out, const struct plumb_column *c,
                      const struct plumb_summary_row *row, const struct plumb_unit *unit)
{
    switch (c->type) {
    case PLUMB_COLUMN_TEXT:
    case PLUMB_COLUMN_ESTIMATOR:
        plumb_put_left(out, plumb_column_text(c, row), 0);
        break;
    case PLUMB_COLUMN_COUNT:
    case PLUMB_COLUMN_THREADS:
        plumb_put_count(out, whole(c, row), 0);
        break;
    case PLUMB_COLUMN_PERCENT:
        plumb_put_fixed(out, number(c, row), 1, 0);
        break;
    case PLUMB_COLUMN_SECONDS:
    case PLUMB_COLUMN_MS:
        plumb_unit_put(out, unit, number(c, row) * 1e6, 0);
        break;
    }
}

void plumb_column_json(struct plumb_json *j, const struct plumb_column *c,
                       const struct plumb_summary_row *row)
{
    switch (c->type) {
    case PLUMB_COLUMN_TEXT:
    case PLUMB_COLUMN_ESTIMATOR:
        plumb_json_str(j, plumb_column_text(c, row));
        break;
    case PLUMB_COLUMN_COUNT:
    case PLUMB_COLUMN_THREADS:
        plumb_json_u64(j, whole(c, row));
        break;
    case PLUMB_COLUMN_MS:
    case PLUMB_COLUMN_SECONDS:
        plumb_json_f64(j, number(c, row));
        break;
    case PLUMB_COLUMN_PERCENT:
        plumb_json_fixed(j, number(c, row), 1);
        break;
    }
}
