/* keep_rules.h: the conditions of PLUMB_KEEP_IF and PLUMB_KEEP_SIGNAL, under which a flight
 * recorder is read out. Plain data. */
#ifndef PLUMB_CONFIG_KEEP_RULES_H
#define PLUMB_CONFIG_KEEP_RULES_H

#include <stdint.h>

#include <plumb/error.h>

enum { PLUMB_KEEP_RULES = 16, PLUMB_KEEP_WHY = 200 };

struct plumb_keep_rule {
    char node[PLUMB_KEEP_WHY - 80];
    uint64_t over_ns;
};
struct plumb_keep_rules {
    uint32_t count;
    struct plumb_keep_rule rule[PLUMB_KEEP_RULES];
};

/* Reads "NODE>50ms,NODE>2s" (ns, us, ms, s). On PLUMB_ERR_ARG `out` has no rules. */
int plumb_keep_rules_parse(struct plumb_keep_rules *out, const char *text, plumb_error *err);

/* Returns the number of "USR2", "SIGUSR2" or "12"; 0 if it is not a signal that plumb can use. */
int plumb_keep_signal_number(const char *name);

#endif
