/* pattern.c: translates the constructs that POSIX lacks into POSIX syntax before it compiles a
 * pattern. */
#include "config/pattern.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

/* Returns the POSIX text of class `c` (\d, \w, ...) inside brackets, or NULL if `c` is not a
 * class. */
static const char *class_of(char c)
{
    switch (c) {
    case 'd':
    case 'D':
        return "0-9";
    case 'w':
    case 'W':
        return "A-Za-z0-9_";
    case 's':
    case 'S':
        return " \t\n\r\f\v";
    default:
        return NULL;
    }
}

static char control_of(char c)
{
    static const char names[] = "tnrfv", values[] = "\t\n\r\f\v";
    const char *at = strchr(names, c);
    return at && c ? values[at - names] : '\0';
}

/* Translates a bracket expression; `p` is after its '['. Returns the place after its ']', or NULL
 * with the reason in `why`. In POSIX a backslash means itself there. A literal ']' must come first,
 * '^' not first and '-' last, so these are written at the end. */
static const char *bracket(struct plumb_buf *out, const char *p, const char **why)
{
    bool closing = false, caret = false, dash = false, first = true, some = false;
    plumb_buf_char(out, '[');
    if (*p == '^')
        plumb_buf_char(out, *p++);
    struct plumb_buf rest = {0};
    for (; *p && (*p != ']' || first); p++, first = false) {
        if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
            const char end[] = {p[1], ']', '\0'};
            const char *close = strstr(p + 2, end);
            if (!close) {
                *why = "a class in brackets is not closed";
                break;
            }
            plumb_buf_append(&rest, p, (size_t)(close + 2 - p));
            p = close + 1;
            some = true;
        } else if (*p == '\\' && p[1]) {
            const char *set = class_of(*++p);
            if (set && *p < 'a') {
                *why = "\\D, \\W and \\S cannot stand in brackets";
                break;
            }
            if (set)
                plumb_buf_str(&rest, set);
            else if (*p == ']')
                closing = true;
            else if (*p == '^')
                caret = true;
            else if (*p == '-')
                dash = true;
            else
                plumb_buf_char(&rest, control_of(*p) ? control_of(*p) : *p);
            some = some || set || (*p != ']' && *p != '^' && *p != '-');
        } else if (*p == ']') {
            closing = true;
        } else if (*p == '-' && (first || p[1] == ']')) {
            dash = true;
        } else {
            plumb_buf_char(&rest, *p);
            some = true;
        }
    }
    if (!*p && !*why)
        *why = "a bracket is not closed";
    if (closing)
        plumb_buf_char(out, ']');
    if (rest.data)
        plumb_buf_append(out, rest.data, rest.len);
    if (caret) /* not first; a '^' alone becomes an escape outside brackets */
        plumb_buf_str(out, some || closing ? "^" : dash ? "-^" : "^");
    if (dash && (!caret || some || closing))
        plumb_buf_char(out, '-');
    plumb_buf_char(out, ']');
    if (rest.failed)
        out->failed = true;
    plumb_buf_fini(&rest);
    return *why ? NULL : p + 1;
}

/* Translates a backslash and the character after it, outside brackets. */
static const char *escape(struct plumb_buf *out, const char *p, const char **why)
{
    const char *set = class_of(p[1]);
    if (!p[1]) {
        *why = "it ends in a backslash";
        return NULL;
    }
    if (set)
        plumb_buf_printf(out, "[%s%s]", p[1] < 'a' ? "^" : "", set);
    else if (control_of(p[1]))
        plumb_buf_char(out, control_of(p[1]));
    else if (strchr("bB<>`'", p[1]) ||
             !((p[1] >= 'a' && p[1] <= 'z') || (p[1] >= 'A' && p[1] <= 'Z') ||
               (p[1] >= '0' && p[1] <= '9')))
        plumb_buf_printf(out, "\\%c", p[1]);
    else {
        *why = "a letter or digit after a backslash that means nothing here";
        return NULL;
    }
    return p + 2;
}

static const char *translate(struct plumb_buf *out, const char *p)
{
    const char *why = NULL;
    while (p && *p && !why) {
        if (*p == '\\') {
            p = escape(out, p, &why);
        } else if (*p == '[') {
            p = bracket(out, p + 1, &why);
        } else if (strncmp(p, "(?", 2) == 0) {
            if (p[2] != ':')
                why = "of the groups that begin with (? only (?: is known";
            plumb_buf_char(out, '(');
            p += 3;
        } else {
            plumb_buf_char(out, *p++);
        }
    }
    return why;
}

int plumb_pattern_init(struct plumb_pattern *pattern, const char *text, plumb_error *err)
{
    struct plumb_buf b = {0};
    char why[128];
    const char *problem;
    int rc = 0;
    memset(pattern, 0, sizeof *pattern);
    pattern->any = !text || !*text;
    if (pattern->any)
        return PLUMB_OK;
    problem = translate(&b, text);
    if (b.failed) {
        plumb_buf_fini(&b);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory reading an expression");
    }
    if (!problem && (rc = regcomp(&pattern->compiled, b.data, REG_EXTENDED | REG_NOSUB)) != 0) {
        regerror(rc, &pattern->compiled, why, sizeof why);
        problem = why;
    }
    plumb_buf_fini(&b);
    if (problem)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.200s' is not a regular expression: %s", text,
                          problem);
    return PLUMB_OK;
}

void plumb_pattern_fini(struct plumb_pattern *pattern)
{
    if (!pattern->any)
        regfree(&pattern->compiled);
    pattern->any = true;
}

bool plumb_pattern_matches(const struct plumb_pattern *pattern, const char *text)
{
    return pattern->any || regexec(&pattern->compiled, text, 0, NULL, 0) == 0;
}
