/* unit.c: the choice of a unit, and of decimals. */
#include "report/unit.h"

#include "report/summary_table.h"

enum { MOST_DECIMALS = 12 };

static const struct plumb_unit units[] = {
    [PLUMB_TIME_IN_NS] = {"ns", 1, 1, false},
    [PLUMB_TIME_IN_US] = {"us", 1e3, 2, false},
    [PLUMB_TIME_IN_MS] = {"ms", 1e6, 2, true},
    [PLUMB_TIME_IN_S] = {"s", 1e9, 3, true},
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

/* Whether `decimals` show so many digits of the time (TWO_DIGITS, ...), or all that it has. */
static bool is_shown(const struct plumb_unit *unit, double ns, int decimals, double digits)
{
    static const double EXACT = 1e-6;
    double v = scaled(unit, ns, decimals);
    if (!(v < digits)) /* or not a number */
        return true;
    double rest = v - (double)(int)(v + 0.5);
    return v == 0 || (unit->usual && v > 0.5 && rest < EXACT && rest > -EXACT);
}

static bool all_shown(const struct plumb_unit *unit, const double *ns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_shown(unit, ns[i], unit->decimals, TWO_DIGITS))
            return false;
    return true;
}

static bool half_reach(const struct plumb_unit *unit, const double *ns, size_t n)
{
    size_t reach = 0;
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all += ns[i] > 0;
        reach += ns[i] >= unit->ns;
    }
    return 2 * reach >= all;
}

const struct plumb_unit *plumb_unit_for(enum plumb_unit_choice choice, enum plumb_unit_choice usual,
                                        const double *ns, size_t n)
{
    if (choice != PLUMB_TIME_IN_AUTO)
        return &units[choice];
    if (all_shown(&units[usual], ns, n))
        return &units[usual];
    for (int i = PLUMB_TIME_IN_S; i > PLUMB_TIME_IN_NS; i--)
        if (half_reach(&units[i], ns, n))
            return &units[i];
    return &units[PLUMB_TIME_IN_NS];
}

void plumb_unit_put(struct plumb_buf *out, const struct plumb_unit *unit, double ns, size_t width)
{
    int decimals = unit->decimals;
    while (decimals < MOST_DECIMALS && !is_shown(unit, ns, decimals, THREE_DIGITS))
        decimals++;
    plumb_put_fixed(out, ns / unit->ns, decimals, width);
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
