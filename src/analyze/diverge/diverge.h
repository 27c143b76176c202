/* diverge.h: two runs of one model compared record by record, and the place where they diverge.
 *
 *     plumb_diverge_init(&d, &a, &b, &options);
 *     rc = plumb_diverge_run(&d, err);
 *     ...                                     (d.culprit, d.cells, d.sides[].partner)
 *     plumb_diverge_fini(&d);
 *
 * The answer is a frontier, which is always true: the last records with evidence that agree, and
 * the first that does not. Three layers, each of which knows only the one before it:
 *
 *   1. Correspondence: which record of B is which of A, and by what evidence (`how`). Records of
 *      one (module, tensor, phase, io, rank) are a site. Sites are partners by name or the user's
 *      map; by statistics that agree, in order or out of it; by names whose meaning others of their
 *      kinds and layers showed; as a whole and its parts; last by order and shape alone, which is
 *      not evidence. Then the records of two sites by step and call. A record without a partner
 *      is listed and never blamed: an engine may record an operation that the other fuses.
 *      (sites.c, names.c, order.c, layers.c, left.c, joins.c, parts.c, evidence.c, pairs.c)
 *   2. Consumption: what a record was made from, as far as it was recorded: its own inputs;
 *      otherwise records with their contents; otherwise the last record before it, and the module
 *      that both lie in. A gradient consumes gradients. (consume.c)
 *   3. Verdict: each pair is compared (compare.c, values.c); two runs of one engine to the last
 *      bit, others within the tolerance of their types. The first record with evidence that
 *      differs while its inputs agree is one end of the frontier, its inputs are the other.
 *      (held.c, weak.c, doubt.c, verdict.c; missing.c: what a side lacks)
 *
 * Costs: about 30 bytes a record in addition to the tables, and 1 KiB a pair whose values both
 * sides stored, which are read. Time grows with the records. Sites without a name in common have a
 * table of evidence, which is cut to a band (`approximate`). The tables must outlive it and are
 * only read. One thread at a time. */
#ifndef PLUMB_ANALYZE_DIVERGE_DIVERGE_H
#define PLUMB_ANALYZE_DIVERGE_DIVERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/diverge/rename.h"
#include "analyze/diverge/tensor_diff.h"
#include "analyze/diverge/tolerance.h"
#include "base/map.h"
#include "read/activation/table.h"
#include <plumb/error.h>

#define PLUMB_DIVERGE_NONE UINT32_MAX
enum { PLUMB_DIVERGE_PARTS = 8 };

enum { PLUMB_DIVERGE_A, PLUMB_DIVERGE_B };

/* How a record found its partner. */
enum plumb_diverge_how {
    PLUMB_HOW_NONE = 0,
    PLUMB_HOW_NAME,
    PLUMB_HOW_MAP,
    PLUMB_HOW_EVIDENCE, /* by order, and its statistics agree */
    PLUMB_HOW_KIND,  /* by order; others of their two kinds agree, as "layers.#.q" and "blk.#.wq" */
    PLUMB_HOW_ORDER, /* by order, shape and what its name resembles */
    PLUMB_HOW_MOVED, /* out of order, by statistics that nothing else has */
    PLUMB_HOW_JOINED, /* the whole on one side, its parts on the other */
    PLUMB_HOW_INPUTS, /* by order, and what they consumed agrees */
    PLUMB_HOW_COUNT
};

enum plumb_diverge_verdict {
    PLUMB_SAID_NOTHING = 0, /* no partner, or no statistic in common */
    PLUMB_SAID_EQUAL,       /* in every bit that was recorded */
    PLUMB_SAID_CLOSE,       /* within tolerance */
    PLUMB_SAID_LAYOUT,      /* the same values, dimensions in another order or joined */
    PLUMB_SAID_SHUFFLED,    /* the same values and shape, in another order */
    PLUMB_SAID_DIFFERENT,   /* from here on: wrong */
    PLUMB_SAID_SHAPE,       /* another number of elements */
    PLUMB_SAID_NAN,         /* NaN on one side only */
    PLUMB_SAID_INF,
    PLUMB_SAID_COUNT
};

/* The equality that is expected of the runs. */
enum plumb_diverge_expect {
    PLUMB_EXPECT_AUTO = 0, /* what the records show */
    PLUMB_EXPECT_SAME = 1, /* equal in every bit */
    PLUMB_EXPECT_CLOSE = 2 /* within tolerance */
};

/* Which pairs are made. */
enum plumb_diverge_only {
    PLUMB_ONLY_ALL = 0,
    PLUMB_ONLY_NAMED = 1, /* by name or map */
    PLUMB_ONLY_MAPPED = 2
};

struct plumb_diverge_options {
    double relative, absolute;         /* below 0: by type (tolerance.h) */
    const struct plumb_rename *rename; /* from A's names to B's; NULL: none */
    enum plumb_diverge_expect expect;
    enum plumb_diverge_only only;
};

struct plumb_diverge_site {
    uint32_t module, tensor, phase; /* texts of its table */
    int32_t rank;
    uint32_t begin, count; /* its records: records[begin ...], in order */
    uint32_t partner;      /* site of the other side */
    uint8_t io;
    uint8_t how;   /* enum plumb_diverge_how */
    bool is_part;  /* of a joined one, which has the partner */
    uint32_t join; /* plumb_diverge.joins, from 1, of a part, or of parts joined; 0: none */
};

/* A tensor that one side gave out whole and the other in parts that follow each other in one
 * dimension: q, k and v. The side with the parts then gets one more record after the last part of
 * each call, with the statistics of all of them. Names are texts of their tables. */
struct plumb_diverge_join {
    int side;                        /* that has the parts */
    struct plumb_diverge_site whole; /* of the other side */
    struct plumb_diverge_site parts[PLUMB_DIVERGE_PARTS];
    uint32_t count;          /* of parts */
    uint32_t module, tensor; /* "attn.{q,k,v}", "out": of what was joined */
    int dimension;           /* in which the parts follow each other; -1: not a single one */
    bool stacked;            /* which the parts do not have */
    bool by_kind;            /* others of their kinds agree; false: its own statistics do */
};

struct plumb_diverge_side {
    const struct plumb_activations *t;
    struct plumb_diverge_site *sites; /* in order of their first records */
    uint32_t site_count, site_cap;
    uint32_t *site_of; /* [t->count] */
    uint32_t *records; /* [t->count], by site */
    uint32_t *partner; /* [t->count]: record of the other side */
    size_t unmatched;
};

/* The result of comparing a record of A with its partner. */
struct plumb_diverge_cell {
    float drift;   /* relative difference, by the statistic `field` */
    float excess;  /* the same in multiples of its tolerance: above 1 is wrong */
    uint8_t field; /* of the largest excess */
    uint8_t verdict;
    uint8_t how;
    bool proven; /* of LAYOUT: by a hash of the values in any order */
    bool exact;  /* equal in everything that both recorded: statistics, hashes, types, values */
};

/* Fields of a cell in addition to enum plumb_activation_field; PLUMB_ACT_STATISTICS: none
 * decided. */
enum {
    PLUMB_DIVERGE_BY_VALUES = 32, /* of the stored tensors */
    PLUMB_DIVERGE_BY_SAMPLE = 33, /* values at the same places, a few */
    PLUMB_DIVERGE_BY_TYPE = 34    /* of elements, where equality was asked for */
};

/* A pair of which both sides stored the values. */
struct plumb_diverge_tensor {
    uint32_t a; /* record of A */
    bool compared;
    struct plumb_tensor_diff diff;
    plumb_error why; /* when it could not be compared */
};

/* How the input of a record is known. */
enum plumb_diverge_inputs {
    PLUMB_INPUTS_UNKNOWN = 0, /* `input` is the record before it, if there is one */
    PLUMB_INPUTS_RECORDED,    /* its own `in` records; `input` is the one that is farthest off */
    PLUMB_INPUTS_BY_HASH,     /* `input` gave out the same contents */
    PLUMB_INPUTS_IS_ONE       /* it is an input itself; `input` gave out the same contents */
};

/* The answer of layer 2 about one record of A. */
struct plumb_consumed {
    enum plumb_diverge_inputs how;
    uint32_t input;  /* record of A, or PLUMB_DIVERGE_NONE */
    uint32_t within; /* record of A: the nearest module that was recorded and holds both; or NONE */
    uint32_t inside; /* record of A: the last one inside the module itself before it, or NONE */
};

enum plumb_diverge_kind {
    PLUMB_DIVERGE_SAME = 0,
    PLUMB_DIVERGE_JUMP,    /* a culprit */
    PLUMB_DIVERGE_DRIFT,   /* grew slowly: no single culprit; `a` is where it began */
    PLUMB_DIVERGE_START,   /* the first record differs already */
    PLUMB_DIVERGE_OUTSIDE, /* an input that no record gave out, while others of the call agree */
    PLUMB_DIVERGE_BETWEEN, /* an input that `input` gave out right, or that was made after it */
    PLUMB_DIVERGE_LOST,    /* after `input` nothing agrees, and nothing has evidence */
    PLUMB_DIVERGE_MISSING  /* equality was asked for, and a side lacks `a`, or otherwise `b` */
};

struct plumb_diverge_culprit {
    enum plumb_diverge_kind kind;
    enum plumb_diverge_inputs inputs;
    uint32_t a, b;      /* records; PLUMB_DIVERGE_NONE when the runs are the same */
    uint32_t input;     /* of A, or PLUMB_DIVERGE_NONE: the other end of the frontier */
    uint32_t within;    /* as in struct plumb_consumed */
    uint32_t inside;    /* likewise */
    uint32_t sure;      /* of LOST: the first with evidence that differs, or NONE */
    uint32_t beyond;    /* of A: the first beyond tolerance; NONE: none is */
    uint32_t born_a;    /* the first record with NaN or Inf that the other side lacks, if that */
    uint32_t born_b;    /* is not the culprit: of A or B; the other is PLUMB_DIVERGE_NONE */
    uint32_t roots;     /* further records that differ while their recorded inputs match */
    uint32_t next_root; /* of A: the first of them */
};

/* Steps, ranks, modules and records that one side lacks and the other has. */
struct plumb_diverge_missing {
    size_t steps, ranks, modules;  /* how many */
    int64_t first_step, last_step; /* of them */
    bool ends;                     /* these are the last ones of the other side */
    int32_t rank;                  /* the first */
    uint32_t module;               /* record of the other side: the first of such a module */
    uint32_t after;                /* record of the other side: the last that has a partner, where
                                    * more of sites that both have follow; or NONE */
    size_t following;              /* how many follow */
};

struct plumb_diverge {
    struct plumb_diverge_options options;
    struct plumb_diverge_side sides[2];
    struct plumb_diverge_cell *cells;     /* [a.count] */
    struct plumb_diverge_tensor *tensors; /* in A's order */
    size_t tensor_count, tensor_cap;
    struct plumb_diverge_culprit culprit;
    struct plumb_diverge_missing missing[2]; /* by the side that lacks it */
    bool held;                               /* to the bit */
    bool guessed;                            /* `held` because the records show one engine */
    uint32_t equal_count;   /* pairs from the first on that are equal in every bit recorded */
    uint32_t equal_last;    /* of A: the last of them, or PLUMB_DIVERGE_NONE */
    uint32_t first_unequal; /* of A: the first that is not; NONE: all are */
    struct plumb_diverge_join *joins;
    size_t join_count;
    size_t pairs;    /* records of A with a partner */
    size_t given[2]; /* records of both sides, without those that were joined */
    size_t by_how[PLUMB_HOW_COUNT];
    size_t by_verdict[PLUMB_SAID_COUNT];
    uint32_t widest;   /* of A: the largest excess of a pair within tolerance */
    uint32_t retyped;  /* of A: the first whose element type is another in B */
    uint32_t shuffled; /* of A: the first whose values are in another order */
    size_t retyped_count;
    size_t rehashed;       /* pairs whose hashes differ and whose statistics do not */
    size_t layouts_proven; /* of by_verdict[PLUMB_SAID_LAYOUT]: a hash shows the same values */
    size_t dropped;        /* pairs that order suggested and what follows refuted */
    bool approximate;      /* too many sites without a name in common: a band was searched */
    bool any_step;         /* each side has one step: it plays no part */
    bool any_rank;         /* the same of ranks */
    bool any_phase;        /* a side records no phases */
    bool unknown_type;     /* a pair was compared whose type neither side says */
    bool stopped_short;    /* `sum` alone was there, whose scale is unknown */

    /* Private. */
    struct plumb_activations made[2]; /* a side's table with what was joined, if anything was */
    struct {
        uint32_t a, b;
        struct plumb_tolerance tolerance;
    } types[32];
    uint32_t type_count, last_type;
    struct plumb_map shapes; /* a pair of shapes: their relation */
    uint64_t last_shapes;
    uint8_t last_relation;
};

void plumb_diverge_init(struct plumb_diverge *d, const struct plumb_activations *a,
                        const struct plumb_activations *b,
                        const struct plumb_diverge_options *options);
void plumb_diverge_fini(struct plumb_diverge *d);

/* PLUMB_ERR_FORMAT: a side has no records, or none of them has a partner, or no pair could be
 * compared; PLUMB_ERR_MEMORY. Stored values that are gone are not an error: `tensors` says why. */
int plumb_diverge_run(struct plumb_diverge *d, plumb_error *err);

static inline bool plumb_diverge_is_wrong(uint8_t verdict)
{
    return verdict >= PLUMB_SAID_DIFFERENT;
}

/* ---- The steps ------------------------------------------------------------------------------- */

/* sites.c: the sites of both sides. */
int plumb_diverge_find_sites(struct plumb_diverge *d, plumb_error *err);
/* names.c: sites that have one name. */
int plumb_diverge_match_names(struct plumb_diverge *d, plumb_error *err);
/* order.c: those that have not, by order and evidence. */
int plumb_diverge_match_order(struct plumb_diverge *d, plumb_error *err);
/* joins.c: wholes of one side that the other has in parts, among what is left. How many
 * were found; the sites must then be found and matched again. */
int plumb_diverge_find_joins(struct plumb_diverge *d, plumb_error *err);
/* Makes partners of those that were found, before anything else is matched. */
void plumb_diverge_apply_joins(struct plumb_diverge *d);
/* pairs.c: the records of partners. */
int plumb_diverge_pair_records(struct plumb_diverge *d, plumb_error *err);
/* values.c: the values of pairs that both sides stored, value by value. */
int plumb_diverge_read_values(struct plumb_diverge *d, plumb_error *err);
/* NULL: a side did not store them. */
const struct plumb_diverge_tensor *plumb_diverge_tensor_of(const struct plumb_diverge *d,
                                                           uint32_t a);
/* Completes the cell of record `a` of A, whose statistics were compared, with its stored values; if
 * there are none, with the samples of both sides. */
void plumb_diverge_weigh_values(struct plumb_diverge *d, uint32_t a,
                                struct plumb_diverge_cell *cell);
/* The part of the values, from 0 to 1, that lie in other ranges of magnitude in `b` of B than in
 * `a` of A, by the histograms of both; NaN: a side has none. *from and *to, unless NULL: the bins
 * that lose and gain most. */
double plumb_diverge_moved(const struct plumb_diverge *d, uint32_t a, uint32_t b, int *from,
                           int *to);
/* pairs.c: undoes the pair of A's record `a`. */
void plumb_diverge_part(struct plumb_diverge *d, uint32_t a);

enum plumb_shape_relation {
    PLUMB_SHAPES_UNKNOWN = 1,
    PLUMB_SHAPES_SAME,
    PLUMB_SHAPES_PERMUTED, /* the same sizes in another order, sizes of 1 aside */
    PLUMB_SHAPES_RESHAPED, /* as many elements */
    PLUMB_SHAPES_DIFFERENT
};

/* compare.c */
enum plumb_shape_relation plumb_diverge_shapes(struct plumb_diverge *d, uint32_t a, uint32_t b);
struct plumb_tolerance plumb_diverge_tolerance(struct plumb_diverge *d, uint32_t a, uint32_t b);
/* Compares record `a` of A with `b` of B; `how` is left to the caller. */
struct plumb_diverge_cell plumb_diverge_compare(struct plumb_diverge *d, uint32_t a, uint32_t b);
/* The same by the figures of the values that are numbers; PLUMB_SAID_NOTHING where a side does not
 * keep them apart from the others. */
struct plumb_diverge_cell plumb_diverge_compare_finite(struct plumb_diverge *d, uint32_t a,
                                                       uint32_t b);
/* Returns whether both sides say their element types, and these differ. */
bool plumb_diverge_retyped(const struct plumb_diverge *d, uint32_t a, uint32_t b);
/* Returns whether the figures of `b` may be those of `a` times one factor, as far as tolerances
 * tell: evidence that two records belong together, not a statement about them. */
bool plumb_diverge_looks_scaled(struct plumb_diverge *d, uint32_t a, uint32_t b);
/* Returns the factor by which every figure of `b` is that of `a`, but for rounding. 0: there is no
 * such factor, or fewer than three figures besides the one that gives it. */
double plumb_diverge_scale(struct plumb_diverge *d, uint32_t a, uint32_t b);
/* Compares all pairs, and counts. */
void plumb_diverge_judge(struct plumb_diverge *d);
/* Whether a record holds values of the kind, by its counts or, where it has none, its figures. */
bool plumb_diverge_has_nan(const struct plumb_activations *t, uint32_t record);
bool plumb_diverge_has_inf(const struct plumb_activations *t, uint32_t record);

/* ---- Layer 2 --------------------------------------------------------------------------------- */

/* consume.c: what record `a` of A consumed; of several the one that is farthest off. */
struct plumb_consumed plumb_diverge_consumed(const struct plumb_diverge *d, uint32_t a);
/* Whether the record is what went into a module. */
bool plumb_diverge_is_input(const struct plumb_activations *t, uint32_t record);
/* Whether the cell of `a` says something, by a pair that has evidence. */
bool plumb_diverge_has_evidence(const struct plumb_diverge *d, uint32_t a);
/* Whether `inner` is a module below `outer`, by their names. */
bool plumb_diverge_holds(const char *outer, const char *inner);

/* ---- Layer 3 --------------------------------------------------------------------------------- */

/* verdict.c: chooses what the runs are held to, and finds the frontier. */
int plumb_diverge_find_frontier(struct plumb_diverge *d, plumb_error *err);
/* Whether the pair of `a` differs by what the runs are held to. */
bool plumb_diverge_differs(const struct plumb_diverge *d, uint32_t a);
/* missing.c: fills d->missing; PLUMB_ERR_MEMORY. */
int plumb_diverge_find_missing(struct plumb_diverge *d, plumb_error *err);

#endif
