/* rules.h: the rules of a gate, as a text file of the user's repository has them.
 *
 *     # one dispatch for the whole cascade
 *     [fused chain]
 *     metric = dispatches
 *     node   = chain
 *     per    = call
 *     limit  = == 1
 *     why    = fusion is the reason for this library; a second dispatch says that it broke
 *
 *     file    = { blank | comment | block | entry }
 *     comment = "#" text
 *     block   = "[" name "]"              begins a rule; the name is unique in the file
 *     entry   = key "=" value             of the rule above it; each key once
 *
 * A value ends with its line; there are no quotes, escapes or continued lines, so that a diff of
 * the file shows all that changed. docs/gates.md has the keys. Everything that is not known, that
 * comes twice or that no result can meet is an error with its line: a rule that is misread passes
 * for ever. The format is our own because errors need the line of each key and each value, which
 * the libraries for INI and TOML of Debian do not keep.
 *
 * Rules never change after they were read: any number of threads may look at them. */
#ifndef PLUMB_ANALYZE_GATE_RULES_H
#define PLUMB_ANALYZE_GATE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "config/step_list.h"
#include <plumb/error.h>

enum plumb_gate_quantity {
    PLUMB_GATE_TIME,  /* ns; of repeated samples */
    PLUMB_GATE_BYTES, /* whole numbers */
    PLUMB_GATE_COUNT,
    PLUMB_GATE_SIGNED, /* a count that may be below 0 */
    PLUMB_GATE_SIZE    /* a number of which there are samples, as of a time */
};

/* Keys of a rule that choose what it measures. */
enum plumb_gate_selector {
    PLUMB_GATE_NODE = 1,
    PLUMB_GATE_PHASE = 2,
    PLUMB_GATE_STEP = 4,
    PLUMB_GATE_NAME = 8, /* of a count */
    PLUMB_GATE_PER = 16,
    PLUMB_GATE_COMMAND = 32
};

struct plumb_gate_metric {
    const char *name;
    enum plumb_gate_quantity quantity;
    uint32_t takes, needs; /* enum plumb_gate_selector, added up */
    const char *help;
    bool kept; /* by the history */
};

/* metric.c: the table of metrics. NULL: beyond the last; unknown. */
const struct plumb_gate_metric *plumb_gate_metric(size_t i);
const struct plumb_gate_metric *plumb_gate_metric_find(const char *name);
/* Whether its values are whole numbers, and not samples. */
bool plumb_gate_is_whole(const struct plumb_gate_metric *metric);

enum plumb_gate_op {
    PLUMB_GATE_EQUAL,
    PLUMB_GATE_DIFFERENT,
    PLUMB_GATE_AT_MOST,
    PLUMB_GATE_BELOW,
    PLUMB_GATE_AT_LEAST,
    PLUMB_GATE_ABOVE
};

/* One comparison with `of_old` * old + `add`. */
struct plumb_gate_bound {
    enum plumb_gate_op op;
    double of_old; /* 0: a fixed limit */
    double add;    /* ns, bytes or a number */
    bool whole;    /* `exact` is `add`, and `of_old` is 0 or 1: compared as integers */
    int64_t exact;
    int64_t times, parts; /* `of_old` is times / parts; parts of 0: it has too many digits */
    bool percent;         /* of the size of `old`, which may be below 0 */
};

enum { PLUMB_GATE_BOUNDS = 2 };

/* The comparisons that hold on one kind of machine. */
struct plumb_gate_limit {
    const char *device; /* part of the machine's name; NULL: every machine */
    const char *text;   /* as it stands in the file */
    bool none;          /* "none": the rule does not apply there */
    struct plumb_gate_bound bound[PLUMB_GATE_BOUNDS]; /* all must hold */
    size_t bounds;
    uint32_t line;
};

enum plumb_gate_old {
    PLUMB_GATE_OLD_GIVEN,   /* the old results of the command line, or variant A of a pair */
    PLUMB_GATE_OLD_NODE,    /* another node of the same result */
    PLUMB_GATE_OLD_HISTORY, /* the baseline of the history */
};

enum plumb_gate_missing { /* what a rule says that nothing in the results matches */
                          PLUMB_GATE_MISSING_UNKNOWN,
                          PLUMB_GATE_MISSING_SKIP
};

struct plumb_gate_rule {
    const char *name;
    uint32_t line;
    const struct plumb_gate_metric *metric;
    const char *node, *phase, *count_name; /* shell patterns; NULL: not given */
    const char *step_text;                 /* NULL: the whole run */
    struct plumb_step_list steps;
    bool per_call;
    const char *command;             /* whose exit status is measured; NULL */
    struct plumb_gate_limit *limits; /* in the order of the file; the one for every machine last */
    size_t limit_count;
    bool compares; /* with an old value: a bound has `of_old` */
    enum plumb_gate_old old;
    const char *old_node;
    double floor;    /* absolute change that never counts as worse */
    uint32_t rounds; /* for plumb ab; 0: its default */
    enum plumb_gate_missing missing;
    const char *why;
};

struct plumb_gate_rules {
    struct plumb_arena arena;
    const char *path;
    struct plumb_gate_rule *rules;
    size_t count, cap;
};

/* Reads `text` [size]; `path` is what errors call it. PLUMB_ERR_FORMAT: "PATH:LINE: ...";
 * PLUMB_ERR_MEMORY. After an error there is nothing to free. */
int plumb_gate_rules_parse(struct plumb_gate_rules *out, const char *text, size_t size,
                           const char *path, plumb_error *err);
void plumb_gate_rules_fini(struct plumb_gate_rules *rules);

/* limit.c: reads the value of a limit, as "<= old + 5 %" or ">= 1, <= 3". Sets all but `device` and
 * `line`. Returns NULL, or what is wrong, which lies in `why`. */
enum { PLUMB_GATE_WHY = 560 };
const char *plumb_gate_limit_parse(struct plumb_gate_limit *out, const char *text,
                                   enum plumb_gate_quantity quantity, char why[PLUMB_GATE_WHY]);
/* Reads "256 MB", "0.5 s" or "3" as ns, bytes or a number. `percent`: not NULL: a "%" is allowed,
 * and sets it. Returns what follows the number, or NULL. */
const char *plumb_gate_amount(double *out, bool *percent, const char *text,
                              enum plumb_gate_quantity quantity);

/* The limit for a machine whose name has `machine`; NULL: none of them is meant for it. */
const struct plumb_gate_limit *plumb_gate_limit_for(const struct plumb_gate_rule *rule,
                                                    const char *machine);

#endif
