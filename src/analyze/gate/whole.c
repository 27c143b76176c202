/* whole.c: counts and bytes against a bound, exactly: nothing is divided, and integers stay
 * integers wherever the bound is one. */
#include "analyze/gate/gate.h"
#include "base/u128.h"

static bool holds(enum plumb_gate_op op, bool less, bool equal)
{
    switch (op) {
    case PLUMB_GATE_EQUAL:
        return equal;
    case PLUMB_GATE_DIFFERENT:
        return !equal;
    case PLUMB_GATE_AT_MOST:
        return less || equal;
    case PLUMB_GATE_BELOW:
        return less;
    case PLUMB_GATE_AT_LEAST:
        return !less;
    default:
        return !less && !equal;
    }
}

static bool meets_exactly(enum plumb_gate_op op, int64_t value, int64_t limit)
{
    return holds(op, value < limit, value == limit);
}

static bool is_lower(enum plumb_gate_op op)
{
    return op == PLUMB_GATE_AT_LEAST || op == PLUMB_GATE_ABOVE;
}

/* Whether the change from the old value is so small that it does not count. */
static bool below_floor(const struct plumb_gate_bound *b, int64_t value, int64_t old, double floor)
{
    double change = (double)value - (double)old;
    if (!(b->of_old > 0) || !(floor > 0))
        return false;
    if (b->op == PLUMB_GATE_EQUAL)
        change = change < 0 ? -change : change;
    else if (is_lower(b->op))
        change = -change;
    return change <= floor;
}

/* A share of `old`, without rounding: 15 % more than 100 are 115, which 1.15 * 100.0 is not. */
static bool meets_share(const struct plumb_gate_bound *b, int64_t value, int64_t old)
{
    plumb_i128 parts = b->parts, times = b->times, have, limit;
    if (b->percent && old < 0)
        times = 2 * parts - times;
    have = value * parts;
    limit = old * times;
    return holds(b->op, have < limit, have == limit);
}

bool plumb_gate_meets(const struct plumb_gate_bound *b, int64_t value, int64_t low, int64_t high,
                      double floor, uint64_t runs)
{
    int64_t old = is_lower(b->op) ? low : high;
    int64_t limit;
    double about;
    if (b->op == PLUMB_GATE_EQUAL && b->of_old > 0 && low != high)
        old = value < low ? low : value > high ? high : value;
    if (below_floor(b, value, old, floor))
        return true;
    if (b->whole && !__builtin_add_overflow(b->of_old > 0 ? old : 0, b->exact, &limit) &&
        runs <= INT64_MAX && !__builtin_mul_overflow(limit, (int64_t)runs, &limit))
        return meets_exactly(b->op, value, limit);
    if (b->of_old > 0 && b->parts > 0 && b->add == 0 && runs == 1)
        return meets_share(b, value, old);
    about = (b->of_old * (double)old + b->add) * (double)runs;
    return holds(b->op, (double)value < about,
                 !((double)value < about) && !(about < (double)value));
}
