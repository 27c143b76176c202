/* undo.c: restores the data that an interrupted fold had changed. The first comment of layout.h
 * explains why this is enough. The mapping may be damaged: counts and offsets are checked. */
#include "live/undo.h"

#include <string.h>

#include "live/merge_parts.h"

static uint64_t off_of(const struct plumb_undo_state *u)
{
    return u->state_off & ~(uint64_t)PLUMB_UNDO_FULL;
}

static struct plumb_live_state *state_at(const struct plumb_undo_target *in,
                                         const struct plumb_undo_state *u)
{
    return in->state(in->self, off_of(u));
}

/* Returns how many samples the buckets of a state hold. */
static uint64_t mass(const struct plumb_live_state *st)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++)
        sum += st->buckets[i];
    for (uint32_t i = 0; i < PLUMB_CARRY; i++)
        sum += (uint64_t)st->carry[i].wraps << 32;
    return sum;
}

/* Buckets are not restored: the replay leaves out as many samples of the state as they are
 * ahead. */
static void note_ahead(struct plumb_merge *m, struct plumb_live_state *st)
{
    const struct plumb_live_key *k = plumb_live_key_at(&m->view, st->key);
    uint64_t held = mass(st);
    /* One that is not added has no bucket that the replay could leave out. */
    if (!k || held <= st->count || m->ahead_count == PLUMB_UNDO_STATES || !plumb_merge_takes(m, st))
        return;
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++) {
        if (st->buckets[i])
            plumb_sketch_use(st->lines_used, i);
    }
    m->ahead[m->ahead_count++] = (struct plumb_merge_ahead){plumb_key(k->group & 0xffff, k->node),
                                                            st->channel, held - st->count};
}

static void undo_state(struct plumb_live_state *st, const struct plumb_undo_state *u,
                       const struct plumb_undo_rest *rest)
{
    if (u->state_off & PLUMB_UNDO_FULL) {
        uint64_t next_off = st->next_off; /* the list grows independently of folds: not restored */
        memcpy(st, rest->words, sizeof rest->words);
        st->next_off = next_off;
        memcpy(st->first, rest->rare, sizeof rest->rare);
    }
    st->count = u->count;
    st->total = u->total;
    st->sq_lo = u->sq_lo;
    st->sq_hi = u->sq_hi;
    st->self = u->self;
    st->last = u->last;
    st->last_at = u->last_at;
    if (st->flags & PLUMB_STATE_P2)
        st->p2 = rest->p2;
}

/* Newest first: if a state was saved twice, the older save is the state before the fold. */
static void undo_states(struct plumb_merge *m, const struct plumb_live_undo *u,
                        const struct plumb_undo_target *in)
{
    for (uint32_t i = u->states; i-- > 0;) {
        struct plumb_live_state *st = state_at(in, &u->state[i]);
        if (st)
            undo_state(st, &u->state[i], &u->rest[i]);
    }
    for (uint32_t i = 0; i < u->states; i++) {
        struct plumb_live_state *st = state_at(in, &u->state[i]);
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = off_of(&u->state[k]) == off_of(&u->state[i]);
        if (st && !again)
            note_ahead(m, st);
    }
}

void plumb_live_undo_in(struct plumb_merge *m, struct plumb_live_thread *th,
                        const struct plumb_undo_target *in)
{
    struct plumb_live_undo *u = &th->undo;
    uint32_t n = u->context.depth - u->frames_from + 1;
    m->ahead_count = 0;
    if (th->folding == th->folded || u->states > PLUMB_UNDO_STATES || u->trees > PLUMB_UNDO_TREES ||
        u->context.depth > PLUMB_DEPTH_MAX || u->frames_from > u->context.depth ||
        n > PLUMB_BLOCK_WORDS)
        return;
    undo_states(m, u, in);
    for (uint32_t i = 0; i < u->trees; i++) {
        struct plumb_live_tree *t = in->place(in->self, u->tree[i].tree);
        if (t) {
            t->count = u->tree[i].count;
            t->total = u->tree[i].total;
            t->self = u->tree[i].self;
        }
    }
    th->context = u->context;
    memcpy(&th->frames[u->frames_from], u->frames, n * sizeof u->frames[0]);
}

bool plumb_undo_resets_agree(const struct plumb_live_undo *u,
                             const struct plumb_undo_target *target)
{
    for (uint32_t i = 0; i < u->states && i < PLUMB_UNDO_STATES; i++) {
        const struct plumb_live_state *st = state_at(target, &u->state[i]);
        const unsigned char *saved = (const unsigned char *)u->rest[i].words;
        uint32_t generation;
        if (!st || !(u->state[i].state_off & PLUMB_UNDO_FULL))
            continue;
        memcpy(&generation,
               saved + offsetof(struct plumb_live_state, reset_generation) -
                   offsetof(struct plumb_live_state, count),
               sizeof generation);
        if (generation != st->reset_generation)
            return false;
    }
    return true;
}

/* ---- In a mapping ---------------------------------------------------------------------------- */

struct mapping {
    struct plumb_merge *m;
    const struct plumb_live_table *tree;
};

static struct plumb_live_state *mapped_state(void *self, uint64_t off)
{
    const struct mapping *in = self;
    return plumb_live_at(&in->m->view, off, sizeof(struct plumb_live_state));
}

static struct plumb_live_tree *mapped_place(void *self, uint32_t i)
{
    const struct mapping *in = self;
    return plumb_live_element(&in->m->view, in->tree, i, sizeof(struct plumb_live_tree));
}

void plumb_live_undo(struct plumb_merge *m, struct plumb_live_thread *th)
{
    struct mapping self = {m, &th->tree};
    const struct plumb_undo_target in = {mapped_state, mapped_place, &self};
    plumb_live_undo_in(m, th, &in);
}
