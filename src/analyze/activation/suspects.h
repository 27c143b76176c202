/* suspects.h: the odd activations of one run, without another run to compare it with: NaN and
 * infinities, values that are about to overflow their type, tensors that are all zero or all the
 * same. The worst kind comes first; within a kind outputs come before others, in order of first
 * sight. */
#ifndef PLUMB_ANALYZE_ACTIVATION_SUSPECTS_H
#define PLUMB_ANALYZE_ACTIVATION_SUSPECTS_H

#include <stddef.h>
#include <stdint.h>

#include "read/activation/table.h"
#include <plumb/error.h>

enum plumb_suspect_kind {
    PLUMB_SUSPECT_NAN = 0,
    PLUMB_SUSPECT_INF = 1,
    PLUMB_SUSPECT_NEAR_MAX = 2, /* from PLUMB_SUSPECT_SHARE of the largest value of its type on */
    PLUMB_SUSPECT_ZERO = 3,
    PLUMB_SUSPECT_CONSTANT = 4, /* and not zero */
    PLUMB_SUSPECT_KINDS = 5
};
#define PLUMB_SUSPECT_SHARE 0.9

/* The records of a (module, tensor, direction) that are suspect in one way. */
struct plumb_suspect {
    enum plumb_suspect_kind kind;
    uint32_t first;   /* record */
    uint32_t records; /* that show it */
    uint32_t of;      /* records of this tensor in all */
    double worst;     /* NaN, INF: values (NaN: only known to be there); NEAR_MAX: share of the
                         largest value; CONSTANT: the value */
};

struct plumb_suspects {
    struct plumb_suspect *at;
    size_t count;
    size_t records; /* that are suspect in some way */
};

/* PLUMB_ERR_MEMORY, and `out` is empty. */
int plumb_suspects_find(struct plumb_suspects *out, const struct plumb_activations *t,
                        plumb_error *err);
void plumb_suspects_fini(struct plumb_suspects *s);

const char *plumb_suspect_name(enum plumb_suspect_kind kind); /* "NaN", "all zero", ... */
/* The largest finite value of a floating-point type; 0: of another, or not known. */
double plumb_suspect_type_max(const char *dtype);

#endif
