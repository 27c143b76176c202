/* pattern.h: regular expressions as users of Python write them, on libc's regcomp(): POSIX
 * extended, and beside that \d \D \w \W \s \S, outside brackets and (small letters) inside them,
 * and (?:...) for a group. Searched for, not matched as a whole. Always in bytes of the C locale's
 * classes for ASCII text. Takes memory from malloc(); not for signal handlers. */
#ifndef PLUMB_CONFIG_PATTERN_H
#define PLUMB_CONFIG_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include <plumb/error.h>

struct plumb_pattern {
    bool any; /* the empty pattern, which everything matches */
    regex_t compiled;
};

/* PLUMB_ERR_ARG: `text` is no such expression; PLUMB_ERR_MEMORY. Nothing is left to free then. */
int plumb_pattern_init(struct plumb_pattern *pattern, const char *text, plumb_error *err);
void plumb_pattern_fini(struct plumb_pattern *pattern);
/* Any thread. */
bool plumb_pattern_matches(const struct plumb_pattern *pattern, const char *text);

#endif
