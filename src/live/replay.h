/* replay.h: the one reading of ring records: turns a block into ended runs.
 *
 * Used by the recording thread (record/span/fold.c, hot) and by every reader of a mapping
 * (live/merge.c), so they cannot disagree about the meaning of records. The caller passes the sink
 * as constant function pointers; everything is inlined into it.
 *
 * Consecutive leaf runs of one node (each begin directly followed by its end), as in a tight loop,
 * are passed on together: most of the cost of a fold is the same for one run and for sixty.
 *
 * The input may be hostile (a file): depth is checked here, node, group and place numbers by the
 * sink. */
#ifndef PLUMB_LIVE_REPLAY_H
#define PLUMB_LIVE_REPLAY_H

#include <stdbool.h>

#include "base/atomic.h"
#include "live/layout.h"

/* A run that ended. */
struct plumb_ended {
    uint64_t key;     /* group << PLUMB_NODE_BITS | node */
    uint32_t tree;    /* place in the call tree; 0 for samples */
    uint32_t channel; /* enum plumb_channel */
    uint64_t value;   /* ticks; ns for the ns channels */
    uint64_t self;    /* value without nested runs */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint64_t why_off;
    bool outermost;
    bool async;
};

/* Returns the skip_first_n in force at `ticks`; before the oldest change that is kept, the value of
 * that one. */
static inline uint64_t plumb_live_skip_at(const struct plumb_live_pipeline *p, uint64_t ticks)
{
    uint32_t k = PLUMB_ACQUIRE(p->skips), oldest = k > PLUMB_SKIPS ? k - PLUMB_SKIPS : 0;
    while (k > oldest + 1 && PLUMB_LOAD(p->skip[(k - 1) % PLUMB_SKIPS].from_ticks) > ticks)
        k--;
    return k ? PLUMB_LOAD(p->skip[(k - 1) % PLUMB_SKIPS].n) : 0;
}

/* The last reset of a pipeline: both of one moment. */
struct plumb_live_reset {
    uint64_t ticks;
    uint32_t generation;
};

static inline struct plumb_live_reset plumb_live_reset_of(const struct plumb_live_pipeline *p)
{
    struct plumb_live_reset r;
    do {
        r.generation = PLUMB_ACQUIRE(p->reset_generation);
        r.ticks = PLUMB_LOAD(p->reset_ticks[r.generation % 2]);
        plumb_order();
    } while (PLUMB_LOAD(p->reset_generation) != r.generation);
    return r;
}

struct plumb_sink {
    /* The place of a key below place `parent`. */
    uint32_t (*enter)(void *self, uint32_t parent, uint64_t key);
    /* `pairs` begin/end pairs of one key below `parent`: ticks since `base` in words [2 * pairs].
     * Returns the sum of their durations. */
    uint64_t (*leaves)(void *self, uint32_t parent, uint64_t key, bool outermost, uint64_t base,
                       const uint64_t *words, uint32_t pairs);
    /* A span: `f` as it was while open, its duration, and its duration without nested runs. */
    void (*ended)(void *self, const struct plumb_live_frame *f, uint64_t value, uint64_t own,
                  bool outermost, uint64_t end_ticks);
    void (*sample)(void *self, const struct plumb_ended *e); /* any other record with a value */
    /* A device took `value` ns for another node, inside a run of this key. */
    void (*within)(void *self, const struct plumb_ended *e);
    void (*failed)(void *self, const struct plumb_ended *e);
    void (*abandoned)(void *self, const struct plumb_ended *e);
    void (*unbalanced)(void *self, const struct plumb_ended *e);
    /* Returns the place that an adopted path of `n` nodes leads to. */
    uint32_t (*adopt)(void *self, uint32_t group, const uint64_t *path, uint32_t n);
};

/* The position of a replay; frames[0] stands for the context around the outermost span. */
struct plumb_replay {
    const struct plumb_sink *sink;
    void *self;
    struct plumb_live_context *c;
    struct plumb_live_frame *frames;
};

static PLUMB_ALWAYS_INLINE struct plumb_ended plumb_replay_run(const struct plumb_live_frame *f,
                                                               bool outermost, uint64_t ticks)
{
    uint64_t d = ticks > f->begin_ticks ? ticks - f->begin_ticks : 0;
    struct plumb_ended e = {.key = f->key,
                            .tree = f->tree,
                            .channel = PLUMB_CHANNEL_SPAN,
                            .value = d,
                            .self = d > f->child_ticks ? d - f->child_ticks : 0,
                            .begin_ticks = f->begin_ticks,
                            .end_ticks = ticks,
                            .outermost = outermost};
    return e;
}

static __attribute__((noinline)) void plumb_replay_marked(const struct plumb_sink *sink, void *self,
                                                          struct plumb_live_frame *f,
                                                          bool outermost, uint64_t ticks)
{
    struct plumb_ended run = plumb_replay_run(f, outermost, ticks), *e = &run;
    if (f->mark == PLUMB_FRAME_FAILED) {
        f[-1].child_ticks += e->value;
        e->why_off = f->why_off;
        sink->failed(self, e);
    } else {
        /* The span is dropped: its contents belong to the span around it. */
        f[-1].child_ticks += f->child_ticks;
        sink->abandoned(self, e);
    }
}

static inline void plumb_replay_close(const struct plumb_replay *r, uint64_t down_to,
                                      uint64_t ticks)
{
    while (r->c->depth > down_to) {
        struct plumb_live_frame *f = &r->frames[r->c->depth];
        struct plumb_ended e = plumb_replay_run(f, r->c->depth == 1 && r->c->base_tree == 0, ticks);
        f[-1].child_ticks += f->child_ticks;
        r->sink->unbalanced(r->self, &e);
        r->c->depth--;
    }
}

/* Returns whether a run of the node is open deeper than at `depth`. */
static inline bool plumb_replay_is_inside(const struct plumb_replay *r, uint64_t depth,
                                          uint32_t node)
{
    for (uint64_t d = r->c->depth; d > depth; d--)
        if (plumb_key_node(r->frames[d].key) == node)
            return true;
    return false;
}

/* Device time counts once for each node around it, however often that node is open. Work that was
 * launched earlier belongs to the stage that launched it, not to the spans that are open now. */
static inline void plumb_replay_within(const struct plumb_replay *r, const uint64_t *w, uint32_t n,
                                       const struct plumb_ended *sample)
{
    struct plumb_ended e = *sample;
    uint32_t own = plumb_key_node(e.key), node;
    if (n >= 4) {
        uint64_t stage = PLUMB_LOAD(w[3]);
        e.key = plumb_key(plumb_key_group(stage - 1) & 0xffff, plumb_key_node(stage - 1));
        if (stage && plumb_key_node(e.key) != own)
            r->sink->within(r->self, &e);
        return;
    }
    for (uint64_t d = r->c->depth; d > 0; d--) {
        node = plumb_key_node(r->frames[d].key);
        e.key = r->frames[d].key;
        e.begin_ticks = r->frames[d].begin_ticks;
        if (node != own && !plumb_replay_is_inside(r, d, node))
            r->sink->within(r->self, &e);
    }
}

static inline void plumb_replay_sample(const struct plumb_replay *r, const uint64_t *w, uint32_t n,
                                       uint32_t kind, uint64_t ticks)
{
    uint64_t who = PLUMB_LOAD(w[1]);
    struct plumb_ended e = {.key = plumb_key((uint32_t)(who >> 32) & 0xffff,
                                             (uint32_t)who & ((1u << PLUMB_NODE_BITS) - 1)),
                            .value = PLUMB_LOAD(w[2]),
                            .begin_ticks = ticks,
                            .end_ticks = ticks};
    switch (kind) {
    case PLUMB_SAMPLE_HOST:
        e.channel = PLUMB_CHANNEL_HOST_NS;
        e.self = e.value;
        e.outermost = r->c->depth == 0 && r->c->base_tree == 0;
        r->sink->sample(r->self, &e);
        break;
    case PLUMB_SAMPLE_DEVICE:
        e.channel = PLUMB_CHANNEL_DEVICE_NS;
        r->sink->sample(r->self, &e);
        plumb_replay_within(r, w, n, &e);
        break;
    case PLUMB_SAMPLE_ASYNC:
        e.async = true;
        e.begin_ticks = ticks - e.value;
        r->sink->sample(r->self, &e);
        break;
    case PLUMB_SAMPLE_ASYNC_FAILED:
        e.why_off = e.value;
        r->sink->failed(r->self, &e);
        break;
    default:
        r->sink->abandoned(r->self, &e);
    }
}

static inline void plumb_replay_mark(const struct plumb_replay *r, const uint64_t *w, uint32_t mark)
{
    uint64_t depth = PLUMB_LOAD(w[1]);
    if (depth < 1 || depth > r->c->depth || mark == PLUMB_FRAME_LEFT)
        return;
    r->frames[depth].mark = mark;
    r->frames[depth].why_off = PLUMB_LOAD(w[2]);
}

static __attribute__((noinline)) void
plumb_replay_wide(const struct plumb_replay *r, const uint64_t *w, uint32_t n, uint64_t ticks)
{
    uint64_t word = PLUMB_LOAD(w[0]);
    uint32_t small = (uint32_t)(word >> 16) & 63, kind = (uint32_t)(word >> 2) & 63;
    if (n < 3 && (kind == PLUMB_WIDE_MARK || kind == PLUMB_WIDE_SAMPLE))
        return;
    switch (kind) {
    case PLUMB_WIDE_GROUP:
        r->c->group = (uint32_t)PLUMB_LOAD(w[1]) & 0xffff;
        break;
    case PLUMB_WIDE_STEP:
        r->c->step = (int64_t)PLUMB_LOAD(w[1]);
        break;
    case PLUMB_WIDE_ADOPT: {
        uint64_t depth = PLUMB_LOAD(w[1]);
        if (depth <= 2 * (n - 2))
            r->c->base_tree =
                depth ? r->sink->adopt(r->self, r->c->group, w + 2, (uint32_t)depth) : 0;
        break;
    }
    case PLUMB_WIDE_CLOSE:
        plumb_replay_close(r, PLUMB_LOAD(w[1]), ticks);
        break;
    case PLUMB_WIDE_MARK:
        plumb_replay_mark(r, w, small);
        break;
    case PLUMB_WIDE_SAMPLE:
        plumb_replay_sample(r, w, n, small, ticks);
        break;
    default:
        break; /* arguments, and records of newer versions: without statistics */
    }
}

/* Returns how many words of begin/end pairs of the same node start at `w`. */
static PLUMB_ALWAYS_INLINE uint32_t plumb_replay_pairs(const uint64_t *w, const uint64_t *end)
{
    const uint64_t low = ((uint64_t)1 << (64 - PLUMB_TICK_BITS)) - 1;
    uint64_t begin = PLUMB_LOAD(*w) & low;
    const uint64_t *at = w + 2; /* the caller has looked at the first end's kind */
    while (at + 1 < end && (PLUMB_LOAD(at[0]) & low) == begin &&
           (PLUMB_LOAD(at[1]) & low) == PLUMB_REC_END)
        at += 2;
    return (uint32_t)(at - w);
}

/* Replays one block from its records on: words [PLUMB_BLOCK_WORDS]. Its position is kept in
 * registers; the context is updated before other code reads it. */
static PLUMB_ALWAYS_INLINE void plumb_replay_block(const struct plumb_sink *sink, void *self,
                                                   struct plumb_live_context *c,
                                                   struct plumb_live_frame *frames,
                                                   const uint64_t *words)
{
    const uint64_t *w = words + PLUMB_BLOCK_HEAD, *end = words + PLUMB_BLOCK_WORDS;
    uint64_t base = PLUMB_LOAD(words[0]), spans = 0, group = (uint64_t)c->group << PLUMB_NODE_BITS;
    struct plumb_live_frame *f = frames + c->depth; /* innermost open */
    bool adopted = c->base_tree != 0;
    while (w < end) {
        uint64_t word = PLUMB_LOAD(*w), ticks = base + plumb_record_ticks(word);
        uint32_t kind = word & 3;
        if (kind == PLUMB_REC_END) {
            uint64_t d = PLUMB_LIKELY(ticks > f->begin_ticks) ? ticks - f->begin_ticks : 0;
            w++;
            if (PLUMB_UNLIKELY(f == frames))
                continue;
            if (PLUMB_LIKELY(f->mark == PLUMB_FRAME_OK)) {
                f[-1].child_ticks += d;
                sink->ended(self, f, d, PLUMB_LIKELY(d > f->child_ticks) ? d - f->child_ticks : 0,
                            f == frames + 1 && !adopted, ticks);
            } else {
                plumb_replay_marked(sink, self, f, f == frames + 1 && !adopted, ticks);
            }
            f--;
            spans++;
        } else if (kind == PLUMB_REC_BEGIN) {
            uint64_t key = group | plumb_record_node(word);
            uint32_t parent = PLUMB_LIKELY(f != frames) ? f->tree : c->base_tree, pairs;
            if (PLUMB_UNLIKELY(f == frames + PLUMB_DEPTH_MAX)) {
                w++;
            } else if (w + 1 < end && (PLUMB_LOAD(w[1]) & 3) == PLUMB_REC_END) {
                pairs = plumb_replay_pairs(w, end) / 2;
                f->child_ticks +=
                    sink->leaves(self, parent, key, f == frames && !adopted, base, w, pairs);
                spans += pairs;
                w += 2 * pairs;
            } else {
                f++;
                f->begin_ticks = ticks;
                f->child_ticks = 0;
                f->key = key;
                f->tree = sink->enter(self, parent, key);
                f->mark = PLUMB_FRAME_OK;
                w++;
            }
        } else {
            struct plumb_replay r = {sink, self, c, frames};
            uint32_t n = (uint32_t)(word >> 8) & 255;
            if (kind != PLUMB_REC_WIDE || n < 2 || n > end - w)
                break;
            c->depth = (uint32_t)(f - frames);
            plumb_replay_wide(&r, w, n, ticks);
            f = frames + c->depth;
            group = (uint64_t)c->group << PLUMB_NODE_BITS;
            adopted = c->base_tree != 0;
            w += n;
        }
    }
    c->depth = (uint32_t)(f - frames);
    c->spans += spans;
}

#endif
