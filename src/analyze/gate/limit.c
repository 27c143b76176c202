/* limit.c: limits of rules.
 *
 *     limit  = "none" | bound [ "," bound ]
 *     bound  = op ( amount | "old" [ "*" number | ("+" | "-") amount ] )
 *     op     = "==" | "!=" | "<=" | "<" | ">=" | ">"
 *     amount = number [ unit ]            of times and bytes a unit is required; of counts and
 *                                         figures that may be below 0, a fixed one may have a "-"
 *     unit   = "ns" | "us" | "ms" | "s" | "B" | "kB" ... "GB" | "KiB" ... "GiB" | "%"
 *
 * "%" and "*" only after "old". Numbers are decimal; "1e6" and "0x10" are refused, because a slip
 * in them is hard to see in a review. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/gate/rules.h"

static const char *skip(const char *p)
{
    return p + strspn(p, " \t");
}

/* An amount: `times` / `parts` exactly, unless it has too many digits (`parts` is 0). */
struct amount {
    double value;
    int64_t times, parts;
    bool percent;
};

static void add_digit(struct amount *a, char digit)
{
    if (a->parts > 0 && (__builtin_mul_overflow(a->times, 10, &a->times) ||
                         __builtin_add_overflow(a->times, digit - '0', &a->times)))
        a->parts = 0;
}

/* Reads digits with at most one point, without the locale. Returns what follows, NULL: no number.
 * */
static const char *read_number(struct amount *a, const char *p)
{
    size_t digits = strspn(p, "0123456789");
    *a = (struct amount){.parts = 1};
    for (size_t i = 0; i < digits; i++) {
        a->value = a->value * 10 + (p[i] - '0');
        add_digit(a, p[i]);
    }
    p += digits;
    if (*p == '.') {
        size_t after = strspn(++p, "0123456789");
        double tenths = 0, place = 1;
        for (size_t i = 0; i < after; i++, place *= 10) {
            tenths = tenths * 10 + (p[i] - '0');
            add_digit(a, p[i]);
            if (__builtin_mul_overflow(a->parts, 10, &a->parts))
                a->parts = 0;
        }
        a->value += tenths / place;
        digits += after;
        p += after;
    }
    return digits > 0 && isfinite(a->value) ? p : NULL;
}

static void multiply(struct amount *a, int64_t factor)
{
    a->value *= (double)factor;
    if (__builtin_mul_overflow(a->times, factor, &a->times))
        a->parts = 0;
}

static void negate(struct amount *a)
{
    a->value = -a->value;
    a->times = a->parts > 0 ? -a->times : 0; /* with too many digits it may be anything */
}

static bool is_whole(const struct amount *a)
{
    return a->parts > 0 && a->times % a->parts == 0;
}

static const struct unit {
    const char *name;
    int quantity; /* enum plumb_gate_quantity */
    int64_t factor;
} units[] = {
    {"ns", PLUMB_GATE_TIME, 1},
    {"us", PLUMB_GATE_TIME, 1000},
    {"ms", PLUMB_GATE_TIME, 1000000},
    {"s", PLUMB_GATE_TIME, 1000000000},
    {"B", PLUMB_GATE_BYTES, 1},
    {"kB", PLUMB_GATE_BYTES, 1000},
    {"MB", PLUMB_GATE_BYTES, 1000000},
    {"GB", PLUMB_GATE_BYTES, 1000000000},
    {"KiB", PLUMB_GATE_BYTES, 1024},
    {"MiB", PLUMB_GATE_BYTES, 1048576},
    {"GiB", PLUMB_GATE_BYTES, 1073741824},
};

static const struct unit *find_unit(const char *p, size_t n, enum plumb_gate_quantity quantity)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].quantity == (int)quantity && strlen(units[i].name) == n &&
            strncmp(units[i].name, p, n) == 0)
            return &units[i];
    return NULL;
}

static const char *read_amount(struct amount *a, bool percents, const char *p,
                               enum plumb_gate_quantity quantity)
{
    const struct unit *unit;
    size_t n;
    p = read_number(a, skip(p));
    if (!p)
        return NULL;
    p = skip(p);
    if (*p == '%') {
        a->percent = true;
        return percents ? p + 1 : NULL;
    }
    n = strcspn(p, " \t,+-*");
    if (quantity != PLUMB_GATE_TIME && quantity != PLUMB_GATE_BYTES)
        return n == 0 ? p : NULL;
    unit = find_unit(p, n, quantity);
    if (!unit && !(n == 0 && a->value == 0)) /* 0 needs no unit */
        return NULL;
    if (unit)
        multiply(a, unit->factor);
    return p + n;
}

const char *plumb_gate_amount(double *out, bool *percent, const char *text,
                              enum plumb_gate_quantity quantity)
{
    struct amount a;
    const char *end = read_amount(&a, percent != NULL, text, quantity);
    if (!end)
        return NULL;
    *out = a.value;
    if (percent)
        *percent = a.percent;
    return end;
}

static const char *read_op(enum plumb_gate_op *out, const char *p)
{
    static const struct {
        const char *text;
        enum plumb_gate_op op;
    } ops[] = {
        {"==", PLUMB_GATE_EQUAL}, {"!=", PLUMB_GATE_DIFFERENT}, {"<=", PLUMB_GATE_AT_MOST},
        {"<", PLUMB_GATE_BELOW},  {">=", PLUMB_GATE_AT_LEAST},  {">", PLUMB_GATE_ABOVE},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strncmp(p, ops[i].text, strlen(ops[i].text)) == 0) {
            *out = ops[i].op;
            return p + strlen(ops[i].text);
        }
    return NULL;
}

static const char *unit_hint(enum plumb_gate_quantity quantity)
{
    return quantity == PLUMB_GATE_TIME    ? "a time with its unit, as 20 ms"
           : quantity == PLUMB_GATE_BYTES ? "bytes with their unit, as 256 MB or 1 GiB"
                                          : "a number, as 3";
}

static void set_share(struct plumb_gate_bound *b, const struct amount *a)
{
    b->times = a->times;
    b->parts = a->parts;
    if (a->percent && (__builtin_mul_overflow(a->parts, 100, &b->parts) ||
                       __builtin_add_overflow(b->parts, a->times, &b->times)))
        b->parts = 0;
    b->percent = a->percent;
    b->of_old = a->percent ? 1 + a->value / 100 : a->value;
}

static void set_added(struct plumb_gate_bound *b, const struct amount *a)
{
    b->add = a->value;
    b->whole = is_whole(a);
    b->exact = b->whole ? a->times / a->parts : 0;
}

/* "* 1.1", "+ 5 %", "- 2" after "old". */
static const char *read_change(struct plumb_gate_bound *b, const char *p,
                               enum plumb_gate_quantity quantity, char why[PLUMB_GATE_WHY])
{
    struct amount a = {0};
    char sign = *p;
    b->whole = true;
    b->of_old = 1;
    if (sign == '*') {
        p = read_number(&a, skip(p + 1));
        if (!p || !(a.value > 0))
            snprintf(why, PLUMB_GATE_WHY, "after 'old *' comes a number above 0, as 1.1");
        set_share(b, &a);
        b->whole = false;
        return p && a.value > 0 ? p : NULL;
    }
    if (sign != '+' && sign != '-')
        return p;
    p = read_amount(&a, true, p + 1, quantity);
    if (!p) {
        snprintf(why, PLUMB_GATE_WHY, "after 'old %c' comes a percentage, as 5 %%, or %s", sign,
                 unit_hint(quantity));
        return NULL;
    }
    if (sign == '-')
        negate(&a);
    if (a.percent) {
        set_share(b, &a);
        b->whole = false;
    } else {
        set_added(b, &a);
    }
    if (b->of_old > 0)
        return p;
    snprintf(why, PLUMB_GATE_WHY, "a value cannot fall by 100 %% or more");
    return NULL;
}

static bool may_be_negative(enum plumb_gate_quantity quantity)
{
    return quantity == PLUMB_GATE_SIGNED || quantity == PLUMB_GATE_SIZE;
}

static const char *read_bound(struct plumb_gate_bound *b, const char *p,
                              enum plumb_gate_quantity quantity, char why[PLUMB_GATE_WHY])
{
    struct amount a;
    const char *text = p;
    bool negative;
    *b = (struct plumb_gate_bound){.of_old = 0};
    p = read_op(&b->op, p);
    if (!p) {
        snprintf(why, PLUMB_GATE_WHY,
                 "'%.40s' does not begin with a comparison (==, !=, <=, <, >=, >)", text);
        return NULL;
    }
    p = skip(p);
    if (strncmp(p, "old", 3) == 0)
        return read_change(b, skip(p + 3), quantity, why);
    text = p;
    negative = may_be_negative(quantity) && *p == '-';
    p = read_amount(&a, false, p + negative, quantity);
    if (!p) {
        snprintf(why, PLUMB_GATE_WHY, "'%.40s' is not %s, nor 'old'", text, unit_hint(quantity));
        return NULL;
    }
    if (negative)
        negate(&a);
    set_added(b, &a);
    return p;
}

/* The whole numbers that can meet fixed bounds, from `least` to `most`. */
struct span {
    long double least, most;
};

static void narrow(struct span *s, const struct plumb_gate_bound *b)
{
    long double at = b->whole ? (long double)b->exact : (long double)b->add;
    if (b->op == PLUMB_GATE_EQUAL || b->op == PLUMB_GATE_AT_LEAST)
        s->least = fmaxl(s->least, ceill(at));
    else if (b->op == PLUMB_GATE_ABOVE)
        s->least = fmaxl(s->least, floorl(at) + 1);
    if (b->op == PLUMB_GATE_EQUAL || b->op == PLUMB_GATE_AT_MOST)
        s->most = fminl(s->most, floorl(at));
    else if (b->op == PLUMB_GATE_BELOW)
        s->most = fminl(s->most, ceill(at) - 1);
}

static bool can_hold_whole(const struct plumb_gate_limit *l, bool is_signed)
{
    struct span s = {is_signed ? (long double)INT64_MIN : 0, (long double)INT64_MAX};
    for (size_t i = 0; i < l->bounds; i++) {
        if (l->bound[i].of_old > 0)
            return true;
        narrow(&s, &l->bound[i]);
    }
    for (size_t i = 0; i < l->bounds; i++) /* the one number that is left */
        if (l->bound[i].op == PLUMB_GATE_DIFFERENT && l->bound[i].whole && s.least == s.most &&
            (long double)l->bound[i].exact == s.least)
            return false;
    return s.least <= s.most;
}

/* Whether any value at all can meet both bounds. */
static bool can_hold(const struct plumb_gate_limit *l, enum plumb_gate_quantity quantity)
{
    double least = -INFINITY, most = INFINITY;
    bool open = false;
    if (quantity != PLUMB_GATE_TIME && quantity != PLUMB_GATE_SIZE)
        return can_hold_whole(l, quantity == PLUMB_GATE_SIGNED);
    for (size_t i = 0; i < l->bounds; i++) {
        const struct plumb_gate_bound *b = &l->bound[i];
        if (b->of_old > 0)
            return true;
        if (b->op == PLUMB_GATE_EQUAL || b->op == PLUMB_GATE_AT_LEAST || b->op == PLUMB_GATE_ABOVE)
            least = fmax(least, b->add);
        if (b->op == PLUMB_GATE_EQUAL || b->op == PLUMB_GATE_AT_MOST || b->op == PLUMB_GATE_BELOW)
            most = fmin(most, b->add);
        open |= b->op == PLUMB_GATE_BELOW || b->op == PLUMB_GATE_ABOVE;
    }
    if (quantity == PLUMB_GATE_TIME && !(most > 0)) /* a time is above 0 */
        return false;
    return least < most || (least == most && !open);
}

const char *plumb_gate_limit_parse(struct plumb_gate_limit *out, const char *text,
                                   enum plumb_gate_quantity quantity, char why[PLUMB_GATE_WHY])
{
    const char *p = skip(text);
    out->bounds = 0;
    out->none = strcmp(p, "none") == 0;
    if (out->none)
        return NULL;
    for (;;) {
        struct plumb_gate_bound *b = &out->bound[out->bounds++];
        p = read_bound(b, skip(p), quantity, why);
        if (!p)
            return why;
        if ((quantity == PLUMB_GATE_TIME || quantity == PLUMB_GATE_SIZE) &&
            (b->op == PLUMB_GATE_EQUAL || b->op == PLUMB_GATE_DIFFERENT)) {
            snprintf(why, PLUMB_GATE_WHY,
                     "two measured values are never equal: compare them with <= or >=");
            return why;
        }
        p = skip(p);
        if (*p != ',' || out->bounds == PLUMB_GATE_BOUNDS)
            break;
        p++;
    }
    if (*p)
        snprintf(why, PLUMB_GATE_WHY, "'%.40s' stands after the limit", p);
    else if (!may_be_negative(quantity) && out->bounds == 1 &&
             out->bound[0].op == PLUMB_GATE_BELOW && out->bound[0].of_old == 0 &&
             !(out->bound[0].add > 0))
        snprintf(why, PLUMB_GATE_WHY, "no value is below 0");
    else if (!can_hold(out, quantity))
        snprintf(why, PLUMB_GATE_WHY, "no value meets '%.60s'", text);
    else
        return NULL;
    return why;
}

const struct plumb_gate_limit *plumb_gate_limit_for(const struct plumb_gate_rule *rule,
                                                    const char *machine)
{
    for (size_t i = 0; i < rule->limit_count; i++)
        if (rule->limits[i].device && machine && strstr(machine, rule->limits[i].device))
            return &rule->limits[i];
    for (size_t i = 0; i < rule->limit_count; i++)
        if (!rule->limits[i].device)
            return &rule->limits[i];
    return NULL;
}
