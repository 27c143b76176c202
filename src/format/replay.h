/* replay.h: the one reading of ring records: turns a block into ended runs.
 *
 * Used by the recording thread (core/fold.c, hot) and by everybody who reads a mapping
 * (format/live_read.c, core/snapshot.c), so that they cannot disagree. The caller gives the sink as
 * constant function pointers; everything is inlined into it.
 *
 * Frames and context may be watched by another thread while their owner replays: every store is a
 * relaxed atomic. The input may be hostile (a file): depth is checked here, node, group and place
 * numbers by the sink. */
#ifndef PLUMB_FORMAT_REPLAY_H
#define PLUMB_FORMAT_REPLAY_H

#include <stdbool.h>

#include "base/atomic.h"
#include "format/live.h"

/* A run that ended. */
struct plumb_ended {
    uint32_t group, node;
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

struct plumb_sink {
    /* The place of `node` below place `parent`. */
    uint32_t (*enter)(void *self, uint32_t parent, uint32_t group, uint32_t node);
    /* The place that an adopted path of `n` nodes leads to. */
    uint32_t (*adopt)(void *self, uint32_t group, const uint64_t *path, uint32_t n);
    void (*sample)(void *self, const struct plumb_ended *e);
    void (*failed)(void *self, const struct plumb_ended *e);
    void (*abandoned)(void *self, const struct plumb_ended *e);
    void (*unbalanced)(void *self, const struct plumb_ended *e);
};

static PLUMB_ALWAYS_INLINE void plumb_replay_begin(const struct plumb_sink *sink, void *self,
                                                   struct plumb_live_context *c,
                                                   struct plumb_live_frame *frames, uint32_t node,
                                                   uint64_t ticks)
{
    uint32_t depth = c->depth + 1;
    struct plumb_live_frame *f = &frames[depth];
    if (PLUMB_UNLIKELY(depth > PLUMB_DEPTH_MAX))
        return;
    PLUMB_STORE(f->begin_ticks, ticks);
    PLUMB_STORE(f->child_ticks, 0);
    PLUMB_STORE(f->node, node);
    PLUMB_STORE(f->group, c->group);
    PLUMB_STORE(f->tree, sink->enter(self, depth > 1 ? frames[depth - 1].tree : c->base_tree,
                                     c->group, node));
    PLUMB_STORE(f->mark, PLUMB_FRAME_OK);
    PLUMB_STORE(c->depth, depth);
}

static PLUMB_ALWAYS_INLINE void plumb_replay_ended(struct plumb_ended *e,
                                                   const struct plumb_live_context *c,
                                                   const struct plumb_live_frame *f, uint64_t ticks)
{
    uint64_t d = ticks > f->begin_ticks ? ticks - f->begin_ticks : 0;
    e->group = f->group;
    e->node = f->node;
    e->tree = f->tree;
    e->channel = PLUMB_CHANNEL_SPAN;
    e->value = d;
    e->self = d > f->child_ticks ? d - f->child_ticks : 0;
    e->begin_ticks = f->begin_ticks;
    e->end_ticks = ticks;
    e->why_off = 0;
    e->outermost = c->depth == 1 && c->base_tree == 0;
    e->async = false;
}

static PLUMB_ALWAYS_INLINE void plumb_replay_end(const struct plumb_sink *sink, void *self,
                                                 struct plumb_live_context *c,
                                                 struct plumb_live_frame *frames, uint64_t ticks)
{
    uint32_t depth = c->depth;
    struct plumb_live_frame *f = &frames[depth];
    struct plumb_ended e;
    if (PLUMB_UNLIKELY(depth == 0))
        return;
    plumb_replay_ended(&e, c, f, ticks);
    if (PLUMB_LIKELY(f->mark == PLUMB_FRAME_OK)) {
        PLUMB_BUMP(f[-1].child_ticks, e.value);
        sink->sample(self, &e);
    } else if (f->mark == PLUMB_FRAME_FAILED) {
        PLUMB_BUMP(f[-1].child_ticks, e.value);
        e.why_off = f->why_off;
        sink->failed(self, &e);
    } else {
        /* As if it had never been: what it contained belongs to the span around it. */
        PLUMB_BUMP(f[-1].child_ticks, f->child_ticks);
        sink->abandoned(self, &e);
    }
    PLUMB_STORE(c->depth, depth - 1);
    PLUMB_BUMP(c->spans, 1);
}

static inline void plumb_replay_close(const struct plumb_sink *sink, void *self,
                                      struct plumb_live_context *c, struct plumb_live_frame *frames,
                                      uint32_t down_to, uint64_t ticks)
{
    while (c->depth > down_to) {
        struct plumb_live_frame *f = &frames[c->depth];
        struct plumb_ended e;
        plumb_replay_ended(&e, c, f, ticks);
        PLUMB_BUMP(f[-1].child_ticks, f->child_ticks);
        sink->unbalanced(self, &e);
        PLUMB_STORE(c->depth, c->depth - 1);
    }
}

static inline void plumb_replay_sample(const struct plumb_sink *sink, void *self,
                                       const struct plumb_live_context *c, const uint64_t *w,
                                       uint32_t kind, uint64_t ticks)
{
    struct plumb_ended e = {0};
    e.node = (uint32_t)PLUMB_LOAD(w[1]);
    e.group = (uint32_t)(PLUMB_LOAD(w[1]) >> 32);
    e.value = PLUMB_LOAD(w[2]);
    e.end_ticks = e.begin_ticks = ticks;
    switch (kind) {
    case PLUMB_SAMPLE_HOST:
        e.channel = PLUMB_CHANNEL_HOST_NS;
        e.self = e.value;
        e.outermost = c->depth == 0 && c->base_tree == 0;
        sink->sample(self, &e);
        break;
    case PLUMB_SAMPLE_DEVICE:
        e.channel = PLUMB_CHANNEL_DEVICE_NS;
        sink->sample(self, &e);
        break;
    case PLUMB_SAMPLE_ASYNC:
        e.async = true;
        e.begin_ticks = ticks - e.value;
        sink->sample(self, &e);
        break;
    case PLUMB_SAMPLE_ASYNC_FAILED:
        e.why_off = e.value;
        sink->failed(self, &e);
        break;
    default:
        sink->abandoned(self, &e);
    }
}

static inline void plumb_replay_wide(const struct plumb_sink *sink, void *self,
                                     struct plumb_live_context *c, struct plumb_live_frame *frames,
                                     const uint64_t *w, uint32_t n, uint64_t ticks)
{
    uint64_t word = PLUMB_LOAD(w[0]);
    uint32_t small = (uint32_t)(word >> 16) & 63, kind = (uint32_t)(word >> 2) & 63;
    if (n < 3 && (kind == PLUMB_WIDE_MARK || kind == PLUMB_WIDE_SAMPLE))
        return;
    if (kind == PLUMB_WIDE_ADOPT && (PLUMB_LOAD(w[1]) + 1) / 2 > n - 2)
        return;
    switch (kind) {
    case PLUMB_WIDE_GROUP:
        PLUMB_STORE(c->group, (uint32_t)PLUMB_LOAD(w[1]));
        break;
    case PLUMB_WIDE_STEP:
        PLUMB_STORE(c->step, (int64_t)PLUMB_LOAD(w[1]));
        break;
    case PLUMB_WIDE_ADOPT:
        PLUMB_STORE(c->base_tree, PLUMB_LOAD(w[1]) ? sink->adopt(self, c->group, w + 2,
                                                                 (uint32_t)PLUMB_LOAD(w[1]))
                                                   : 0);
        break;
    case PLUMB_WIDE_CLOSE:
        plumb_replay_close(sink, self, c, frames, (uint32_t)PLUMB_LOAD(w[1]), ticks);
        break;
    case PLUMB_WIDE_MARK:
        if (PLUMB_LOAD(w[1]) >= 1 && PLUMB_LOAD(w[1]) <= c->depth) {
            PLUMB_STORE(frames[PLUMB_LOAD(w[1])].mark, small);
            PLUMB_STORE(frames[PLUMB_LOAD(w[1])].why_off, PLUMB_LOAD(w[2]));
        }
        break;
    case PLUMB_WIDE_SAMPLE:
        plumb_replay_sample(sink, self, c, w, small, ticks);
        break;
    default:
        break; /* arguments, and what newer versions write: no statistics in them */
    }
}

/* Replays one block from its records on: words [PLUMB_BLOCK_WORDS]. */
static PLUMB_ALWAYS_INLINE void plumb_replay_block(const struct plumb_sink *sink, void *self,
                                                   struct plumb_live_context *c,
                                                   struct plumb_live_frame *frames,
                                                   const uint64_t *words)
{
    uint64_t base = PLUMB_LOAD(words[0]);
    for (uint32_t i = PLUMB_BLOCK_HEAD; i < PLUMB_BLOCK_WORDS;) {
        uint64_t word = PLUMB_LOAD(words[i]);
        uint64_t ticks = base + plumb_record_ticks(word);
        uint32_t n;
        switch (word & 3) {
        case PLUMB_REC_BEGIN:
            plumb_replay_begin(sink, self, c, frames, plumb_record_node(word), ticks);
            i++;
            break;
        case PLUMB_REC_END:
            plumb_replay_end(sink, self, c, frames, ticks);
            i++;
            break;
        case PLUMB_REC_WIDE:
            n = (uint32_t)(word >> 8) & 255;
            if (n < 2 || n > PLUMB_BLOCK_WORDS - i)
                return;
            plumb_replay_wide(sink, self, c, frames, words + i, n, ticks);
            i += n;
            break;
        default:
            return;
        }
    }
}

#endif
