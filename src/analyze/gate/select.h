/* select.h: which values a rule means. A key is what the rows of the report are made of: one
 * (pipeline, phase, node, step, name). No state; any thread. */
#ifndef PLUMB_ANALYZE_GATE_SELECT_H
#define PLUMB_ANALYZE_GATE_SELECT_H

#include "analyze/gate/gate.h"

struct plumb_gate_key {
    const char *pipeline, *phase, *node, *name;
    int64_t step;
    bool of_run;
};

struct plumb_gate_keys {
    struct plumb_gate_key *at;
    size_t count, cap;
};

/* Fills `out` with the keys of the new side that the rule selects, then those that the old side
 * alone has, in the order in which they come; memory of the gate's arena. PLUMB_ERR_MEMORY. */
int plumb_gate_select(struct plumb_gate_keys *out, struct plumb_gate_case *g,
                      const struct plumb_gate_rule *rule, plumb_error *err);

/* Whether the value is one of the rule under the key; with `node`, of that node (a shell pattern)
 * in place of the key's. */
bool plumb_gate_is_of(const struct plumb_gate_value *v, const struct plumb_gate_rule *rule,
                      const struct plumb_gate_key *key, const char *node);

/* Whether the result may have calls of the function that the rule names: as far as is known, its
 * calls were counted. True of other rules. */
bool plumb_gate_was_counted(const struct plumb_gate_source *s, const struct plumb_gate_rule *rule);

/* Whether the highest of several values counts, and not their sum. */
bool plumb_gate_is_peak(const struct plumb_gate_metric *m);

/* The whole number of a source under a key. False: it is not known. Rows of several names are added
 * up where the rule names none; of peaks the highest counts. Nothing was recorded for a node that
 * ran: 0, if the result has this kind of count at all. */
struct plumb_gate_sum {
    int64_t value;
    uint64_t runs; /* of the node; 0: not known */
    const char *wrong;
};
bool plumb_gate_sum(struct plumb_gate_sum *out, const struct plumb_gate_source *source,
                    const struct plumb_gate_rule *rule, const struct plumb_gate_key *key,
                    const char *node);

#endif
