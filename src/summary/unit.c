/* unit.c: the choice of a unit, and of decimals. */
#include "summary/unit.h"

#include "summary/cells.h"

enum { MOST_DECIMALS = 12 };

static const struct plumb_unit units[] = {
    [PLUMB_TIME_IN_NS] = {"ns", 1, 1, false, 1},
    [PLUMB_TIME_IN_US] = {"us", 1e3, 2, false, 1e3},
    [PLUMB_TIME_IN_MS] = {"ms", 1e6, 2, true, 1e5},
    [PLUMB_TIME_IN_S] = {"s", 1e9, 3, true, 1e7},
};

const struct plumb_unit *plumb_unit(enum plumb_unit_choice choice)
{
    return &units[choice];
}

static double scaled(const struct plumb_unit *unit, double ns, int decimals)
{
    double v = (ns < 0 ? -ns : ns) / unit->ns;
    while (decimals-- > 0)
        v *= 10;
    return v;
}

static const double TWO_DIGITS = 10;
static const double THREE_DIGITS = 100;
static const double ROUNDING = 1e-6;

/* Whether `decimals` show so many digits of the time (TWO_DIGITS, ...), or all that it has. */
static bool is_shown(const struct plumb_unit *unit, double ns, int decimals, double digits)
{
    double v = scaled(unit, ns, decimals);
    if (!(v < digits)) /* or not a number */
        return true;
    double rest = v - (double)(int)(v + 0.5);
    return v == 0 || (unit->usual && v > 0.5 && rest < ROUNDING && rest > -ROUNDING);
}

static bool all_shown(const struct plumb_unit *unit, const double *ns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_shown(unit, ns[i], unit->decimals, TWO_DIGITS))
            return false;
    return true;
}

/* Whether that many percent of the times that are not 0 are `least_ns` or more. */
static bool reach(unsigned percent, double least_ns, const double *ns, size_t n)
{
    size_t some = 0;
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all += ns[i] > 0;
        some += ns[i] >= least_ns;
    }
    return 100 * some >= percent * all;
}

const struct plumb_unit *plumb_unit_for(enum plumb_unit_choice choice, enum plumb_unit_choice usual,
                                        const double *ns, size_t n)
{
    if (choice != PLUMB_TIME_IN_AUTO)
        return &units[choice];
    if (all_shown(&units[usual], ns, n) || reach(40, units[usual].least, ns, n))
        return &units[usual];
    for (int i = PLUMB_TIME_IN_S; i > PLUMB_TIME_IN_NS; i--)
        if (reach(50, units[i].ns, ns, n))
            return &units[i];
    return &units[PLUMB_TIME_IN_NS];
}

int plumb_unit_decimals(const struct plumb_unit *unit, double ns, int least)
{
    int decimals = least;
    if (!is_shown(unit, ns, decimals, THREE_DIGITS))
        while (decimals < MOST_DECIMALS && scaled(unit, ns, decimals) < THREE_DIGITS - ROUNDING)
            decimals++;
    return decimals;
}

void plumb_unit_put(struct plumb_buf *out, const struct plumb_unit *unit, double ns, size_t width)
{
    plumb_put_fixed(out, ns / unit->ns, plumb_unit_decimals(unit, ns, unit->decimals), width);
}

void plumb_unit_put_any(struct plumb_buf *out, double ns)
{
    int i = PLUMB_TIME_IN_S;
    while (i > PLUMB_TIME_IN_NS && ns < units[i].ns)
        i--;
    plumb_unit_put(out, &units[i], ns, 0);
    plumb_buf_char(out, ' ');
    plumb_buf_str(out, units[i].name);
}
