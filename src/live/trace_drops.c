/* trace_drops.c: see trace_drops.h. The mapping may be a damaged file. */
#include "live/trace_drops.h"

#include <string.h>

#include "base/atomic.h"
#include "live/trace_regions.h"

#include <plumb/run.h>

enum { SETTLED = 2 }; /* `dropping`: gap[0] is all that is left */

/* ---- Which spans were to be in the trace ------------------------------------------------------
 */

/* Decides like the filter of trace_regions.c at a span's begin. */
static bool is_wanted(const struct plumb_trace_stack *s, uint64_t begin_ticks)
{
    const struct plumb_live_regions *r = &s->source->h->regions;
    if (r->selection != PLUMB_SELECT_REGIONS)
        return true;
    if (r->scope == PLUMB_REGION_PROCESS)
        return plumb_trace_any_region(s->source, begin_ticks, false);
    for (uint32_t d = s->depth; d > 0; d--)
        if (!s->left[d] && plumb_trace_is_selected(s->source, plumb_key_node(s->open[d])))
            return true;
    return s->path_inside;
}

void plumb_trace_stack_open(struct plumb_trace_stack *stack, const struct plumb_live_view *s,
                            uint32_t group, const uint32_t *path, uint32_t path_depth)
{
    stack->source = s;
    stack->from_ticks = 0;
    stack->depth = 0;
    stack->group = group & 0xffff;
    stack->path_inside = plumb_trace_path_is_selected(s, path, path_depth);
}

void plumb_trace_stack_push(struct plumb_trace_stack *stack, uint64_t key, uint64_t begin_ticks)
{
    stack->open[++stack->depth] = key;
    stack->left[stack->depth] = false;
    stack->wanted[stack->depth] = is_wanted(stack, begin_ticks);
}

/* ---- One block ------------------------------------------------------------------------------- */

static void count_end(struct plumb_trace_drops *drops, uint64_t key)
{
    drops->spans++;
    /* Most likely one of the last. */
    for (uint32_t i = drops->count; i-- > 0;)
        if (drops->key[i].key == key) {
            drops->key[i].spans++;
            return;
        }
    if (drops->count == PLUMB_BLOCK_WORDS)
        return; /* impossible: a block ends fewer */
    drops->key[drops->count].key = key;
    drops->key[drops->count++].spans = 1;
}

static void pop(struct plumb_trace_drops *drops, struct plumb_trace_stack *s, uint64_t ticks)
{
    if (s->wanted[s->depth] && ticks >= s->from_ticks)
        count_end(drops, s->open[s->depth]);
    s->depth--;
}

static void adopt(struct plumb_trace_stack *s, const uint64_t *w, uint32_t n)
{
    s->path_inside = false;
    for (uint64_t i = 0; i < w[1] && i < 2 * (uint64_t)(n - 2) && !s->path_inside; i++) {
        uint32_t node = (uint32_t)(w[2 + i / 2] >> (i & 1 ? 32 : 0));
        s->path_inside = plumb_trace_is_selected(s->source, node);
    }
}

/* Counts the spans that a wide record of `n` words ends, and applies its other changes. */
static void count_wide(struct plumb_trace_drops *drops, struct plumb_trace_stack *s,
                       const uint64_t *w, uint32_t n, uint64_t ticks)
{
    uint32_t kind = (uint32_t)(w[0] >> 2) & 63, small = (uint32_t)(w[0] >> 16) & 63;
    if (kind == PLUMB_WIDE_GROUP)
        s->group = (uint32_t)w[1] & 0xffff;
    else if (kind == PLUMB_WIDE_ADOPT)
        adopt(s, w, n);
    else if (kind == PLUMB_WIDE_MARK && small == PLUMB_FRAME_LEFT && w[1] <= s->depth)
        s->left[w[1]] = true;
    else if (kind == PLUMB_WIDE_SAMPLE && small >= PLUMB_SAMPLE_ASYNC && ticks >= s->from_ticks &&
             is_wanted(s, ticks))
        count_end(drops, plumb_key((uint32_t)(w[1] >> 32) & 0xffff,
                                   (uint32_t)w[1] & ((1u << PLUMB_NODE_BITS) - 1)));
    while (kind == PLUMB_WIDE_CLOSE && s->depth > w[1])
        pop(drops, s, ticks);
}

void plumb_trace_drops_count(struct plumb_trace_drops *drops, struct plumb_trace_stack *s,
                             const uint64_t *words, uint32_t n)
{
    const uint64_t *w = words + PLUMB_BLOCK_HEAD, *end = words + n;
    drops->count = 0;
    drops->spans = 0;
    while (w < end && *w) {
        uint32_t kind = *w & 3, length = 1;
        uint64_t ticks = words[0] + plumb_record_ticks(*w);
        if (kind == PLUMB_REC_END && s->depth) {
            pop(drops, s, ticks);
        } else if (kind == PLUMB_REC_BEGIN && s->depth < PLUMB_DEPTH_MAX) {
            plumb_trace_stack_push(s, plumb_key(s->group, plumb_record_node(*w)), ticks);
        } else if (kind == PLUMB_REC_WIDE) {
            length = (uint32_t)(*w >> 8) & 255;
            if (length < 2 || length > end - w)
                return;
            count_wide(drops, s, w, length, ticks);
        }
        w += length;
    }
}

static void gap_node(struct plumb_trace_gap *g, uint32_t node, uint32_t spans)
{
    for (uint64_t i = g->count; i-- > 0;)
        if (g->nodes[i].node == node) {
            g->nodes[i].spans += spans;
            return;
        }
    if (g->count == PLUMB_TRACE_GAP_NODES) {
        g->others += spans;
        return;
    }
    g->nodes[g->count].node = node;
    g->nodes[g->count++].spans = spans;
}

void plumb_trace_gap_add(struct plumb_trace_gap *g, const struct plumb_trace_drops *drops,
                         uint64_t block, uint64_t from_ticks, uint64_t through_ticks)
{
    if (!g->from_block) {
        g->from_block = block;
        g->from_ticks = from_ticks;
    }
    g->through_ticks = through_ticks;
    g->spans += drops->spans;
    for (uint32_t i = 0; i < drops->count; i++)
        gap_node(g, plumb_key_node(drops->key[i].key), drops->key[i].spans);
}

/* ---- What a queue holds ---------------------------------------------------------------------- */

const struct plumb_trace_state *plumb_trace_committed(const struct plumb_live_view *s,
                                                      const struct plumb_live_queue *q, bool *which)
{
    uint64_t batch = PLUMB_ACQUIRE(s->h->trace.batch);
    const struct plumb_trace_state *best = NULL;
    for (int i = 0; i < 2; i++)
        if (q->state[i].batch && q->state[i].batch <= batch &&
            (!best || q->state[i].batch > best->batch)) {
            best = &q->state[i];
            *which = i;
        }
    return best;
}

/* If the thread is running, the caller detects a change during the call by the thread's folds. */
PLUMB_RACY bool plumb_trace_unfolded(const struct plumb_live_view *s,
                                     const struct plumb_live_thread *live,
                                     const struct plumb_live_queue *q, uint64_t number,
                                     struct plumb_trace_slot *out)
{
    const uint64_t *words;
    uint32_t depth = live->context.depth <= PLUMB_DEPTH_MAX ? live->context.depth : 0;
    memset(out, 0, sizeof *out);
    out->kind = PLUMB_SLOT_BLOCK;
    out->block = number;
    out->tid = live->tid;
    out->generation = live->generation;
    out->group = live->context.group;
    out->depth = depth;
    out->step = live->context.step;
    out->flags = number > live->folded + 1 ? PLUMB_SLOT_GOES_ON : 0;
    for (size_t i = 0; i < sizeof out->name; i++)
        out->name[i] = PLUMB_LOAD(q->name[i]);
    for (uint32_t d = 1; d <= depth && d <= PLUMB_TRACE_FRAMES; d++)
        out->frames[d - 1] =
            (struct plumb_trace_open){live->frames[d].begin_ticks, live->frames[d].key};
    words = live->blocks
                ? plumb_live_at(s, live->ring_off + number % live->blocks * PLUMB_BLOCK_WORDS * 8,
                                PLUMB_BLOCK_WORDS * 8)
                : NULL;
    if (!words || PLUMB_ACQUIRE(words[1]) != number)
        return false;
    for (uint32_t i = 0; i < PLUMB_BLOCK_WORDS; i++)
        out->data[i] = PLUMB_LOAD(words[i]);
    out->words = PLUMB_BLOCK_WORDS; /* decoding stops at the first empty word */
    return out->data[PLUMB_BLOCK_HEAD] != 0;
}

bool plumb_trace_takes_part(const struct plumb_live_view *s, const struct plumb_live_queue *q)
{
    return PLUMB_ACQUIRE(q->window) == PLUMB_LOAD(s->h->trace.window);
}

/* Its thread may be writing the one that is not whole, whose `through_block` is 0 by then. */
PLUMB_RACY const struct plumb_trace_gap *plumb_trace_open_gap(const struct plumb_live_thread *live,
                                                              const struct plumb_live_queue *q)
{
    const struct plumb_trace_gap *best = NULL;
    uint32_t dropping = PLUMB_LOAD(q->dropping);
    if (dropping == SETTLED && q->gap[0].count <= PLUMB_TRACE_GAP_NODES)
        return &q->gap[0];
    for (int i = 0; i < 2 && dropping; i++) {
        const struct plumb_trace_gap *g = &q->gap[i];
        /* A block whose fold was not finished is not lost: it is in the ring. */
        if (g->through_block && g->through_block <= PLUMB_ACQUIRE(live->folded) &&
            g->count <= PLUMB_TRACE_GAP_NODES && (!best || g->through_block > best->through_block))
            best = g;
    }
    return best;
}

/* ---- Settling -------------------------------------------------------------------------------- */

typedef void each_fn(const struct plumb_live_view *, struct plumb_live_thread *,
                     struct plumb_live_queue *, void *);

static void each_queue(const struct plumb_live_view *s, each_fn *each, void *arg)
{
    uint64_t off = PLUMB_ACQUIRE(s->h->thread_off);
    size_t most = s->bytes / sizeof(struct plumb_live_thread) + 1;
    while (off && most--) {
        struct plumb_live_thread *live = plumb_live_at(s, off, sizeof *live);
        uint64_t queue = live ? PLUMB_ACQUIRE(live->queue_off) : 0;
        struct plumb_live_queue *q = queue ? plumb_live_at(s, queue, sizeof *q) : NULL;
        if (!live)
            return;
        if (q)
            each(s, live, q, arg);
        off = live->next_off;
    }
}

/* Counts the losses of a block that the process had logged and not yet counted. */
static void settle_log(const struct plumb_live_view *s, struct plumb_live_thread *live,
                       struct plumb_live_queue *q, void *arg)
{
    (void)arg;
    if (!q->log.block || q->log.block > live->folded || q->log.count > PLUMB_TRACE_LOG)
        return;
    for (uint64_t i = 0; i < q->log.count; i++) {
        struct plumb_live_state *st = plumb_live_at(s, q->log.state[i].state_off, sizeof *st);
        if (st)
            st->untraced = q->log.state[i].untraced;
    }
    q->dropped_spans = q->log.dropped_spans;
    q->dropped_blocks = q->log.dropped_blocks;
    q->log.block = 0;
}

static struct plumb_live_state *state_of(const struct plumb_live_view *s,
                                         const struct plumb_live_thread *live, uint64_t key)
{
    uint64_t off = live->state_off;
    for (uint32_t left = live->states; off && left; left--) {
        struct plumb_live_state *st = plumb_live_at(s, off, sizeof *st);
        const struct plumb_live_key *k = st ? plumb_live_key_at(s, st->key) : NULL;
        if (!st)
            return NULL;
        if (k && st->channel == PLUMB_CHANNEL_SPAN && plumb_key(k->group & 0xffff, k->node) == key)
            return st;
        off = st->next_off;
    }
    return NULL;
}

struct rest {
    const struct plumb_live_view *s;
    struct plumb_live_thread *live;
    struct plumb_live_queue *q;
    struct plumb_trace_stack stack;
    struct plumb_trace_gap gap;
};

/* Counts losses where the ends themselves are counted. */
static void rest_key(struct rest *r, uint64_t key, uint32_t spans)
{
    struct plumb_live_state *st = state_of(r->s, r->live, key);
    uint64_t i = 0, n = r->q->unmet.count;
    if (st) {
        st->untraced += spans;
        return;
    }
    while (i < n && r->q->unmet.of[i].key != key)
        i++;
    if (i >= PLUMB_TRACE_WORDS)
        return; /* impossible: only one block has keys without a state */
    if (i == n) {
        r->q->unmet.of[i].key = key;
        r->q->unmet.of[i].spans = 0;
        r->q->unmet.count++;
    }
    r->q->unmet.of[i].spans += spans;
}

/* The frames hold a stack of open spans: 5 KiB. A trace is settled once, when it ends, by its
 * writer or by a command. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
static void rest_slot(struct rest *r, const struct plumb_trace_slot *slot, bool resumes)
{
    struct plumb_trace_drops drops;
    if (slot->kind != PLUMB_SLOT_BLOCK || slot->words > PLUMB_BLOCK_WORDS ||
        slot->depth >= PLUMB_TRACE_DEPTH)
        return; /* the losses of a gap are counted already */
    if (resumes || slot->flags & PLUMB_SLOT_RESUMES ||
        (!(slot->flags & PLUMB_SLOT_GOES_ON) && slot->depth != r->stack.depth)) {
        plumb_trace_stack_open(&r->stack, r->s, slot->group, slot->path,
                               slot->path_depth <= PLUMB_TRACE_PATH ? slot->path_depth : 0);
        for (uint32_t d = 1; d <= slot->depth; d++) {
            static const struct plumb_trace_open unknown;
            const struct plumb_trace_open *f =
                d <= PLUMB_TRACE_FRAMES ? &slot->frames[d - 1] : &unknown;
            plumb_trace_stack_push(&r->stack, f->key, f->begin_ticks);
        }
        r->stack.from_ticks = r->q->from_ticks;
    }
    plumb_trace_drops_count(&drops, &r->stack, slot->data, slot->words);
    plumb_trace_gap_add(&r->gap, &drops, slot->block, slot->data[0], slot->data[0]);
    for (uint32_t i = 0; i < drops.count; i++)
        rest_key(r, drops.key[i].key, drops.key[i].spans);
    r->q->dropped_spans += drops.spans;
    r->q->dropped_blocks++;
}

/* Continues with the open gap, which comes after the slots in the queue. */
static void rest_gap(struct rest *r)
{
    const struct plumb_trace_gap *open = plumb_trace_open_gap(r->live, r->q);
    struct plumb_trace_gap *to = &r->q->gap[0];
    if (open) {
        if (!r->gap.from_block) {
            r->gap.from_block = open->from_block;
            r->gap.from_ticks = open->from_ticks;
        }
        r->gap.spans += open->spans;
        r->gap.others += open->others;
        for (uint64_t i = 0; i < open->count; i++)
            gap_node(&r->gap, open->nodes[i].node, open->nodes[i].spans);
    }
    r->q->gap[1].through_block = 0;
    *to = r->gap;
    to->through_block = r->live->folded + 1;
    r->q->dropping = to->spans || open ? SETTLED : 0;
}

/* `stays`: the slots are the writer's, which may have some of them in hand. */
static void settle_queue(const struct plumb_live_view *s, struct plumb_live_thread *live,
                         struct plumb_live_queue *q, bool stays)
{
    struct rest r = {.s = s, .live = live, .q = q};
    struct plumb_trace_slot *slots = q->slots && !stays ? plumb_live_slots_of(s, q) : NULL, last;
    const struct plumb_trace_state *state;
    bool which = false;
    uint64_t at, newest, number;
    state = plumb_trace_committed(s, q, &which);
    at = state ? state->taken : 0;
    newest = state ? state->block : 0;
    if (!q->window)
        q->unmet.count = 0;
    plumb_trace_stack_open(&r.stack, s, 0, NULL, 0);
    if (state && state->depth < PLUMB_TRACE_DEPTH) {
        plumb_trace_stack_open(&r.stack, s, state->group, state->path,
                               state->path_depth <= PLUMB_TRACE_PATH ? state->path_depth : 0);
        for (uint32_t d = 1; d <= state->depth; d++) {
            const struct plumb_trace_frame *f = &state->frames[d];
            plumb_trace_stack_push(&r.stack, f->key, f->begin_ticks);
            r.stack.wanted[d] = f->flags & PLUMB_TRACE_SHOWN;
            r.stack.left[d] = f->flags & PLUMB_TRACE_LEFT;
        }
    }
    r.stack.from_ticks = q->from_ticks;
    while (slots && at < q->put && q->put - at <= q->slots) {
        const struct plumb_trace_slot *slot = &slots[at++ & (q->slots - 1)];
        newest = slot->block > newest ? slot->block : newest;
        rest_slot(&r, slot, false);
    }
    /* An interrupted fold may already have copied its block, and the writer may have taken it. */
    number = live->folded + 1;
    while (q->on && plumb_trace_unfolded(s, live, q, number, &last)) {
        if (number > newest)
            rest_slot(&r, &last, number == live->folded + 1);
        number++;
    }
    rest_gap(&r);
    /* Empty: the recovery of the file finds only the gap. The writer may be looking at it. */
    if (!stays)
        PLUMB_STORE(q->put, 0);
}
#pragma GCC diagnostic pop

static void settle_rest(const struct plumb_live_view *s, struct plumb_live_thread *live,
                        struct plumb_live_queue *q, void *arg)
{
    (void)arg;
    if (plumb_trace_takes_part(s, q))
        settle_queue(s, live, q, false);
}

void plumb_trace_settle_queue(const struct plumb_live_view *s, struct plumb_live_thread *live,
                              struct plumb_live_queue *q)
{
    settle_log(s, live, q, NULL);
    settle_rest(s, live, q, NULL);
}

void plumb_trace_settle_unfolded(const struct plumb_live_view *s, struct plumb_live_thread *live,
                                 struct plumb_live_queue *q)
{
    settle_log(s, live, q, NULL);
    settle_queue(s, live, q, true);
}

void plumb_trace_settle(const struct plumb_live_view *s)
{
    if (s->h->trace.settled)
        return;
    s->h->trace.settled = 1;
    each_queue(s, settle_log, NULL);
    if (s->h->trace.ended && s->h->trace.mode == PLUMB_LIVE_TRACE_STOP)
        each_queue(s, settle_rest, NULL);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

struct losses {
    uint64_t spans;
    uint32_t threads;
};

static void add_losses(const struct plumb_live_view *s, struct plumb_live_thread *live,
                       struct plumb_live_queue *q, void *arg)
{
    struct losses *l = arg;
    (void)s;
    (void)live;
    l->spans += PLUMB_LOAD(q->dropped_spans);
    l->threads += PLUMB_LOAD(q->dropped_spans) != 0;
}

uint64_t plumb_trace_lost(const struct plumb_live_view *s, uint32_t *threads)
{
    struct losses l = {0, 0};
    each_queue(s, add_losses, &l);
    *threads = l.threads;
    return l.spans;
}

static void add_losses_here(const struct plumb_live_view *s, struct plumb_live_thread *live,
                            struct plumb_live_queue *q, void *arg)
{
    struct losses *l = arg;
    (void)live;
    if (plumb_trace_takes_part(s, q))
        l->spans += PLUMB_LOAD(q->dropped_spans) - q->dropped_before;
}

uint64_t plumb_trace_lost_here(const struct plumb_live_view *s)
{
    struct losses l = {0, 0};
    each_queue(s, add_losses_here, &l);
    return l.spans;
}

struct losers {
    uint32_t *out, count, most;
    uint64_t all;
};

static void add_loser(struct losers *l, uint32_t sequence)
{
    l->all++;
    if (sequence && l->count < l->most)
        l->out[l->count++] = sequence;
}

static void look_at_queue(const struct plumb_live_view *s, struct plumb_live_thread *live,
                          struct plumb_live_queue *q, void *arg)
{
    (void)live;
    if (plumb_trace_takes_part(s, q) && PLUMB_LOAD(q->dropped_spans) != q->dropped_before)
        add_loser(arg, q->sequence);
}

uint64_t plumb_trace_losers(const struct plumb_live_view *s, uint32_t *out, uint32_t most,
                            uint32_t *count)
{
    const struct plumb_live_table *t = &s->h->lanes;
    uint32_t lanes = PLUMB_ACQUIRE(t->count);
    struct losers l = {out, 0, most, 0};
    each_queue(s, look_at_queue, &l);
    for (uint32_t i = 0; i < lanes && i < PLUMB_LIVE_LANES; i++) {
        const struct plumb_live_lane *lane = plumb_live_element(s, t, i, sizeof *lane);
        if (lane && PLUMB_LOAD(lane->dropped) != lane->dropped_before)
            add_loser(&l, lane->sequence);
    }
    *count = l.count;
    return l.all;
}

const char *plumb_trace_end_text(const struct plumb_live_header *h)
{
    return plumb_trace_end_name(h->trace.ended);
}

const char *plumb_trace_end_name(uint32_t end)
{
    switch (end) {
    case PLUMB_TRACE_GOES_ON:
        return "complete";
    case PLUMB_TRACE_AT_BOUND:
        return "at its bound, PLUMB_TRACE_MAX";
    default:
        return "early, it could not be written";
    }
}
