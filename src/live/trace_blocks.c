/* trace_blocks.c: decodes everything except plain spans: slots, gaps, and the attributes of spans
 * beyond their times. See trace_blocks.h. */
#include "live/trace_blocks.h"

#include <string.h>

bool plumb_trace_wants(const struct plumb_trace_filter *filter, const struct plumb_trace_state *s,
                       const struct plumb_trace_frame *f)
{
    for (; filter; filter = filter->next)
        if (!filter->wants(filter, s, f))
            return false;
    return true;
}

/* ---- Pending records ------------------------------------------------------------------------- */

static uint32_t entry_words(const struct plumb_trace_state *s, uint32_t at)
{
    uint32_t n = (uint32_t)s->pending[at];
    return at + 1 + n > s->pending_words || n < 2 ? 0 : n;
}

const uint64_t *plumb_trace_pending(const struct plumb_trace_state *s, uint32_t depth, uint32_t *at)
{
    while (*at < s->pending_words && s->pending_words <= PLUMB_TRACE_PENDING) {
        uint32_t here = *at, n = entry_words(s, here);
        if (!n)
            return NULL;
        *at = here + 1 + n;
        if (s->pending[here] >> 32 == depth)
            return &s->pending[here + 1];
    }
    return NULL;
}

static void pend(struct plumb_trace_state *s, uint32_t depth, const uint64_t *w, uint32_t n)
{
    if (s->pending_words > PLUMB_TRACE_PENDING || n + 1 > PLUMB_TRACE_PENDING - s->pending_words)
        return; /* 2 KiB of arguments: more are not shown */
    s->pending[s->pending_words] = (uint64_t)depth << 32 | n;
    memcpy(&s->pending[s->pending_words + 1], w, n * sizeof *w);
    s->pending_words += n + 1;
}

/* Removes the records of spans deeper than `depth`, which have been written. */
static void unpend(struct plumb_trace_state *s, uint32_t depth)
{
    uint32_t to = 0;
    for (uint32_t at = 0; at < s->pending_words;) {
        uint32_t n = entry_words(s, at);
        if (!n)
            break;
        if (s->pending[at] >> 32 <= depth) {
            memmove(&s->pending[to], &s->pending[at], (n + 1) * sizeof s->pending[0]);
            to += n + 1;
        }
        at += n + 1;
    }
    s->pending_words = to;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

void plumb_trace_begin_long(const struct plumb_trace_decoder *d, struct plumb_trace_frame *f)
{
    struct plumb_trace_state *s = d->s;
    bool wanted = plumb_trace_wants(d->filter, s, f);
    f->flags = (f->flags & PLUMB_TRACE_LATE) | (wanted ? PLUMB_TRACE_SHOWN : 0);
    if (wanted && d->sink->begin_more)
        d->sink->begin_more(d->self, s, f);
    if (wanted)
        s->flow = 0;
    unpend(s, s->depth - 1); /* a stack */
}

static void close_one(const struct plumb_trace_decoder *d, uint64_t ticks, enum plumb_trace_end how)
{
    struct plumb_trace_state *s = d->s;
    struct plumb_trace_frame *f = &s->frames[s->depth];
    if (f->flags & PLUMB_TRACE_SHOWN && d->sink->end_more)
        d->sink->end_more(d->self, s, f, ticks, how);
    unpend(s, s->depth - 1);
    s->depth--;
}

void plumb_trace_end_long(const struct plumb_trace_decoder *d, struct plumb_trace_frame *f,
                          uint64_t ticks)
{
    (void)f;
    close_one(d, ticks, PLUMB_TRACE_END_SAID);
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static void enter_thread(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot)
{
    struct plumb_trace_state *s = d->s;
    char name[PLUMB_TRACE_NAME + 1] = "";
    if (slot->generation == s->generation && slot->tid == s->tid)
        return;
    while (s->depth)
        close_one(d, 0, PLUMB_TRACE_END_CUT);
    s->tid = slot->tid;
    s->generation = slot->generation;
    s->frames[0] = (struct plumb_trace_frame){.step = -1};
    s->pending_words = 0;
    s->flow = 0;
    s->step = -1;
    memcpy(name, slot->name, sizeof slot->name);
    if (d->sink->thread)
        d->sink->thread(d->self, s, name);
}

static void enter_path(struct plumb_trace_state *s, const struct plumb_trace_slot *slot)
{
    s->group = slot->group & 0xffff;
    s->step = slot->step;
    s->path_depth = slot->path_depth <= PLUMB_TRACE_PATH ? slot->path_depth : 0;
    memcpy(s->path, slot->path, s->path_depth * sizeof s->path[0]);
}

/* Begins the spans whose begins were in blocks that were left out, at their own times. */
static void open_late(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot,
                      uint32_t depth)
{
    struct plumb_trace_state *s = d->s;
    bool known = depth <= PLUMB_TRACE_FRAMES;
    struct plumb_trace_frame *f = &s->frames[++s->depth];
    *f = (struct plumb_trace_frame){.step = slot->step, .flags = PLUMB_TRACE_LATE};
    if (!known)
        return;
    f->begin_ticks = slot->frames[depth - 1].begin_ticks;
    f->key = slot->frames[depth - 1].key;
    /* Steps are not known, except that the innermost span's may be the current one. */
    f->step = s->frames[s->depth - 1].step;
    plumb_trace_begin_long(d, f);
}

/* Compares the open spans with those that the slot lists. */
static void resume(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot)
{
    struct plumb_trace_state *s = d->s;
    uint32_t depth = slot->depth < PLUMB_TRACE_DEPTH ? slot->depth : PLUMB_TRACE_DEPTH - 1;
    uint32_t same = 0;
    while (same < depth && same < s->depth && same < PLUMB_TRACE_FRAMES &&
           s->frames[same + 1].begin_ticks == slot->frames[same].begin_ticks &&
           s->frames[same + 1].key == slot->frames[same].key)
        same++;
    while (s->depth > same)
        close_one(d, 0, PLUMB_TRACE_END_CUT);
    enter_path(s, slot);
    while (s->depth < depth)
        open_late(d, slot, s->depth + 1);
}

void plumb_trace_gap_slot(const struct plumb_trace_decoder *d, const struct plumb_trace_gap *gap)
{
    struct plumb_trace_gap g = *gap;
    if (g.count > PLUMB_TRACE_GAP_NODES)
        g.count = 0;
    if (d->sink->gap)
        d->sink->gap(d->self, d->s, &g);
    if (g.through_block > d->s->block)
        d->s->block = g.through_block;
}

bool plumb_trace_enter_slot(const struct plumb_trace_decoder *d,
                            const struct plumb_trace_slot *slot)
{
    struct plumb_trace_state *s = d->s;
    bool resumes = slot->flags & PLUMB_SLOT_RESUMES || slot->generation != s->generation ||
                   slot->tid != s->tid;
    if (s->depth >= PLUMB_TRACE_DEPTH || s->pending_words > PLUMB_TRACE_PENDING)
        s->depth = s->pending_words = 0; /* a damaged file */
    enter_thread(d, slot);
    if (slot->kind == PLUMB_SLOT_GAP) {
        plumb_trace_gap_slot(d, (const struct plumb_trace_gap *)(const void *)slot->data);
        return false;
    }
    if (slot->kind != PLUMB_SLOT_BLOCK || slot->words > PLUMB_BLOCK_WORDS)
        return false;
    if (slot->words > PLUMB_BLOCK_HEAD && slot->data[0] < s->last_ticks && d->sink->jumped)
        d->sink->jumped(d->self, s, s->last_ticks, slot->data[0]);
    if (resumes)
        resume(d, slot);
    s->block = slot->block;
    return slot->words > PLUMB_BLOCK_HEAD;
}

void plumb_trace_slot(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot)
{
    if (plumb_trace_enter_slot(d, slot))
        plumb_trace_words(d, d->sink, slot->data, slot->words);
}

/* ---- A trace that begins in the middle of a block -------------------------------------------- */

static bool wants_nothing(const struct plumb_trace_filter *self, const struct plumb_trace_state *s,
                          const struct plumb_trace_frame *f)
{
    (void)self;
    (void)s;
    (void)f;
    return false;
}

/* Returns how many of the words were recorded before `from_ticks`. */
static uint32_t words_before(const struct plumb_trace_slot *slot, uint64_t from_ticks)
{
    uint32_t i = PLUMB_BLOCK_HEAD;
    while (i < slot->words && slot->data[i] &&
           slot->data[0] + plumb_record_ticks(slot->data[i]) < from_ticks) {
        uint32_t n =
            (slot->data[i] & 3) == PLUMB_REC_WIDE ? (uint32_t)(slot->data[i] >> 8) & 255 : 1;
        if (n < 1 || n > slot->words - i)
            break;
        i += n;
    }
    return i;
}

/* The frame holds a slot: 2 KiB. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
void plumb_trace_slot_from(const struct plumb_trace_decoder *d, const struct plumb_trace_slot *slot,
                           uint64_t from_ticks)
{
    const struct plumb_trace_filter nothing = {wants_nothing, NULL, NULL};
    struct plumb_trace_decoder before = {d->sink, d->self, &nothing, d->s};
    struct plumb_trace_slot part = *slot;
    uint32_t at, depth, rest, marks;
    part.words = slot->words <= PLUMB_BLOCK_WORDS ? slot->words : 0;
    at = words_before(&part, from_ticks);
    rest = part.words > at ? part.words - at : 0;
    part.words = (uint16_t)at;
    if (plumb_trace_enter_slot(&before, &part))
        plumb_trace_words(&before, d->sink, part.data, part.words);
    d->s->flow = 0;
    depth = d->s->depth;
    for (d->s->depth = 1; d->s->depth <= depth; d->s->depth++) {
        struct plumb_trace_frame *f = &d->s->frames[d->s->depth];
        if (f->flags & PLUMB_TRACE_SHOWN || !f->key)
            continue;
        marks = f->flags & (PLUMB_TRACE_FAILED | PLUMB_TRACE_ABANDONED | PLUMB_TRACE_LEFT);
        f->flags |= PLUMB_TRACE_LATE;
        plumb_trace_begin_long(d, f);
        f->flags |= marks;
    }
    d->s->depth = depth;
    memmove(&part.data[PLUMB_BLOCK_HEAD], &slot->data[at], rest * sizeof part.data[0]);
    if (rest)
        plumb_trace_words(d, d->sink, part.data, PLUMB_BLOCK_HEAD + rest);
}
#pragma GCC diagnostic pop

/* ---- Wide records ---------------------------------------------------------------------------- */

static void adopt(struct plumb_trace_state *s, const uint64_t *w, uint32_t n)
{
    uint64_t depth = w[1];
    if (depth > 2 * (uint64_t)(n - 2))
        return;
    s->path_depth = depth < PLUMB_TRACE_PATH ? (uint32_t)depth : PLUMB_TRACE_PATH;
    for (uint32_t i = 0; i < s->path_depth; i++)
        s->path[i] = (uint32_t)(w[2 + i / 2] >> (i & 1 ? 32 : 0));
}

static void mark(struct plumb_trace_state *s, const uint64_t *w, uint32_t n, uint32_t what)
{
    struct plumb_trace_frame *f;
    if (n < 3 || w[1] < 1 || w[1] > s->depth)
        return;
    f = &s->frames[w[1]];
    if (what == PLUMB_FRAME_LEFT) {
        f->flags |= PLUMB_TRACE_LEFT;
        return;
    }
    f->flags &= ~(uint32_t)(PLUMB_TRACE_FAILED | PLUMB_TRACE_ABANDONED);
    f->flags |= what == PLUMB_FRAME_FAILED ? PLUMB_TRACE_FAILED : PLUMB_TRACE_ABANDONED;
    f->why_off = w[2];
}

static void argument(struct plumb_trace_state *s, const uint64_t *w, uint32_t n)
{
    uint64_t depth = w[1] >> 48;
    if (n < 3 || depth < 1 || depth > s->depth || !(s->frames[depth].flags & PLUMB_TRACE_SHOWN))
        return;
    s->frames[depth].flags |= PLUMB_TRACE_ARGS;
    pend(s, (uint32_t)depth, w, n);
}

static void sample(const struct plumb_trace_decoder *d, const uint64_t *w, uint32_t n,
                   uint32_t kind, uint64_t ticks)
{
    struct plumb_trace_async a = {.end_ticks = ticks};
    uint64_t took;
    if (kind < PLUMB_SAMPLE_ASYNC && n == 3 && d->sink->measured)
        d->sink->measured(d->self, d->s,
                          plumb_key((uint32_t)(w[1] >> 32) & 0xffff,
                                    (uint32_t)w[1] & ((1u << PLUMB_NODE_BITS) - 1)),
                          kind, w[2]);
    if (kind < PLUMB_SAMPLE_ASYNC || n < (kind == PLUMB_SAMPLE_ASYNC ? 3u : 4u) || !d->sink->async)
        return;
    took = kind == PLUMB_SAMPLE_ASYNC ? w[2] : w[3];
    a.begin_ticks = took < ticks ? ticks - took : 0;
    a.key =
        plumb_key((uint32_t)(w[1] >> 32) & 0xffff, (uint32_t)w[1] & ((1u << PLUMB_NODE_BITS) - 1));
    if (kind == PLUMB_SAMPLE_ASYNC_FAILED) {
        a.how = PLUMB_TRACE_ASYNC_FAILED;
        a.why_off = w[2];
    } else if (kind == PLUMB_SAMPLE_ASYNC_ABANDONED) {
        a.how = PLUMB_TRACE_ASYNC_ABANDONED;
    }
    d->sink->async(d->self, d->s, &a);
}

/* Records with a time that are not spans. */
static void point(const struct plumb_trace_decoder *d, const uint64_t *w, uint32_t n, uint32_t kind,
                  uint32_t small, uint64_t ticks)
{
    const struct plumb_trace_sink *sink = d->sink;
    if (kind == PLUMB_WIDE_FLOW && small == 1) {
        d->s->flow = w[1];
        return;
    }
    if (!plumb_trace_wants(d->filter, d->s, NULL))
        return;
    if (kind == PLUMB_WIDE_INSTANT && sink->instant)
        sink->instant(d->self, d->s, ticks, w[1]);
    else if (kind == PLUMB_WIDE_COUNTER && n >= 3 && sink->counter)
        sink->counter(d->self, d->s, ticks, small, w[1], w[2]);
    else if (kind == PLUMB_WIDE_FLOW && small == 2 && sink->within)
        sink->within(d->self, d->s, w[1]);
    else if (kind == PLUMB_WIDE_FLOW && small == 0 && sink->flow)
        sink->flow(d->self, d->s, ticks, w[1]);
    else if (kind == PLUMB_WIDE_SAMPLE)
        sample(d, w, n, small, ticks);
}

void plumb_trace_wide(const struct plumb_trace_decoder *d, const uint64_t *w, uint32_t n,
                      uint64_t ticks)
{
    struct plumb_trace_state *s = d->s;
    uint32_t small = (uint32_t)(w[0] >> 16) & 63, kind = (uint32_t)(w[0] >> 2) & 63;
    s->last_ticks = ticks;
    switch (kind) {
    case PLUMB_WIDE_GROUP:
        s->group = (uint32_t)w[1] & 0xffff;
        break;
    case PLUMB_WIDE_STEP:
        s->step = (int64_t)w[1];
        break;
    case PLUMB_WIDE_ADOPT:
        adopt(s, w, n);
        break;
    case PLUMB_WIDE_CLOSE:
        while (s->depth > w[1])
            close_one(d, ticks, PLUMB_TRACE_END_UNBALANCED);
        break;
    case PLUMB_WIDE_MARK:
        mark(s, w, n, small);
        break;
    case PLUMB_WIDE_ARG:
        argument(s, w, n);
        break;
    case PLUMB_WIDE_STACK:
        pend(s, s->depth + 1, w, n);
        break;
    default:
        point(d, w, n, kind, small, ticks);
    }
}
