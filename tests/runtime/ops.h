/* ops.h: a thread that records, and says in shared memory how far it has come.
 *
 * Its work is a cycle of operations. The effect of each on the statistics
 * appears with one store into the live mapping, and only then the operation is
 * counted in the shared memory; so at any moment, and after a kill at any
 * instruction, the mapping holds exactly the first n operations, or n + 1. */
#ifndef TESTS_RUNTIME_OPS_H
#define TESTS_RUNTIME_OPS_H

#include "runtime/child.h"

enum { OPS_CYCLE = 8 };

/* The counts that n operations of thread `who` leave. */
struct ops_counts {
    uint64_t inner, inner_failed, inner_abandoned, outer, inner_val, elsewhere;
};

static inline struct ops_counts ops_expected(uint64_t n)
{
    /* A cycle: inner, inner, inner failed, elsewhere, inner in phase val, inner
     * abandoned, inner, outer (around all of them). */
    static const struct ops_counts of_cycle = {3, 1, 1, 1, 1, 1};
    struct ops_counts c = {
        n / OPS_CYCLE * of_cycle.inner,           n / OPS_CYCLE * of_cycle.inner_failed,
        n / OPS_CYCLE * of_cycle.inner_abandoned, n / OPS_CYCLE * of_cycle.outer,
        n / OPS_CYCLE * of_cycle.inner_val,       n / OPS_CYCLE * of_cycle.elsewhere};
    uint64_t rest = n % OPS_CYCLE;
    c.inner += (rest > 0) + (rest > 1) + (rest > 6);
    c.inner_failed += rest > 2;
    c.elsewhere += rest > 3;
    c.inner_val += rest > 4;
    c.inner_abandoned += rest > 5;
    return c;
}

struct ops_names {
    char inner[32], outer[32], elsewhere[32];
};

static inline struct ops_names ops_names_of(unsigned who)
{
    struct ops_names n;
    snprintf(n.inner, sizeof n.inner, "inner.%u", who);
    snprintf(n.outer, sizeof n.outer, "outer.%u", who);
    snprintf(n.elsewhere, sizeof n.elsewhere, "elsewhere.%u", who);
    return n;
}

static inline void ops_inner(plumb_node inner, int mark)
{
    plumb_span s = plumb_begin_node(inner);
    if (mark == 1)
        plumb_span_fail(s, "made to fail");
    else if (mark == 2)
        plumb_span_abandon(s);
    plumb_end(s);
}

/* Runs until `most` operations are done (0: for ever), counting them in *done.
 */
static inline void ops_run(unsigned who, uint64_t *done, uint64_t most)
{
    struct ops_names names = ops_names_of(who);
    plumb_node inner = plumb_node_get(names.inner), outer = plumb_node_get(names.outer);
    plumb_node elsewhere = plumb_node_get(names.elsewhere);
    plumb_span around = {0};
    for (uint64_t n = 0; !most || n < most; n++) {
        switch (n % OPS_CYCLE) {
        case 0:
            around = plumb_begin_node(outer);
            ops_inner(inner, 0);
            break;
        case 2:
            ops_inner(inner, 1);
            break;
        case 3:
            plumb_record_ns(elsewhere, 1000 + n % 100);
            break;
        case 4: {
            PLUMB_PHASE("val");
            ops_inner(inner, 0);
            __atomic_store_n(done, n + 1, __ATOMIC_RELEASE);
            break;
        }
        case 5:
            ops_inner(inner, 2);
            break;
        case 7:
            plumb_end(around);
            break;
        default:
            ops_inner(inner, 0);
        }
        __atomic_store_n(done, n + 1, __ATOMIC_RELEASE);
    }
}

static inline bool ops_match(const struct plumb_timing *t, unsigned who, uint64_t n)
{
    struct ops_names names = ops_names_of(who);
    struct ops_counts want = ops_expected(n);
    const struct plumb_timing_node *inner = node_in(t, "inference", names.inner);
    const struct plumb_timing_node *val = node_in(t, "val", names.inner);
    const struct plumb_timing_node *outer = node_in(t, "inference", names.outer);
    const struct plumb_timing_node *elsewhere = node_in(t, "inference", names.elsewhere);
    return (inner ? inner->host.ns.count : 0) == want.inner &&
           (inner ? inner->failures : 0) == want.inner_failed &&
           (inner ? inner->abandoned : 0) == want.inner_abandoned &&
           (val ? val->host.ns.count : 0) == want.inner_val &&
           (outer ? outer->host.ns.count : 0) == want.outer &&
           (elsewhere ? elsewhere->host.ns.count : 0) == want.elsewhere;
}

/* How many operations the report holds: `done`, or the one more that was not
 * yet counted. */
static inline uint64_t ops_found(const struct plumb_timing *t, unsigned who, uint64_t done)
{
    struct ops_names names = ops_names_of(who);
    if (ops_match(t, who, done))
        return done;
    if (!ops_match(t, who, done + 1))
        fail_msg("thread %u had done %" PRIu64 " operations; the report has %" PRIu64
                 " inner, %" PRIu64 " outer",
                 who, done, count_of(t, names.inner), count_of(t, names.outer));
    return done + 1;
}

#endif
