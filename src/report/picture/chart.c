/* chart.c: see chart.h. */
#include "report/picture/chart.h"

#include <math.h>
#include <stddef.h>

#include "summary/cells.h"

struct unit {
    double size;
    const char *name;
};

static const struct unit byte_units[] = {
    {1, "B"},
    {1024, "KiB"},
    {1048576, "MiB"},
    {1073741824, "GiB"},
    {1099511627776.0, "TiB"},
    {1125899906842624.0, "PiB"},
    {1152921504606846976.0, "EiB"},
};
enum { BYTE_UNITS = sizeof byte_units / sizeof *byte_units };

static const struct unit time_units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
enum { TIME_UNITS = sizeof time_units / sizeof *time_units };

/* The largest unit that `value` holds at least once. */
static const struct unit *unit_for(const struct unit *units, size_t n, double value)
{
    size_t i = 0;
    while (i + 1 < n && value >= units[i + 1].size)
        i++;
    return &units[i];
}

/* The least of 1, 2, 5, 10, 20, ... and their tenths that is not below `value`. */
static double round_up(double value)
{
    double power = pow(10, floor(log10(value)));
    for (int i = 0; i < 3; i++) {
        static const double steps[] = {1, 2, 5};
        if (value <= steps[i] * power * (1 + 1e-9))
            return steps[i] * power;
    }
    return 10 * power;
}

static struct plumb_chart_axis axis_of(double from, double to, int ticks, const struct unit *unit)
{
    double step = round_up((to - from) / unit->size / ticks);
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    return (struct plumb_chart_axis){from, to, step * unit->size, unit->size, unit->name, decimals};
}

struct plumb_chart_axis plumb_chart_time(double from_ns, double to_ns, int ticks)
{
    if (!(to_ns > from_ns))
        to_ns = from_ns + 1;
    return axis_of(from_ns, to_ns, ticks, unit_for(time_units, TIME_UNITS, to_ns));
}

struct plumb_chart_axis plumb_chart_bytes(double most, int ticks)
{
    if (!(most >= 1))
        most = 1;
    struct plumb_chart_axis axis = axis_of(0, most, ticks, unit_for(byte_units, BYTE_UNITS, most));
    if (axis.step < 1) /* half a byte does not exist */
        axis = (struct plumb_chart_axis){0, most, 1, 1, "B", 0};
    axis.to = axis.step * ceil(most / axis.step - 1e-9);
    return axis;
}

double plumb_chart_first(const struct plumb_chart_axis *axis)
{
    return axis->step * ceil(axis->from / axis->step - 1e-9);
}

void plumb_chart_label(struct plumb_buf *out, const struct plumb_chart_axis *axis, double tick)
{
    plumb_put_fixed(out, tick / axis->unit, axis->decimals, 0);
}

void plumb_put_bytes(struct plumb_buf *out, double bytes)
{
    double size = bytes < 0 ? -bytes : bytes;
    const struct unit *unit = unit_for(byte_units, BYTE_UNITS, size);
    plumb_put_fixed(out, bytes / unit->size, unit->size > 1 ? 1 : 0, 0);
    plumb_buf_char(out, ' ');
    plumb_buf_str(out, unit->name);
}

void plumb_put_duration(struct plumb_buf *out, double ns)
{
    static const int decimals[] = {0, 2, 2, 3};
    const struct unit *unit = unit_for(time_units, TIME_UNITS, ns);
    plumb_put_fixed(out, ns / unit->size, decimals[unit - time_units], 0);
    plumb_buf_char(out, ' ');
    plumb_buf_str(out, unit->name);
}
