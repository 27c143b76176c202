/* order.h: shared by the files that match sites without a name in common. */
#ifndef PLUMB_ANALYZE_DIVERGE_ORDER_H
#define PLUMB_ANALYZE_DIVERGE_ORDER_H

#include "analyze/diverge/diverge.h"

enum { PLUMB_ORDER_TOKENS = 12 };

struct plumb_order_name {
    uint32_t role;                       /* hash of the name without the number of its layer */
    uint16_t tokens[PLUMB_ORDER_TOKENS]; /* hashes of its parts; 0: none */
};

/* Which layers of A and B go together, by their numbers ("layers.3", "blk.3"). A number is that of
 * a layer when more than one kind of module bears it: the one in `node_237` of a graph is not.
 * Pairs with evidence cast votes. A layer's partner is the one with the most votes; without votes
 * it follows from the offset of the other layers, and without any of these from equal numbers. */
struct plumb_order_layers {
    uint64_t *key[2];           /* [site_count]: what stands before the number, and it; 0: none */
    uint32_t *number[2];        /* [site_count] */
    struct plumb_map votes;     /* a pair of layers: how many */
    struct plumb_map best[2];   /* a layer: its partner */
    struct plumb_map prefix[2]; /* a layer: what stands before its number */
    struct plumb_map offsets;   /* a pair of what stands before numbers: B's less A's, plus 2^32 */
};

struct plumb_order {
    struct plumb_diverge *d;
    struct plumb_order_layers layers;
    struct plumb_order_name *described[2]; /* [site_count] */
    struct plumb_map roles;                /* a pair of roles: how often seen together */
    struct plumb_map taught[2];            /* roles: how often seen with the one of most */
    bool learned;
    bool only_evidence; /* pairs whose statistics do not agree score nothing */
    uint32_t *lists[2]; /* sites without a partner that stand for their modules, in order */
    uint32_t counts[2];
    uint32_t *next[2]; /* [site_count]: the next site of the same module, or NONE */
    uint32_t *partner; /* of the places of lists[A] */
    uint64_t cells;    /* of all segments */
};

static inline struct plumb_diverge_site *plumb_order_site(const struct plumb_order *o, int side,
                                                          uint32_t s)
{
    return &o->d->sides[side].sites[s];
}

/* order.c */
/* "layers.3.attn_q": the parts "layers", "3", "attn", "q"; the role "layers.#.attn_q". */
void plumb_order_describe(struct plumb_order_name *out, const char *module, const char *tensor);
/* The kind of a site, its name without the numbers; never 0. And the key of a pair of kinds. */
uint64_t plumb_order_role(const struct plumb_order *o, int side, uint32_t s);
uint64_t plumb_order_roles(const struct plumb_order *o, uint32_t a, uint32_t b);
/* The evidence for sites `a` and `b`, with a struct plumb_order: a plumb_sequence_score. */
float plumb_order_score(void *order, uint32_t a, uint32_t b);
/* The agreement of the inputs of the modules that `a` and `b` stand for, by their labels: 1 where
 * all agree, 0 without any. */
float plumb_order_inputs(const struct plumb_order *o, uint32_t a, uint32_t b);
/* Whether all their statistics agree, in one record at least. */
bool plumb_order_agrees(struct plumb_order *o, uint32_t a, uint32_t b);
/* Whether their kinds are known to go together. */
bool plumb_order_known(const struct plumb_order *o, uint32_t a, uint32_t b);
/* Remembers that their kinds go together, where most of their records agree or it is the second
 * time; PLUMB_ERR_MEMORY. */
int plumb_order_teach(struct plumb_order *o, uint32_t a, uint32_t b);
/* Makes partners of the modules that `a` and `b` stand for. */
void plumb_order_join(struct plumb_order *o, uint32_t a, uint32_t b, uint8_t how);

/* Finds the number of a layer in a name, from *begin up to *end: the first that stands alone
 * between characters other than letters ("layers.3.w1": the 3), otherwise the first. False: there
 * is none. */
bool plumb_order_number(const char *name, size_t *begin, size_t *end);
/* Whether two modules lie in one: "attn.q" and "attn.k". */
bool plumb_order_siblings(const char *x, const char *y);
/* Whether the names of record `a` of A and its partner have a part in common. */
bool plumb_order_alike(const struct plumb_diverge *d, uint32_t a);
/* The kinds of record `a` of A and its partner as one key, never 0. */
uint64_t plumb_order_kind_of(const struct plumb_diverge *d, uint32_t a);

/* layers.c */
int plumb_order_layers_init(struct plumb_order *o, plumb_error *err);
void plumb_order_layers_fini(struct plumb_order *o);
/* Casts the vote of two sites that go together; PLUMB_ERR_MEMORY. */
int plumb_order_vote(struct plumb_order *o, uint32_t a, uint32_t b);
/* Returns whether the layers of two sites may go together. `strict`: without votes the numbers must
 * be equal. */
bool plumb_order_layers_fit(const struct plumb_order *o, uint32_t a, uint32_t b, bool strict);

/* left.c, in this order */
int plumb_order_match_moved(struct plumb_order *o, plumb_error *err);
int plumb_order_match_kinds(struct plumb_order *o, plumb_error *err);
void plumb_order_match_inputs(struct plumb_order *o);
void plumb_order_match_nearest(struct plumb_order *o);

#endif
