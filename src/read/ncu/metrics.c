/* metrics.c: names, labels, units and numbers of Nsight Compute.
 *
 * Labels are those of the sections "GPU Speed Of Light Throughput" and "Occupancy". A label alone
 * is ambiguous: "Duration" and "DRAM Throughput" are what they seem only in their unit, so a label
 * without a fitting unit is not taken. Names are compared whole: searching for a part of a name
 * would also find the breakdown metrics. */
#include <math.h>
#include <string.h>

#include "read/json/number.h"
#include "read/ncu/metrics.h"

static const struct name {
    const char *text;
    enum plumb_ncu_metric metric;
    bool raw;
} names[] = {
    {"gpu__time_duration.sum", PLUMB_NCU_DURATION, true},
    {"gpu__time_duration.avg", PLUMB_NCU_DURATION, true},
    {"Duration", PLUMB_NCU_DURATION, false},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", PLUMB_NCU_DRAM, true},
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", PLUMB_NCU_DRAM, true},
    {"DRAM Throughput", PLUMB_NCU_DRAM, false},
    {"SOL DRAM", PLUMB_NCU_DRAM, false},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", PLUMB_NCU_SM, true},
    {"Compute (SM) Throughput", PLUMB_NCU_SM, false},
    {"SOL SM", PLUMB_NCU_SM, false},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", PLUMB_NCU_OCCUPANCY, true},
    {"Achieved Occupancy", PLUMB_NCU_OCCUPANCY, false},
};
enum { NAMES = sizeof names / sizeof *names, NUMBER_MAX = 40 };

const char *plumb_ncu_metric_name(enum plumb_ncu_metric metric)
{
    for (unsigned i = 0; i < NAMES; i++)
        if (names[i].metric == metric)
            return names[i].text;
    return "";
}

/* "Label (name)", as --print-metric-name label-name prints it. */
static bool ends_in_name(const char *text, const char *name)
{
    size_t n = strlen(text);
    size_t m = strlen(name);
    return n > m + 2 && text[n - 1] == ')' && text[n - m - 2] == '(' &&
           memcmp(text + n - m - 1, name, m) == 0;
}

struct plumb_ncu_found plumb_ncu_metric_find(const char *text)
{
    for (unsigned i = 0; i < NAMES; i++)
        if (strcmp(text, names[i].text) == 0 || (names[i].raw && ends_in_name(text, names[i].text)))
            return (struct plumb_ncu_found){names[i].metric, i, names[i].raw};
    return (struct plumb_ncu_found){PLUMB_NCU_METRICS, NAMES, false};
}

/* Copies the number without its commas. False: a comma is not one of thousands. */
static bool strip_commas(char out[NUMBER_MAX + 16], const char *text)
{
    size_t n = 0;
    size_t group = 0; /* digits since the last comma, or since the begin */
    bool commas = false;
    bool whole = true; /* before the point */
    for (; *text; text++) {
        if (*text == ',') {
            if (!whole || group == 0 || group > 3 || (commas && group != 3))
                return false;
            commas = true;
            group = 0;
            continue;
        }
        bool digit = *text >= '0' && *text <= '9';
        if (whole && !digit && commas && group != 3 && *text != '-')
            return false;
        if (!digit && *text != '-')
            whole = false;
        group += digit;
        if (n == NUMBER_MAX)
            return false;
        out[n++] = *text;
    }
    return !(whole && commas && group != 3);
}

static double number(const char *text)
{
    char clean[NUMBER_MAX + 16] = ""; /* the reader looks up to 16 bytes beyond the number */
    struct plumb_json_number value = {.kind = PLUMB_JSON_NUMBER_NONE};
    if (!strip_commas(clean, text) || !(*clean == '-' || (*clean >= '0' && *clean <= '9')))
        return NAN;
    const char *end = plumb_json_take_number(clean, &value);
    if (!end || *end || value.kind > PLUMB_JSON_NUMBER_REAL)
        return NAN;
    return value.real;
}

/* ns in a unit of time; 0: not one. ncu has used short and long names. */
static double time_unit(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},        {"nsecond", 1}, {"us", 1e3},     {"usecond", 1e3}, {"ms", 1e6},
                 {"msecond", 1e6}, {"s", 1e9},     {"second", 1e9}, {"sec", 1e9}};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    return 0;
}

double plumb_ncu_value(enum plumb_ncu_metric metric, bool raw_name, const char *text,
                       const char *unit)
{
    double value = number(text);
    if (metric == PLUMB_NCU_DURATION) {
        double ns = time_unit(unit);
        return ns > 0 && value >= 0 ? value * ns : NAN;
    }
    /* A raw name says that it is a percentage. */
    if (strcmp(unit, "%") != 0 && !(raw_name && !*unit))
        return NAN;
    return value >= 0 && value <= 1000 ? value : NAN;
}
