/* end.c: the last moment at which a killed process was known to be alive. Its anchors are a second
 * apart, so the newest reading of the counter is searched for in every place that keeps one. The
 * mapping may be damaged: every offset goes through plumb_live_at(), and invalid readings are left
 * out. */
#include "base/atomic.h"
#include "live/read.h"

/* Eight days of the fastest counters: no process lives that long without an anchor, and a damaged
 * file may hold anything. */
#define PLUMB_TICKS_BEYOND (UINT64_C(8) * 86400 * 1000000000)

struct newest {
    const struct plumb_merge *m;
    uint64_t from, ticks;
};

static void see(struct newest *n, uint64_t ticks)
{
    if (ticks > n->ticks && ticks - n->from < PLUMB_TICKS_BEYOND &&
        plumb_live_is_newest(n->m->view.h, ticks))
        n->ticks = ticks;
}

static void see_block(struct newest *n, const uint64_t *words)
{
    const uint64_t *w = words + PLUMB_BLOCK_HEAD, *end = words + PLUMB_BLOCK_WORDS;
    uint64_t base = PLUMB_LOAD(words[0]);
    while (w < end) {
        uint64_t word = PLUMB_LOAD(*w);
        uint32_t words_of = (word & 3) == PLUMB_REC_WIDE ? (uint32_t)(word >> 8) & 255 : 1;
        if ((word & 3) == PLUMB_REC_NONE || words_of == 0 || words_of > end - w)
            return;
        see(n, base + plumb_record_ticks(word));
        w += words_of;
    }
}

/* The blocks that are not folded yet, or whose fold was not finished. */
static void see_ring(struct newest *n, const struct plumb_live_thread *th)
{
    for (uint32_t i = 1; i <= th->blocks; i++) {
        uint64_t number = th->folded + i;
        const uint64_t *words =
            plumb_live_at(&n->m->view, th->ring_off + number % th->blocks * PLUMB_BLOCK_WORDS * 8,
                          PLUMB_BLOCK_WORDS * 8);
        if (!words || PLUMB_ACQUIRE(words[1]) != number)
            return;
        see_block(n, words);
    }
}

static void see_thread(struct newest *n, const struct plumb_live_thread *th)
{
    uint64_t off = th->state_off;
    for (uint32_t d = 1; d <= th->context.depth && d <= PLUMB_DEPTH_MAX; d++)
        see(n, th->frames[d].begin_ticks);
    for (uint32_t left = th->states; off && left; left--) {
        const struct plumb_live_state *st = plumb_live_at(&n->m->view, off, sizeof *st);
        if (!st)
            break;
        see(n, st->last_at);
        off = st->next_off;
    }
    see_ring(n, th);
}

static void see_async(struct newest *n)
{
    for (uint32_t c = 0; c < PLUMB_ASYNC_CHUNKS && n->m->view.h->async_off[c]; c++) {
        const struct plumb_live_async *a =
            plumb_live_at(&n->m->view, n->m->view.h->async_off[c], PLUMB_ASYNC_CHUNK * sizeof *a);
        for (uint32_t i = 0; a && i < PLUMB_ASYNC_CHUNK; i++)
            if (a[i].state & PLUMB_ASYNC_OPEN)
                see(n, a[i].begin_ticks);
    }
}

/* Looks at two readings in each element of a table, at these offsets. */
static void see_table(struct newest *n, const struct plumb_live_table *t, size_t bytes, size_t one,
                      size_t other)
{
    for (uint32_t i = 0; i < t->count && i < n->m->view.bytes / bytes; i++) {
        const unsigned char *e = plumb_live_element(&n->m->view, t, i, (uint32_t)bytes);
        if (!e)
            return;
        see(n, *(const uint64_t *)(const void *)(e + one));
        see(n, *(const uint64_t *)(const void *)(e + other));
    }
}

uint64_t plumb_live_newest_ticks(const struct plumb_merge *m, const struct plumb_anchor *last)
{
    const struct plumb_live_header *h = m->view.h;
    struct newest n = {m, last->ticks, last->ticks};
    uint64_t off = h->thread_off;
    size_t most = m->view.bytes / sizeof(struct plumb_live_thread) + 1;
    see(&n, PLUMB_LOAD(h->seen_ticks));
    see(&n, h->frozen_ticks);
    while (off && most--) {
        const struct plumb_live_thread *th = plumb_live_at(&m->view, off, sizeof *th);
        if (!th)
            break;
        see_thread(&n, th);
        off = th->next_off;
    }
    see_async(&n);
    see_table(&n, &h->requests, sizeof(struct plumb_live_request),
              offsetof(struct plumb_live_request, begin_ticks),
              offsetof(struct plumb_live_request, end_ticks));
    see_table(&n, &h->checkpoints, sizeof(struct plumb_live_checkpoint),
              offsetof(struct plumb_live_checkpoint, at_ticks),
              offsetof(struct plumb_live_checkpoint, at_ticks));
    see_table(&n, &h->intervals, sizeof(struct plumb_live_interval),
              offsetof(struct plumb_live_interval, on_ticks),
              offsetof(struct plumb_live_interval, off_ticks));
    return n.ticks;
}
