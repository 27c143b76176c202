/* trace.c: the recording threads' part of the trace: copying a block before it is folded, or
 * counting its losses. The holder of the thread does it: the thread itself, unless blocks waited
 * for a fold when a window was switched on.
 *
 * Invariants
 *   - A slot is complete before its number is released; `put` is advanced after that.
 *   - The spans of a lost block are counted exactly once, whatever instruction the process is
 *     killed at. Before `folded` advances, the block is in the ring, where the recovery of the
 *     trace finds it. After that, the log has the final counts (plumb_trace_settle()).
 *   - Dropping ends only with a quarter of the queue free, so that gaps are few. */
#include "record/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/first_use.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include "record/trace/active_steps.h"

/* One part in so many of the trace's remaining share, for one thread: with the default share some
 * 280 threads get slots, the first fifty as many as they ask for. */
enum { QUEUE_PART = 32 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- Slots ----------------------------------------------------------------------------------- */

/* Copies words that a reader may be reading: it detects that by the slot's number. */
static void copy_words(uint64_t *to, const uint64_t *from, uint32_t n)
{
#if defined(__SANITIZE_THREAD__)
    for (uint32_t i = 0; i < n; i++)
        PLUMB_STORE(to[i], PLUMB_LOAD(from[i]));
#else
    memcpy(to, from, n * sizeof *to);
#endif
}

static struct plumb_trace_slot *next_slot(struct plumb_in in)
{
    struct plumb_live_queue *q = in.th->queue;
    struct plumb_trace_slot *slot =
        PLUMB_AT(in.run, struct plumb_trace_slot, q->slots_off) + (q->put & (q->slots - 1));
    PLUMB_STORE(slot->number, 0);
    plumb_order();
    return slot;
}

/* Writes the fields that all slots have, which completes the slot. */
static void put_slot(struct plumb_thread *th, struct plumb_trace_slot *slot,
                     struct plumb_trace_slot *head)
{
    struct plumb_live_queue *q = th->queue;
    head->tid = th->live->tid;
    head->generation = th->live->generation;
    memcpy(head->name, q->name, sizeof head->name);
    copy_words(
        &slot->block, &head->block,
        (offsetof(struct plumb_trace_slot, frames) - offsetof(struct plumb_trace_slot, block)) / 8);
    PLUMB_RELEASE(slot->number, q->put + 1);
    PLUMB_RELEASE(q->put, q->put + 1);
}

/* A block that is being folded. */
struct block {
    const uint64_t *words;
    uint32_t n;
};

static struct block block_of(struct plumb_in in, uint64_t number)
{
    const struct plumb_thread *th = in.th;
    /* A block before the newest ends with its first empty word, as every reader takes it. */
    if (number != PLUMB_ACQUIRE(th->number))
        return (struct block){plumb_ring_block(in, number), PLUMB_BLOCK_WORDS};
    return (struct block){th->block, (uint32_t)(th->head - th->block)};
}

/* The adopted path when a block of a window began: that of the last fold, from the call tree. The
 * thread, which may not be the caller, has gone on since. */
static void path_of_tree(struct plumb_thread *th)
{
    uint32_t path[PLUMB_TRACE_PATH], n = 0, at = th->live->context.base_tree;
    for (; at && at < th->tree_count && n < PLUMB_TRACE_PATH; at = th->tree[at].parent)
        path[n++] = plumb_key_node(th->tree[at].key);
    th->queue_path = n;
    for (uint32_t i = 0; i < n; i++)
        th->queue_paths[i] = path[n - 1 - i];
}

static void put_block(struct plumb_in in, uint64_t number, struct block block, uint16_t flags)
{
    struct plumb_thread *th = in.th;
    const struct plumb_live_thread *live = th->live;
    struct plumb_trace_slot *slot = next_slot(in), head = {.flags = flags};
    uint32_t frames = live->context.depth;
    head.kind = PLUMB_SLOT_BLOCK;
    head.block = number;
    head.words = (uint16_t)block.n;
    head.group = live->context.group;
    head.depth = frames;
    head.step = live->context.step;
    head.path_depth = (uint16_t)th->queue_path;
    frames = frames < PLUMB_TRACE_FRAMES ? frames : PLUMB_TRACE_FRAMES;
    for (uint32_t d = 1; d <= frames; d++) {
        struct plumb_trace_open open = {live->frames[d].begin_ticks, live->frames[d].key};
        copy_words((uint64_t *)(void *)&slot->frames[d - 1], (const uint64_t *)(void *)&open, 2);
    }
    copy_words((uint64_t *)(void *)slot->path, (const uint64_t *)(void *)th->queue_paths,
               (head.path_depth + 1u) / 2);
    copy_words(slot->data, block.words, block.n);
    put_slot(th, slot, &head);
}

/* Returns the newer of the two gaps. */
static const struct plumb_trace_gap *gap_now(const struct plumb_live_queue *q)
{
    return &q->gap[q->gap[1].through_block > q->gap[0].through_block];
}

static void put_gap(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_queue *q = th->queue;
    const struct plumb_trace_gap *gap = gap_now(q);
    struct plumb_trace_slot *slot = next_slot(in), head = {.flags = 0};
    head.kind = PLUMB_SLOT_GAP;
    head.block = gap->through_block;
    head.step = -1;
    copy_words(slot->data, (const uint64_t *)(const void *)gap, sizeof *gap / 8);
    put_slot(th, slot, &head);
}

static bool copy_block(struct plumb_in in, uint64_t number)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_queue *q = th->queue;
    const struct plumb_live_trace *h = &in.run->h->trace;
    uint64_t used = q->put - PLUMB_ACQUIRE(q->taken), most = q->slots;
    uint16_t flags = q->left_out ? PLUMB_SLOT_RESUMES : 0;
    if (block_of(in, number).n == PLUMB_BLOCK_HEAD || !PLUMB_LOAD(q->on))
        return true;
    if (!plumb_regions_want_block(in)) {
        q->left_out = 1;
        return true;
    }
    if (!q->slots)
        return false;
    if (h->mode == PLUMB_LIVE_TRACE_RING) {
        put_block(in, number, block_of(in, number), flags);
        q->left_out = 0;
        return true;
    }
    most -= q->dropping ? q->slots / 4 + 1 : 0; /* slots is at least PLUMB_TRACE_SLOTS_MIN */
    if (used >= most || PLUMB_ACQUIRE(h->ended))
        return false;
    if (q->dropping) {
        put_gap(in);
        flags |= PLUMB_SLOT_RESUMES;
    }
    put_block(in, number, block_of(in, number), flags);
    q->dropping = q->left_out = 0;
    return true;
}

/* Stores the thread's adopted path at the begin of the next block. */
static void keep_path(struct plumb_thread *th)
{
    th->queue_path = th->path_depth;
    memcpy(th->queue_paths, th->path, th->path_depth * sizeof th->path[0]);
}

bool plumb_trace_copy(struct plumb_in in, uint64_t number)
{
    bool copied;
    if (in.th->queue->window)
        path_of_tree(in.th);
    copied = copy_block(in, number);
    if (copied && !in.th->queue->window)
        keep_path(in.th);
    return copied;
}

/* ---- The end of a window --------------------------------------------------------------------- */

/* Copies the newest block up to its first empty word. Its thread may be appending to it. */
static uint32_t copy_growing(uint64_t *to, const uint64_t *from)
{
    uint32_t n = PLUMB_BLOCK_HEAD;
    to[0] = PLUMB_LOAD(from[0]);
    to[1] = PLUMB_LOAD(from[1]);
    while (n < PLUMB_BLOCK_WORDS) {
        uint64_t word = PLUMB_ACQUIRE(from[n]);
        uint32_t length = (word & 3) == PLUMB_REC_WIDE ? (uint32_t)(word >> 8) & 255 : 1;
        if (!word || length < 1 || length > PLUMB_BLOCK_WORDS - n)
            break;
        to[n] = word;
        for (uint32_t i = 1; i < length; i++)
            to[n + i] = PLUMB_LOAD(from[n + i]);
        n += length;
    }
    return n;
}

bool plumb_trace_queue_end(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_queue *q = th->queue;
    uint64_t newest = PLUMB_ACQUIRE(th->number), first = th->live->folded + 1;
    uint64_t need = newest - th->live->folded + (q->dropping != 0);
    uint16_t flags = q->dropping || q->left_out ? PLUMB_SLOT_RESUMES : 0;
    if (q->put - PLUMB_ACQUIRE(q->taken) + need > q->slots)
        return false;
    path_of_tree(th);
    if (q->dropping)
        put_gap(in);
    for (uint64_t number = first; number <= newest; number++) {
        uint64_t words[PLUMB_BLOCK_WORDS];
        struct block block = {words, copy_growing(words, plumb_ring_block(in, number))};
        put_block(in, number, block, number == first ? flags : PLUMB_SLOT_GOES_ON);
    }
    q->dropping = q->left_out = 0;
    return true;
}

/* ---- Losses ---------------------------------------------------------------------------------- */

void plumb_trace_count(struct plumb_in in, uint64_t number)
{
    struct plumb_thread *th = in.th;
    struct block block = block_of(in, number);
    const struct plumb_live_thread *live = th->live;
    struct plumb_live_view source = plumb_live_view_of(in.run->base, in.run->mapped);
    struct plumb_trace_stack *stack = &th->losing.stack;
    plumb_trace_stack_open(stack, &source, live->context.group, th->queue_paths, th->queue_path);
    for (uint32_t d = 1; d <= live->context.depth; d++)
        plumb_trace_stack_push(stack, live->frames[d].key, live->frames[d].begin_ticks);
    stack->from_ticks = th->queue->from_ticks;
    plumb_trace_drops_count(&th->losing.drops, stack, block.words, block.n);
    if (!th->queue->window)
        keep_path(th);
}

/* Adds this block to the gap, in the copy that is not in use. */
static void gap_grow(struct plumb_in in, uint64_t number, const struct plumb_trace_drops *drops)
{
    const uint64_t *words = block_of(in, number).words;
    struct plumb_live_queue *q = in.th->queue;
    const struct plumb_trace_gap *old = gap_now(q);
    struct plumb_trace_gap *g = &q->gap[old == &q->gap[0]];
    g->through_block = 0;
    plumb_order();
    g->from_block = 0;
    g->spans = g->others = g->count = 0;
    if (q->dropping) {
        g->from_block = old->from_block;
        g->from_ticks = old->from_ticks;
        g->spans = old->spans;
        g->others = old->others;
        g->count = old->count;
        memcpy(g->nodes, old->nodes, old->count * sizeof g->nodes[0]);
    }
    plumb_trace_gap_add(g, drops, number, words[0],
                        words[0] + plumb_record_ticks(words[PLUMB_BLOCK_HEAD]));
    plumb_order();
    PLUMB_STORE(g->through_block, number);
    plumb_order();
    q->dropping = 1;
}

_Static_assert((int)PLUMB_TRACE_LOG >= (int)PLUMB_BLOCK_WORDS,
               "a block may end runs of as many keys");

void plumb_trace_log(struct plumb_in in, uint64_t number)
{
    struct plumb_thread *th = in.th;
    const struct plumb_trace_drops *drops = &th->losing.drops;
    struct plumb_live_queue *q = th->queue;
    uint32_t n = 0;
    gap_grow(in, number, drops);
    for (uint32_t i = 0; i < drops->count && n < PLUMB_TRACE_LOG; i++) {
        struct plumb_live_state *st =
            plumb_state_first_use(in, drops->key[i].key, PLUMB_CHANNEL_SPAN);
        if (!st)
            continue;
        q->log.state[n].state_off = plumb_off_of(in.run, st);
        q->log.state[n++].untraced = st->untraced + drops->key[i].spans;
    }
    q->log.count = n;
    q->log.dropped_spans = q->dropped_spans + drops->spans;
    q->log.dropped_blocks = q->dropped_blocks + 1;
    plumb_order();
    PLUMB_STORE(q->log.block, number);
    plumb_order();
}

void plumb_trace_apply(struct plumb_in in)
{
    struct plumb_live_queue *q = in.th->queue;
    for (uint64_t i = 0; i < q->log.count; i++)
        PLUMB_STORE(PLUMB_AT(in.run, struct plumb_live_state, q->log.state[i].state_off)->untraced,
                    q->log.state[i].untraced);
    PLUMB_STORE(q->dropped_spans, q->log.dropped_spans);
    PLUMB_STORE(q->dropped_blocks, q->log.dropped_blocks);
    plumb_order();
    PLUMB_STORE(q->log.block, 0);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* Carves as many slots as were asked for, or fewer, down to none, if many threads have taken
 * theirs. */
static void carve_slots(struct plumb_run *run, struct plumb_live_queue *q)
{
    struct plumb_queue_want want = {sizeof(struct plumb_trace_slot), PLUMB_TRACE_SLOTS_MIN,
                                    PLUMB_TRACE_SLOTS_MIN, QUEUE_PART};
    uint64_t slots, most = plumb_rt.settings.trace_ring_bytes / want.slot_bytes;
    while (2 * want.most <= most)
        want.most *= 2;
    q->slots_off = plumb_carve_queue(run, &want, &slots);
    q->slots = q->slots_off ? (uint32_t)slots : 0;
    /* Otherwise the first round through the slots takes a page fault every few folds. */
    if (q->slots) {
        uint64_t page = 4096, from = (q->slots_off + page - 1) & ~(page - 1);
        uint64_t upto = (q->slots_off + slots * sizeof(struct plumb_trace_slot)) & ~(page - 1);
        int saved = errno;
        if (upto > from)
            madvise(run->base + from, upto - from, MADV_POPULATE_WRITE);
        errno = saved;
    }
}

void plumb_trace_name(struct plumb_thread *th)
{
    struct plumb_live_queue *q = PLUMB_LOAD(th->queue);
    if (q)
        prctl(PR_GET_NAME, q->name);
}

/* Under the lock. */
static struct plumb_live_queue *queue_of(struct plumb_in in)
{
    struct plumb_live_thread *live = in.th->live;
    if (!live->queue_off) {
        uint64_t off = plumb_carve(in.run, sizeof(struct plumb_live_queue));
        if (!off)
            return NULL;
        carve_slots(in.run, PLUMB_AT(in.run, struct plumb_live_queue, off));
        PLUMB_RELEASE(live->queue_off, off);
    }
    return PLUMB_AT(in.run, struct plumb_live_queue, live->queue_off);
}

void plumb_trace_attach(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    const struct plumb_live_trace *t = &in.run->h->trace;
    struct plumb_live_queue *q;
    PLUMB_STORE(th->queue, NULL);
    if (!PLUMB_ACQUIRE(t->on) || !(q = queue_of(in)))
        return;
    if (t->window && q->window != t->window)
        plumb_trace_queue_begin(q, t->window, 0);
    PLUMB_STORE(q->on, 1);
    PLUMB_STORE(th->queue, q);
    th->queue_path = 0;
    plumb_trace_name(th);
}

bool plumb_trace_prepare(struct plumb_in in)
{
    return queue_of(in) != NULL;
}

void plumb_trace_queue_begin(struct plumb_live_queue *q, uint32_t window, uint64_t from_ticks)
{
    PLUMB_STORE(q->on, 0);
    q->dropped_before = q->dropped_spans;
    q->put = q->taken = 0;
    q->dropping = q->left_out = 0;
    q->sequence = 0;
    q->gap[0].through_block = q->gap[1].through_block = 0;
    q->state[0].batch = q->state[1].batch = 0;
    q->from_ticks = from_ticks;
    PLUMB_RELEASE(q->window, window);
}

/* ---- What only a trace shows ----------------------------------------------------------------- */

void plumb_instant_impl(const char *name)
{
    struct plumb_in in;
    uint64_t off;
    if (!name || !plumb_enter(&in, false))
        return;
    if (plumb_traced(in.th) && (off = plumb_thread_name(in, name)) != 0)
        plumb_wide(in, PLUMB_WIDE_INSTANT, 0, &off, 2);
    plumb_leave(in);
}

void plumb_trace_counter(struct plumb_in in, enum plumb_counter kind, uint64_t name_off,
                         uint64_t value)
{
    uint64_t payload[2] = {name_off, value};
    if (plumb_traced(in.th) && name_off)
        plumb_wide(in, PLUMB_WIDE_COUNTER, kind, payload, 3);
}

void plumb_gauge_set_impl(const char *name, double value)
{
    struct plumb_in in;
    uint64_t bits;
    if (!name || !plumb_enter(&in, false))
        return;
    memcpy(&bits, &value, sizeof bits);
    if (plumb_traced(in.th))
        plumb_trace_counter(in, PLUMB_COUNTER_F64, plumb_thread_name(in, name), bits);
    plumb_leave(in);
}

static void pool_counter(struct plumb_in in, const char *device, const char *pool, const char *what,
                         int64_t bytes)
{
    char name[256];
    snprintf(name, sizeof name, "memory %.60s%s%.100s %s", device, pool[0] ? " " : "", pool, what);
    plumb_trace_counter(in, PLUMB_COUNTER_BYTES, plumb_thread_name(in, name), (uint64_t)bytes);
}

void plumb_trace_pool(struct plumb_in in, const char *device, const char *pool, int64_t allocated,
                      int64_t reserved)
{
    pool_counter(in, device, pool, "allocated", allocated);
    if (reserved)
        pool_counter(in, device, pool, "reserved", reserved);
}

/* ---- The run --------------------------------------------------------------------------------- */

static uint64_t text_or_none(struct plumb_run *run, const char *text)
{
    return text[0] ? plumb_carve_text(run, text) : 0;
}

void plumb_trace_zero(struct plumb_run *run)
{
    struct plumb_live_trace *t = &run->h->trace;
    uint64_t raw = plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW) - run->h->start.raw_ns;
    t->zero_boottime_ns = plumb_clock_gettime_ns(CLOCK_BOOTTIME) - raw;
    t->zero_monotonic_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) - raw;
    t->zero_realtime_ns = run->h->start.unix_ns;
}

uint32_t plumb_trace_contents(void)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    return (s->trace_shapes ? PLUMB_TRACE_HAS_SHAPES : 0) |
           (s->trace_memory ? PLUMB_TRACE_HAS_MEMORY : 0) |
           (s->trace_flops ? PLUMB_TRACE_HAS_FLOPS : 0) |
           (s->trace_stack ? PLUMB_TRACE_HAS_STACK : 0);
}

void plumb_trace_begin(struct plumb_run *run)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    struct plumb_live_trace *t = &run->h->trace;
    if ((!s->trace && !s->regions[0] && !s->trace_nodes[0]) ||
        run->h->regions.selection == PLUMB_SELECT_NOTHING)
        return;
    t->max_bytes = s->trace_max_bytes;
    t->what = plumb_trace_contents() | (s->trace || s->regions[0] ? 0 : PLUMB_TRACE_ONLY_NODES);
    plumb_trace_zero(run);
    t->steps_off = text_or_none(run, s->trace_steps);
    t->regions_off = text_or_none(run, s->regions);
    t->nodes_off = text_or_none(run, s->trace_nodes);
    if (!run->in_file)
        return; /* no directory: no file */
    plumb_active_open(run, s->trace_steps);
    t->on = 1;
    t->mode = s->trace_mode == PLUMB_TRACE_RING ? PLUMB_LIVE_TRACE_RING : PLUMB_LIVE_TRACE_STOP;
}
