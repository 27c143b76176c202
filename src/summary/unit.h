/* unit.h: times in tables for people: one unit for a column, and at least three digits of every
 * measured time. A kernel of 300 ns must not be 0.00 next to a stage of 3 s. No state; any thread.
 * Part of libplumb too. */
#ifndef PLUMB_SUMMARY_UNIT_H
#define PLUMB_SUMMARY_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct plumb_unit {
    const char *name; /* "ms" */
    double ns;
    int decimals; /* of a time that has three digits with them */
    bool usual;   /* scripts know its decimals: a time that is exact with them gets no more */
    double
        least; /* ns; a column stays in a usual unit while two in five of its times are as long */
};

enum plumb_unit_choice {
    PLUMB_TIME_IN_AUTO,
    PLUMB_TIME_IN_NS,
    PLUMB_TIME_IN_US,
    PLUMB_TIME_IN_MS,
    PLUMB_TIME_IN_S
};

/* `choice` is not AUTO. */
const struct plumb_unit *plumb_unit(enum plumb_unit_choice choice);
/* The unit of a column whose `usual` unit scripts know: that, while its decimals show every time,
 * or two in five times are a tenth of it or more (of a second: a hundredth). Otherwise the largest
 * in which half of the times are 1 or more. Times of 0 do not count. Any `choice` but AUTO is the
 * answer. */
const struct plumb_unit *plumb_unit_for(enum plumb_unit_choice choice, enum plumb_unit_choice usual,
                                        const double *ns, size_t n);
/* How many decimals show three digits of `ns`, or all that it has; `least` at least. */
int plumb_unit_decimals(const struct plumb_unit *unit, double ns, int least);
/* Appends `ns` in the unit, without its name: with as many decimals as the unit has, or as three
 * digits need. */
void plumb_unit_put(struct plumb_buf *out, const struct plumb_unit *unit, double ns, size_t width);
/* The same for a time that stands alone: "1.23 us", in the unit that fits it. */
void plumb_unit_put_any(struct plumb_buf *out, double ns);

#endif
