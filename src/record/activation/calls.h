/* calls.h: how often a run has already recorded a label of a module in a step: the `call` of a
 * record. Exact for the 65,535 triples of module, label and step that were counted last, and for up
 * to as many before those.
 *
 * Of forgotten triples only the latest step and the highest count are kept. A triple of a later
 * step is new and begins with 0. One of an earlier step continues from that count, so no triple
 * gets one `call` twice. Memory: 4 MiB at most. The caller locks. */
#ifndef PLUMB_RECORD_ACTIVATION_CALLS_H
#define PLUMB_RECORD_ACTIVATION_CALLS_H

#include <stdint.h>

#include "base/map.h"

enum { PLUMB_ACT_CALLS_PART = 65535 /* a map that holds one more doubles */ };

struct plumb_act_calls_most { /* of some triples */
    int64_t last_step;        /* meaningful where `in_steps` is not 0 */
    uint64_t in_steps;        /* the most calls of one of them that has a step ... */
    uint64_t outside;         /* ... and of one that has none */
};

struct plumb_act_calls { /* zeroed is empty */
    struct {
        struct plumb_map counts;
        struct plumb_act_calls_most most;
    } recent, before;
    struct plumb_act_calls_most forgotten;
};

/* Returns how often it was called before with this pair of a hash of module and label, and a step
 * (negative: none). If that was forgotten, returns a number above all that it has returned for the
 * pair. */
uint64_t plumb_act_calls_next(struct plumb_act_calls *c, uint64_t label, int64_t step);
void plumb_act_calls_clear(struct plumb_act_calls *c); /* empty, with its memory */

#endif
