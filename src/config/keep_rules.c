/* keep_rules.c: see keep_rules.h. No state. */
#include "config/keep_rules.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ascii.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the nanoseconds of a time such as "50ms"; 0 if the text is not a time. strtod() is not
 * used, because it expects the decimal separator of the program's locale. */
static uint64_t parse_time(const char *text, size_t n)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double digits = 0, parts = 1;
    size_t i = 0;
    if (n == 0 || n > 32 || !is_digit(text[0]))
        return 0;
    for (; i < n && is_digit(text[i]); i++)
        digits = digits * 10 + (text[i] - '0');
    if (i < n && text[i] == '.')
        for (i++; i < n && is_digit(text[i]); i++, parts *= 10)
            digits = digits * 10 + (text[i] - '0');
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        double ns = digits * units[u].ns / parts;
        if (strlen(units[u].unit) == n - i && memcmp(text + i, units[u].unit, n - i) == 0 &&
            ns >= 1 && ns < 1e18)
            return (uint64_t)ns;
    }
    return 0;
}

int plumb_keep_rules_parse(struct plumb_keep_rules *out, const char *text, plumb_error *err)
{
    const char *p = text;
    memset(out, 0, sizeof *out);
    while (*p) {
        size_t n = strcspn(p, ","), name = n;
        struct plumb_keep_rule *r = &out->rule[out->count];
        if (out->count == PLUMB_KEEP_RULES) {
            out->count = 0;
            return plumb_fail(err, PLUMB_ERR_ARG, "'%.80s' has more than %d rules: leave some out",
                              text, PLUMB_KEEP_RULES);
        }
        while (name > 0 && p[name] != '>')
            name--;
        r->over_ns = name ? parse_time(p + name + 1, n - name - 1) : 0;
        if (!r->over_ns || name >= sizeof r->node) {
            out->count = 0;
            return plumb_fail(
                err, PLUMB_ERR_ARG,
                "'%.80s' is not a list of rules such as denoise_step>50ms (ns, us, ms, s)", text);
        }
        memcpy(r->node, p, name);
        out->count++;
        p += n + (p[n] == ',');
    }
    return PLUMB_OK;
}

int plumb_keep_signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2},   {"HUP", SIGHUP},  {"PROF", SIGPROF},
                 {"QUIT", SIGQUIT}, {"WINCH", SIGWINCH}, {"URG", SIGURG},  {"IO", SIGIO},
                 {"PWR", SIGPWR},   {"ALRM", SIGALRM},   {"CONT", SIGCONT}};
    char *rest;
    long number = strtol(name, &rest, 10);
    if (name[0] && !*rest && number > 0 && number < 65 && number != SIGKILL && number != SIGSTOP)
        return (int)number;
    if (plumb_ascii_equal_n(name, "SIG", 3))
        name += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (plumb_ascii_equal(name, names[i].name))
            return names[i].number;
    return 0;
}
