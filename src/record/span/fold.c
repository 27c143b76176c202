/* fold.c: turns the ring blocks of a thread into its statistics.
 *
 * Invariants
 *   - Between two folds live->folding == live->folded, and states, tree and context hold exactly
 *     the blocks up to `folded`.
 *   - A fold copies all data to the undo log before it changes it, so a reader of a dead process
 *     can restore it (live/read.c) and replay the blocks.
 *   - A thread that folds holds the folded thread (thread_lock.h), and so does every other reader
 *     of these fields while the process lives, so stores are plain.
 *   - One fold takes as many blocks as fit into the undo log, and saves each state, tree node and
 *     frame once for all of them.
 * Locks: that one, which is free unless another thread folds or copies the thread; and the
 * runtime's when a key, state or tree node is met for the first time on this thread
 * (first_use.c). */
#include "record/span/fold.h"

#include <string.h>

#include "live/replay.h"
#include "record/collect/sched.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/first_use.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/span/amount.h"
#include "record/span/span_pairs.h"
#include "record/trace/active_steps.h"
#include "record/trace/trace.h"

enum { MANY_LEAVES = 8 };

struct fold {
    struct plumb_thread *th;
    struct plumb_run *run;
    struct plumb_live_undo *undo;
    uint64_t oldest;         /* lower bound of the begins of all spans that this fold ends */
    uint64_t calm;           /* result of calm_of() for the pipeline looked up last */
    uint32_t pipeline_index; /* of that one */
    uint32_t number;         /* low half of the first block's */
};

static struct plumb_in in_of(const struct fold *f)
{
    return (struct plumb_in){f->th, f->run};
}

/* ---- The undo log ---------------------------------------------------------------------------- */

/* Saves a state before the first change that this fold makes to it. */
static PLUMB_ALWAYS_INLINE void state_save(struct fold *f, struct plumb_live_state *st, bool full)
{
    struct plumb_live_undo *u = f->undo;
    struct plumb_undo_state *save = &u->state[u->states];
    struct plumb_undo_rest *rest = &u->rest[u->states];
    /* Impossible: undo_has_space(). If the process were killed in this fold, the reader would count
     * an unsaved state twice; there is no other harm. */
    if (PLUMB_UNLIKELY(u->states >= PLUMB_UNDO_STATES))
        return;
    save->state_off = plumb_off_of(f->run, st) | (full ? PLUMB_UNDO_FULL : 0);
    save->count = st->count;
    save->total = st->total;
    save->sq_lo = st->sq_lo;
    save->sq_hi = st->sq_hi;
    save->self = st->self;
    save->last = st->last;
    save->last_at = st->last_at;
    if (full) {
        memcpy(rest->words, st, sizeof rest->words);
        memcpy(rest->rare, st->first, sizeof rest->rare);
        st->undo_full = f->number;
    }
    if (st->flags & PLUMB_STATE_P2)
        rest->p2 = st->p2;
    plumb_order();
    PLUMB_STORE(u->states, u->states + 1);
    plumb_order();
    st->undo_block = f->number;
}

/* The same for any change. A reset is not undone: restored figures of an older generation would
 * only be dropped again, so they are cleared before they are saved. A state that this fold has
 * already saved is left to the next fold. The reset came during this fold, so after every run of
 * its blocks. Tree nodes that are ready continue to add to the state, and an undo would bring the
 * old figures back. */
static PLUMB_COLD void state_touch(struct fold *f, struct plumb_live_state *st, uint32_t group)
{
    uint32_t generation = PLUMB_ACQUIRE(plumb_pipeline_of_group(f->run, group)->reset_generation);
    if (st->reset_generation != generation && st->undo_block == f->number)
        return;
    if (st->reset_generation != generation)
        plumb_state_reset(st, generation);
    state_save(f, st, true);
    if (st->thread_generation != f->th->live->generation) {
        st->thread_generation = f->th->live->generation;
        st->threads++;
    }
}

/* `generation`: that of the tree node's state. A reset is not undone, as with states. */
static PLUMB_ALWAYS_INLINE void tree_touch(struct fold *f, struct plumb_live_tree *t,
                                           uint32_t place, uint32_t generation)
{
    struct plumb_live_undo *u = f->undo;
    if (PLUMB_UNLIKELY(t->reset_generation != generation)) {
        t->count = t->total = t->self = 0;
        plumb_order();
        t->reset_generation = generation;
        plumb_order();
    }
    u->tree[u->trees] = (struct plumb_undo_tree){t->count, t->total, t->self, place, 0};
    plumb_order();
    PLUMB_STORE(u->trees, u->trees + 1);
    plumb_order();
    t->undo_block = f->number;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Returns whether skip_first_n takes this sample. The count is shared by the threads of a key, so
 * it is exact for the key. */
static PLUMB_COLD bool skips(struct fold *f, struct plumb_live_state *st,
                             const struct plumb_ended *e)
{
    struct plumb_live_key *k = plumb_table_at(f->run, &f->run->h->keys, st->key);
    struct plumb_live_pipeline *p = plumb_pipeline_of_group(f->run, plumb_key_group(e->key));
    uint64_t skip = plumb_live_skip_at(p, e->end_ticks), seen;
    uint64_t *taken = &k->skipped[plumb_channel_is_device(e->channel)];
    uint32_t generation = PLUMB_LOAD(p->reset_generation), old = PLUMB_LOAD(k->reset_generation);
    if (old != generation &&
        __atomic_compare_exchange_n(&k->reset_generation, &old, generation, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        PLUMB_STORE(k->skipped[0], 0);
        PLUMB_STORE(k->skipped[1], 0);
    }
    seen = PLUMB_LOAD(*taken);
    while (seen < skip && !(seen & PLUMB_KEY_SETTLED)) {
        if (__atomic_compare_exchange_n(taken, &seen, seen + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            st->skipped++;
            return true;
        }
    }
    /* Counting has begun: raising skip_first_n later does not skip more. */
    __atomic_fetch_or(taken, PLUMB_KEY_SETTLED, __ATOMIC_RELAXED);
    st->flags |= PLUMB_STATE_SETTLED;
    return false;
}

/* Returns the state for a key's runs; NULL if it cannot be made, which is counted. */
static struct plumb_live_state *state_find(struct fold *f, const struct plumb_ended *e)
{
    uint64_t other = plumb_key(plumb_key_group(e->key) & 0xff00u, PLUMB_NODE_OTHER);
    struct plumb_live_state *st = plumb_state_first_use(in_of(f), e->key, e->channel);
    if (st)
        return st;
    st = plumb_state_first_use(in_of(f), other, e->channel);
    plumb_drop(f->run, st ? PLUMB_DROP_STATE : PLUMB_DROP_LOST);
    return st;
}

/* ---- The careful way: a key's first run in a fold, and everything out of the ordinary ------- */

/* Rows are in the order of their earliest runs since the last reset. */
static void key_met(struct plumb_live_key *k, uint64_t begin_ticks, uint64_t reset_ticks)
{
    uint64_t first = PLUMB_LOAD(k->first_ticks);
    while ((begin_ticks < first || first < reset_ticks) &&
           !__atomic_compare_exchange_n(&k->first_ticks, &first, begin_ticks, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Returns the state `st`, saved for undo, for a run; NULL if the run does not count. */
static struct plumb_live_state *state_open(struct fold *f, struct plumb_live_state *st,
                                           const struct plumb_ended *e)
{
    uint32_t group = plumb_key_group(e->key);
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(f->run, group);
    struct plumb_live_reset reset;
    if (!st)
        return NULL;
    if (st->undo_full != f->number)
        state_touch(f, st, group);
    reset = plumb_live_reset_of(p);
    /* A run that began before the last reset belongs to the dropped figures. So do all runs of a
     * fold in which a reset comes. */
    if (e->begin_ticks < reset.ticks || st->reset_generation != reset.generation)
        return NULL;
    if (st->count == 0)
        key_met(plumb_table_at(f->run, &f->run->h->keys, st->key), e->begin_ticks, reset.ticks);
    return st;
}

static struct plumb_live_state *state_for(struct fold *f, const struct plumb_ended *e)
{
    return state_open(f, state_find(f, e), e);
}

/* Returns whether skip_first_n will take the run of the state's key that is open now. */
static bool will_skip(const struct fold *f, const struct plumb_live_state *st,
                      const struct plumb_ended *e)
{
    const struct plumb_live_key *k = plumb_table_at(f->run, &f->run->h->keys, st->key);
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(f->run, plumb_key_group(e->key));
    bool reset = PLUMB_LOAD(k->reset_generation) != PLUMB_LOAD(p->reset_generation);
    uint64_t taken = reset ? 0 : PLUMB_LOAD(k->skipped[0]);
    return !(taken & PLUMB_KEY_SETTLED) && taken < plumb_live_skip_at(p, e->end_ticks);
}

/* Adds one sample to `st` and to place `place` (0: none). Returns false if skip_first_n took it. */
static bool add_one(struct fold *f, struct plumb_live_state *st, uint32_t place,
                    const struct plumb_ended *e)
{
    struct plumb_amount a = {1, e->value, e->self, e->value, e->value, e->value, e->end_ticks};
    struct plumb_live_tree nowhere, *t = place ? f->th->tree[place].live : &nowhere;
    uint32_t index = plumb_sketch_index(e->value >> plumb_channel_shift(st->channel));
    if (!(st->flags & PLUMB_STATE_SETTLED) && skips(f, st, e))
        return false;
    a.total = plumb_total_add(st->total, a.total) - st->total;
    a.self = plumb_total_add(st->self, a.self) - st->self;
    memset(&nowhere, 0, sizeof nowhere);
    if (place && t->undo_block != f->number && f->undo->trees < PLUMB_UNDO_TREES)
        tree_touch(f, t, place, st->reset_generation);
    if (st->count < PLUMB_EXACT)
        st->first[st->count] = e->value;
    if (st->flags & PLUMB_STATE_P2)
        plumb_p2_add(&st->p2, (double)e->value);
    plumb_add_amount(st, t, &a);
    plumb_add_square(st, e->value);
    plumb_add_bucket(st, index);
    return true;
}

/* Combines the owner of the thread's block and the generation of a pipeline: the result of
 * settled() is valid as long as both stay. 0: no run of this fold may take the short path, because
 * a reset came during it. */
static uint64_t calm_of(const struct fold *f, uint32_t group)
{
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(f->run, group);
    struct plumb_live_reset reset = plumb_live_reset_of(p);
    if (reset.ticks > f->oldest)
        return 0;
    return (uint64_t)f->th->live->generation << 32 | reset.generation;
}

/* Returns whether nothing is skipped any more, the first samples are past, and this thread is
 * counted. That stays true until a reset, which begins another generation. */
static PLUMB_COLD bool settled(const struct fold *f, const struct plumb_live_state *st)
{
    return st->flags & PLUMB_STATE_SETTLED && st->count >= PLUMB_EXACT &&
           st->thread_generation == f->th->live->generation;
}

/* Returns whether the rest of the fold's runs at this place may take the short path, and if so,
 * saves the data that they change. A place remembers the condition it was settled for, which avoids
 * a read of another cache line in the state. */
static __attribute__((noinline)) bool make_ready(struct fold *f, uint32_t place)
{
    struct plumb_tree_node *p = &f->th->tree[place];
    struct plumb_live_state *st = p->state;
    uint32_t group = plumb_key_group(p->key), index = group >> 8;
    if (!st) /* the root's too */
        return false;
    if (PLUMB_UNLIKELY(index != f->pipeline_index)) {
        f->calm = calm_of(f, group);
        f->pipeline_index = index;
    }
    if (PLUMB_UNLIKELY(!f->calm || st->reset_generation != (uint32_t)f->calm))
        return false;
    if (PLUMB_UNLIKELY(p->settled != f->calm)) {
        if (!settled(f, st))
            return false;
        p->settled = f->calm;
    }
    if (PLUMB_UNLIKELY(f->undo->states == PLUMB_UNDO_STATES || f->undo->trees == PLUMB_UNDO_TREES))
        return false; /* impossible: undo_has_space() */
    if (st->undo_block != f->number)
        state_save(f, st, false);
    if (p->live->undo_block != f->number)
        tree_touch(f, p->live, place, st->reset_generation);
    p->ready = f->number;
    return true;
}

static __attribute__((noinline)) void ended_carefully(struct fold *f, const struct plumb_ended *e)
{
    struct plumb_live_state *st = state_for(f, e);
    if (!st)
        return;
    add_one(f, st, e->tree, e);
    /* States of "(other)" are not cached: memory may become available again. */
    if (e->tree && plumb_map_get(&f->th->state_of, e->key + 1) == plumb_off_of(f->run, st))
        f->th->tree[e->tree].state = st;
}

/* ---- The sink -------------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE uint32_t on_enter(void *self, uint32_t parent, uint64_t key)
{
    struct plumb_thread *th = ((struct fold *)self)->th;
    struct plumb_tree_node *tree = th->tree;
    /* Pipelines run their children in the same order every time: the child that followed the last
     * one last time is nearly always right. */
    uint32_t last = tree[parent].hint, guess = tree[last].next;
    if (PLUMB_UNLIKELY(tree[guess].key != key || tree[guess].parent != parent)) {
        guess = plumb_tree_first_use(in_of(self), parent, key, false);
        tree = th->tree;
        tree[last].next = guess;
    }
    /* Stored only when it changes: the next span of this parent then need not wait for the store.
     */
    if (tree[parent].hint != guess)
        tree[parent].hint = guess;
    return guess;
}

/* Adds one sample to a place that is ready. */
static PLUMB_ALWAYS_INLINE void add_ready(const struct plumb_tree_node *p, uint64_t value,
                                          uint64_t own, uint64_t end_ticks)
{
    struct plumb_amount a = {1, value, own, value, value, value, end_ticks};
    if (PLUMB_UNLIKELY(p->state->flags & PLUMB_STATE_P2))
        plumb_p2_add(&p->state->p2, (double)value);
    plumb_add_amount(p->state, p->live, &a);
    plumb_add_square(p->state, value);
    plumb_add_bucket(p->state, plumb_sketch_index(value));
}

static PLUMB_ALWAYS_INLINE void on_ended(void *self, const struct plumb_live_frame *frame,
                                         uint64_t value, uint64_t own, bool outermost,
                                         uint64_t end_ticks)
{
    struct fold *f = self;
    struct plumb_tree_node *p = &f->th->tree[frame->tree];
    (void)outermost; /* the tree node has it */
    if ((PLUMB_LIKELY(p->ready == f->number) || make_ready(f, frame->tree)) &&
        PLUMB_LIKELY(value >> PLUMB_FAR_BITS == 0)) {
        add_ready(p, value, own, end_ticks);
    } else {
        struct plumb_ended e = {.key = frame->key,
                                .tree = frame->tree,
                                .channel = plumb_channel_for(PLUMB_CHANNEL_SPAN, value),
                                .value = value,
                                .self = own,
                                .begin_ticks = frame->begin_ticks,
                                .end_ticks = end_ticks};
        ended_carefully(f, &e);
    }
}

/* Adds leaves until the tree node is ready. Returns how many it took. */
static __attribute__((noinline)) uint32_t leaves_carefully(struct fold *f, uint32_t place,
                                                           uint64_t key, uint64_t base,
                                                           const uint64_t *words, uint32_t pairs,
                                                           uint64_t *sum)
{
    uint32_t i = 0;
    for (; i < pairs && f->th->tree[place].ready != f->number && !make_ready(f, place); i++) {
        uint64_t begin = plumb_record_ticks(words[2 * i]),
                 end = plumb_record_ticks(words[2 * i + 1]);
        struct plumb_ended e = {
            .key = key, .tree = place, .begin_ticks = base + begin, .end_ticks = base + end};
        e.value = e.self = end > begin ? end - begin : 0;
        ended_carefully(f, &e);
        *sum += e.value;
    }
    return i;
}

static __attribute__((noinline)) void estimate_row(struct plumb_live_state *st,
                                                   const uint64_t *words, uint32_t pairs)
{
    double lasted[PLUMB_LEAVES_MAX];
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t begin = plumb_record_ticks(words[2 * i]),
                 end = plumb_record_ticks(words[2 * i + 1]);
        lasted[i] = (double)(end > begin ? end - begin : 0);
    }
    plumb_p2_add_row(&st->p2, lasted, pairs);
}

/* Adds a row of leaves that is worth a call: its figures first, several at a time, then its
 * buckets. In one loop each sample would wait for the bucket of the previous one, which is usually
 * the same. Returns the sum of the durations. */
static __attribute__((noinline)) uint64_t
many_leaves(const struct plumb_tree_node *p, uint64_t base, const uint64_t *words, uint32_t pairs)
{
    struct plumb_live_state *st = p->state;
    struct plumb_leaves l;
    struct plumb_amount a;
    uint64_t end;
    plumb_rt.leaves(&l, words, pairs);
    for (uint32_t i = 0; i < pairs; i++)
        plumb_add_bucket(st, l.index[i]);
    if (PLUMB_UNLIKELY(st->flags & PLUMB_STATE_P2))
        estimate_row(st, words, pairs);
    end = base + plumb_record_ticks(words[2 * pairs - 1]);
    a = (struct plumb_amount){pairs, l.total, l.total, l.min, l.max, l.last, end};
    plumb_add_squares(st, l.squares);
    plumb_add_amount(st, p->live, &a);
    return l.total;
}

/* Adds a row of leaves at place `place`. */
static __attribute__((noinline)) uint64_t leaf_row(struct fold *f, uint32_t place, uint64_t key,
                                                   uint64_t base, const uint64_t *words,
                                                   uint32_t pairs)
{
    const struct plumb_tree_node *p;
    uint64_t sum = 0;
    uint32_t i = 0;
    if (f->th->tree[place].ready != f->number)
        i = leaves_carefully(f, place, key, base, words, pairs, &sum);
    p = &f->th->tree[place];
    if (pairs - i >= MANY_LEAVES)
        return sum + many_leaves(p, base, words + 2 * i, pairs - i);
    for (; i < pairs; i++) {
        uint64_t begin = plumb_record_ticks(words[2 * i]),
                 end = plumb_record_ticks(words[2 * i + 1]);
        uint64_t d = PLUMB_LIKELY(end > begin) ? end - begin : 0;
        add_ready(p, d, d, base + end);
        sum += d;
    }
    return sum;
}

static PLUMB_ALWAYS_INLINE uint64_t on_leaves(void *self, uint32_t parent, uint64_t key,
                                              bool outermost, uint64_t base, const uint64_t *words,
                                              uint32_t pairs)
{
    struct fold *f = self;
    uint32_t place = on_enter(self, parent, key);
    const struct plumb_tree_node *p = &f->th->tree[place];
    uint64_t begin, end, d;
    (void)outermost;
    if (pairs > 1 || (PLUMB_UNLIKELY(p->ready != f->number) && !make_ready(f, place)))
        return leaf_row(f, place, key, base, words, pairs);
    begin = plumb_record_ticks(words[0]);
    end = plumb_record_ticks(words[1]);
    d = PLUMB_LIKELY(end > begin) ? end - begin : 0;
    add_ready(p, d, d, base + end);
    return d;
}

static PLUMB_COLD void on_sample(void *self, const struct plumb_ended *ended)
{
    struct fold *f = self;
    struct plumb_ended e = *ended;
    struct plumb_live_state *st;
    e.channel = plumb_channel_for(e.channel, e.value);
    st = state_for(f, &e);
    if (st && add_one(f, st, e.async ? plumb_tree_first_use(in_of(f), 0, e.key, true) : 0, &e) &&
        e.outermost) {
        st->outer_total = plumb_total_add(st->outer_total, e.value);
        st->outer_count++;
    }
}

/* Samples around which more keys are open than fit into the undo log are left out. */
static PLUMB_COLD void on_within(void *self, const struct plumb_ended *e)
{
    struct fold *f = self;
    struct plumb_live_state *st = plumb_state_first_use(in_of(f), e->key, PLUMB_CHANNEL_DEVICE_NS);
    bool room = f->undo->states < PLUMB_UNDO_STATES - PLUMB_UNDO_RUNS;
    if (!st || (st->undo_full != f->number && !room) || !(st = state_open(f, st, e)))
        return;
    if (!will_skip(f, st, e))
        st->self = plumb_total_add(st->self, e->value);
}

static PLUMB_COLD void on_failed(void *self, const struct plumb_ended *e)
{
    struct plumb_live_state *st = state_for(self, e);
    if (!st)
        return;
    st->failures++;
    if (e->why_off)
        st->why_off = e->why_off;
}

static PLUMB_COLD void on_abandoned(void *self, const struct plumb_ended *e)
{
    struct plumb_live_state *st = state_for(self, e);
    if (st)
        st->abandoned++;
}

static PLUMB_COLD void on_unbalanced(void *self, const struct plumb_ended *e)
{
    struct plumb_live_state *st = state_for(self, e);
    if (st)
        st->unbalanced++;
}

static PLUMB_COLD uint32_t on_adopt(void *self, uint32_t group, const uint64_t *path, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = (uint32_t)(PLUMB_LOAD(path[i / 2]) >> (i & 1 ? 32 : 0));
        at = plumb_tree_first_use(in_of(self), at, plumb_key(group, node), false);
    }
    return at;
}

static const struct plumb_sink fold_sink = {on_enter,     on_leaves,     on_ended,
                                            on_sample,    on_within,     on_failed,
                                            on_abandoned, on_unbalanced, on_adopt};

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void undo_begin(struct plumb_live_thread *live, uint64_t number)
{
    struct plumb_live_undo *u = &live->undo;
    uint32_t depth = live->context.depth;
    uint32_t from = depth >= PLUMB_BLOCK_WORDS ? depth - PLUMB_BLOCK_WORDS + 1 : 0;
    u->states = u->trees = 0;
    u->context = live->context;
    u->frames_from = from;
    memcpy(u->frames, &live->frames[from], (depth - from + 1) * sizeof u->frames[0]);
    plumb_order();
    PLUMB_STORE(live->folding, number);
    plumb_order();
}

/* Returns whether all changes of block `number` still fit into the log. If many spans are open, or
 * samples have nodes around them, one block fits. */
static bool undo_has_space(const struct fold *f, uint64_t number)
{
    return f->undo->states <= PLUMB_UNDO_STATES - PLUMB_UNDO_RUNS &&
           f->undo->trees <= PLUMB_UNDO_TREES - PLUMB_BLOCK_WORDS && !f->undo->frames_from &&
           number > PLUMB_LOAD(f->th->sampled);
}

/* Folds the first unfolded block, and the following ones up to `last` that fit into the undo log.
 * For a traced thread that is one. */
static void fold(struct plumb_in in, uint64_t last)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_thread *live = th->live;
    uint64_t number = live->folded + 1;
    const uint64_t *block = plumb_ring_block(in, number);
    bool traced = PLUMB_UNLIKELY(th->queue != NULL), lost = traced && !plumb_trace_copy(in, number);
    struct fold f = {.th = th,
                     .run = in.run,
                     .undo = &live->undo,
                     .oldest = block[0],
                     .pipeline_index = UINT32_MAX,
                     .number = (uint32_t)number};
    if (PLUMB_UNLIKELY(lost))
        plumb_trace_count(in, number);
    if (PLUMB_UNLIKELY(in.run->active != NULL) && th->active)
        plumb_active_count(in);
    undo_begin(live, number);
    if (live->context.depth)
        f.oldest = live->frames[1].begin_ticks;
    for (;;) {
        plumb_replay_block(&fold_sink, &f, &live->context, live->frames, block);
        if (number == last || traced || !undo_has_space(&f, number + 1))
            break;
        block = plumb_ring_block(in, ++number);
    }
    plumb_order();
    if (PLUMB_UNLIKELY(lost))
        plumb_trace_log(in, number);
    /* Until the second store, a reader sees an interrupted fold. */
    PLUMB_STORE(live->folding, number);
    plumb_order();
    PLUMB_RELEASE(live->folded, number);
    if (PLUMB_UNLIKELY(lost))
        plumb_trace_apply(in);
}

void plumb_fold_through(struct plumb_in in, uint64_t last)
{
    const struct plumb_live_thread *live = in.th->live;
    /* Interrupted for ever, in the child of a fork, where this thread's figures are never read. */
    if (PLUMB_UNLIKELY(live->folding != live->folded))
        return;
    if (PLUMB_UNLIKELY(in.th->sched != NULL))
        plumb_sched_fold(in);
    while (live->folded < last)
        fold(in, last);
}
