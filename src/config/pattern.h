/* pattern.h: regular expressions as users of Python write them, on libc's regcomp(): POSIX
 * extended syntax, and also \d \D \w \W \s \S outside brackets, the small ones inside them, and
 * (?:...) for a group. A pattern is searched for in the text; it need not match all of it. Texts
 * are bytes, classes are those of ASCII. Allocates with malloc(); not for signal handlers. */
#ifndef PLUMB_CONFIG_PATTERN_H
#define PLUMB_CONFIG_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include <plumb/error.h>

struct plumb_pattern {
    bool any; /* the empty pattern, which everything matches */
    regex_t compiled;
};

/* Compiles `text`. Errors: PLUMB_ERR_ARG if `text` is not such an expression, and PLUMB_ERR_MEMORY.
 * After an error there is nothing to free. */
int plumb_pattern_init(struct plumb_pattern *pattern, const char *text, plumb_error *err);
void plumb_pattern_fini(struct plumb_pattern *pattern);
/* Returns whether the pattern is found in `text`. Any thread. */
bool plumb_pattern_matches(const struct plumb_pattern *pattern, const char *text);

#endif
