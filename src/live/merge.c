/* merge.c: see merge.h. */
#include "live/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/u128.h"
#include "live/merge_parts.h"
#include "live/replay.h"
#include "model/timing.h"

enum { PIPELINES = 256 }; /* a group has 8 bits for them */

static const struct plumb_live_pipeline *pipeline_of(const struct plumb_merge *m, uint32_t group)
{
    return plumb_live_element(&m->view, &m->view.h->pipelines, group >> 8,
                              sizeof(struct plumb_live_pipeline));
}

/* ---- Resets ---------------------------------------------------------------------------------- */

static bool take_resets(struct plumb_merge *m)
{
    uint32_t n = PLUMB_ACQUIRE(m->view.h->pipelines.count);
    n = n > PIPELINES ? PIPELINES : n; /* more is a damaged count */
    m->resets = plumb_arena_alloc(m->arena, (n + 1) * sizeof *m->resets);
    if (!m->resets)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_pipeline *p = pipeline_of(m, i << 8);
        if (p)
            m->resets[i] = plumb_live_reset_of(p);
    }
    m->reset_count = n;
    return true;
}

static struct plumb_live_reset reset_of(const struct plumb_merge *m, uint32_t group)
{
    const struct plumb_live_reset none = {0, 0};
    return group >> 8 < m->reset_count ? m->resets[group >> 8] : none;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct plumb_merge_row *row_make(struct plumb_merge *m, uint32_t group, uint32_t node)
{
    struct plumb_merge_row *row = plumb_arena_alloc(m->arena, sizeof *row);
    struct plumb_merge_row **rows =
        plumb_arena_grow(m->arena, m->rows, &m->row_cap, m->row_count + 1, sizeof *rows);
    uint64_t key = plumb_key(group, node) + 1;
    if (rows)
        m->rows = rows;
    if (!row || !rows || plumb_map_put(&m->row_of, key, m->row_count + 1) < 0) {
        m->arena->failed = true;
        return NULL;
    }
    row->group = group;
    row->node = node;
    row->first_ticks = UINT64_MAX;
    row->order = (uint32_t)m->row_count;
    m->rows[m->row_count++] = row;
    return row;
}

static struct plumb_merge_row *row_of(struct plumb_merge *m, uint32_t group, uint32_t node)
{
    uint64_t i = plumb_map_get(&m->row_of, plumb_key(group, node) + 1);
    return i ? m->rows[i - 1] : row_make(m, group, node);
}

/* Returns key number `i`, or NULL, with `out` untouched, if it is not valid. */
static const struct plumb_live_key *key_of(struct plumb_merge *m, uint32_t i,
                                           struct plumb_merge_key *out)
{
    const struct plumb_live_key *k =
        plumb_live_element(&m->view, &m->view.h->keys, i, sizeof(struct plumb_live_key));
    const struct plumb_live_pipeline *p = k ? pipeline_of(m, k->group) : NULL;
    struct plumb_merge_row *row = p ? row_of(m, k->group & 0xffff, k->node) : NULL;
    if (!row)
        return NULL;
    *out = (struct plumb_merge_key){row, k->group};
    return k;
}

int plumb_merge_open(struct plumb_merge *m, struct plumb_arena *arena,
                     const struct plumb_live_view *view, bool want_tree)
{
    uint32_t keys;
    size_t most = view->bytes / sizeof(struct plumb_live_key);
    struct plumb_map rows = m->row_of, places = m->tree_node_of;
    memset(m, 0, sizeof *m);
    plumb_map_clear(&rows);
    plumb_map_clear(&places);
    m->row_of = rows;
    m->tree_node_of = places;
    m->arena = arena;
    m->view = *view;
    m->want_tree = want_tree;
    keys = PLUMB_ACQUIRE(m->view.h->keys.count);
    /* A damaged count: looking up each key would take minutes. */
    if (keys > most) {
        m->missing += keys - most;
        keys = (uint32_t)most;
    }
    m->keys = plumb_arena_alloc(m->arena, keys * sizeof *m->keys);
    if (!m->keys || !take_resets(m))
        return PLUMB_ERR_MEMORY;
    m->key_count = keys;
    for (uint32_t i = 0; i < keys; i++) {
        const struct plumb_live_key *k = key_of(m, i, &m->keys[i]);
        struct plumb_live_reset reset = reset_of(m, m->keys[i].group);
        const struct plumb_live_pipeline *p = k ? pipeline_of(m, m->keys[i].group) : NULL;
        struct plumb_merge_row *row = m->keys[i].row;
        if (m->arena->failed)
            return PLUMB_ERR_MEMORY;
        if (!row) {
            m->missing++;
            continue;
        }
        for (int d = 0; d < 2; d++) {
            uint64_t taken = PLUMB_LOAD(k->skipped[d]);
            if (PLUMB_LOAD(k->reset_generation) != reset.generation)
                taken = 0;
            /* Once a sample has counted, no further ones are skipped. */
            row->skip[d].settled = (taken & PLUMB_KEY_SETTLED) != 0;
            row->skip[d].most = taken & ~PLUMB_KEY_SETTLED;
            row->listed |= taken != 0;
            m->skips |= row->skip[d].most != 0;
        }
        row->first_ticks = PLUMB_LOAD(k->first_ticks);
        if (row->first_ticks < reset.ticks)
            row->first_ticks = UINT64_MAX; /* the earliest run belongs to the time before the
                                            * reset */
        m->skips |= plumb_live_skip_at(p, 0) || plumb_live_skip_at(p, UINT64_MAX);
    }
    return plumb_merge_place_of(m, UINT32_MAX, 0, false) == UINT32_MAX ? PLUMB_ERR_MEMORY
                                                                       : PLUMB_OK;
}

void plumb_merge_close(struct plumb_merge *m)
{
    plumb_map_fini(&m->row_of);
    plumb_map_fini(&m->tree_node_of);
}

/* ---- States ---------------------------------------------------------------------------------- */

static struct plumb_merge_channel *channel_at(struct plumb_merge *m, struct plumb_merge_row *row,
                                              uint32_t channel)
{
    if (!row->channel[channel]) {
        row->channel[channel] = plumb_arena_alloc(m->arena, sizeof *row->channel[channel]);
        if (row->channel[channel]) {
            plumb_stats_init(&row->channel[channel]->stats);
            row->channel[channel]->shift = plumb_channel_shift(channel);
            row->channel[channel]->wide = row->channel[channel]->unsure = !m->own;
        }
    }
    return row->channel[channel];
}

/* Adds the wraps of buckets that have overflowed 32 bits. */
static void add_carry(struct plumb_merge *m, struct plumb_merge_channel *c,
                      const struct plumb_live_state *st)
{
    for (uint32_t i = 0; i < PLUMB_CARRY; i++) {
        uint32_t index = st->carry[i].index;
        uint64_t wraps = st->carry[i].wraps;
        if (wraps && index < PLUMB_SKETCH_BUCKETS)
            plumb_counts_add(m, c, index, wraps << 32);
    }
}

static bool has_lines(const struct plumb_live_state *st)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++)
        any |= st->lines_used[w];
    return any != 0;
}

bool plumb_merge_takes(const struct plumb_merge *m, const struct plumb_live_state *st)
{
    const struct plumb_live_key *k = plumb_live_key_at(&m->view, st->key);
    return k && st->reset_generation == reset_of(m, k->group).generation;
}

/* Returns the row of a state; NULL if it was reset in the meantime, or is not valid. */
static struct plumb_merge_row *row_of_state(struct plumb_merge *m,
                                            const struct plumb_live_state *st)
{
    struct plumb_merge_key key = {NULL, 0};
    if (st->key < m->key_count)
        key = m->keys[st->key];
    else
        key_of(m, st->key, &key);
    if (!key.row || st->channel >= PLUMB_CHANNELS ||
        st->reset_generation != reset_of(m, key.group).generation)
        return NULL;
    return key.row;
}

void plumb_merge_skipped(struct plumb_merge *m, const struct plumb_live_state *st)
{
    struct plumb_merge_row *row = row_of_state(m, st);
    if (row)
        row->skip[plumb_channel_is_device(st->channel)].taken += st->skipped;
}

void plumb_merge_thread(struct plumb_merge *m, uint32_t generation)
{
    m->thread++;
    m->thread_generation = generation;
}

/* A thread that has ended, whose record is now another thread's. */
#define P2_OF_OTHERS UINT32_MAX

/* Called before samples of the merged thread go into the estimate. */
static void p2_meet(const struct plumb_merge *m, struct plumb_merge_row *row, uint32_t channel)
{
    struct plumb_merge_p2 *p = &row->p2;
    if (plumb_channel_is_device(channel))
        return;
    uint32_t why = channel >= PLUMB_CHANNEL_FAR          ? PLUMB_MEDIAN_WHY_RANGE
                   : p->thread && p->channel != channel  ? PLUMB_MEDIAN_WHY_SOURCES
                   : p->thread && p->thread != m->thread ? PLUMB_MEDIAN_WHY_THREADS
                                                         : PLUMB_MEDIAN_WHY_NONE;
    /* The highest reason wins, so the order of threads does not matter. */
    p->mixed = why > p->mixed ? why : p->mixed;
    p->thread = m->thread;
    if (channel < PLUMB_CHANNEL_FAR)
        p->channel = channel;
}

/* `counts`: all buckets, or, if `packed`, only the lines in use. */
static struct plumb_merge_row *add_state(struct plumb_merge *m, const struct plumb_live_state *st,
                                         const uint32_t *counts, bool packed)
{
    struct plumb_merge_row *row = row_of_state(m, st);
    struct plumb_merge_channel *c;
    bool last = false;
    struct plumb_stats s;
    if (!row)
        return NULL;
    s = (struct plumb_stats){st->count, st->total, st->sq_lo,   st->sq_hi, st->min,
                             st->max,   st->last,  st->last_at, {0}};
    memcpy(s.first, st->first, sizeof s.first);
    /* Buckets may be ahead of a count that was restored. */
    if ((st->count || has_lines(st)) && (c = channel_at(m, row, st->channel)) != NULL) {
        plumb_stats_merge(&c->stats, &s);
        plumb_counts_lines(m, c, st->lines_used, counts, packed);
        if (!packed || plumb_state_is_long(st->flags, st->count))
            add_carry(m, c, st);
    }
    switch (st->channel % PLUMB_CHANNEL_FAR) {
    case PLUMB_CHANNEL_SPAN:
        row->self_ticks = plumb_total_add(row->self_ticks, st->self);
        *(st->channel < PLUMB_CHANNEL_FAR ? &row->threads : &row->far_threads) += st->threads;
        last = st->thread_generation == m->thread_generation;
        if (last)
            row->last_thread = m->thread;
        break;
    case PLUMB_CHANNEL_HOST_NS:
        row->self_ns = plumb_total_add(row->self_ns, st->self);
        row->outer_ns = plumb_total_add(row->outer_ns, st->outer_total);
        row->outer_count += st->outer_count;
        break;
    case PLUMB_CHANNEL_DEVICE_NS:
        row->device_within_ns = plumb_total_add(row->device_within_ns, st->self);
        break;
    default:
        break;
    }
    row->failures += st->failures;
    row->abandoned += st->abandoned;
    row->unbalanced += st->unbalanced;
    row->untraced += st->untraced;
    if (st->why_off && st->failures >= row->why_count) {
        row->why_off = st->why_off;
        row->why_count = st->failures;
    }
    if (st->count && m->view.h->flags & PLUMB_LIVE_P2 && !plumb_channel_is_device(st->channel)) {
        p2_meet(m, row, st->channel);
        row->p2.p2 = st->p2;
        if (st->threads > 1 || st->thread_generation != m->thread_generation)
            row->p2.thread = P2_OF_OTHERS;
        if (st->threads > 1 && !row->p2.mixed)
            row->p2.mixed = PLUMB_MEDIAN_WHY_THREADS;
    }
    /* Skipped ones too: the key may have been read before the fold that took them. */
    row->listed |= st->count || st->skipped || st->failures || st->abandoned || st->unbalanced;
    return last ? row : NULL;
}

struct plumb_merge_row *plumb_merge_state(struct plumb_merge *m, const struct plumb_live_state *st)
{
    return add_state(m, st, st->buckets, false);
}

struct plumb_merge_row *plumb_merge_state_copy(struct plumb_merge *m,
                                               const struct plumb_live_state *head,
                                               const uint32_t *lines)
{
    return add_state(m, head, lines, true);
}

void plumb_merge_resume(struct plumb_merge *m, uint32_t thread, uint32_t generation,
                        struct plumb_merge_row *const *rows, size_t n)
{
    m->thread = thread;
    m->thread_generation = generation;
    for (size_t i = 0; i < n; i++)
        rows[i]->last_thread = thread;
}

/* ---- Records that were not folded ------------------------------------------------------------ */

/* The row of a run that a replay ended; NULL when it leaves nothing. */
static struct plumb_merge_row *row_for(struct plumb_merge *m, const struct plumb_ended *e)
{
    uint32_t group = plumb_key_group(e->key), node = plumb_key_node(e->key);
    const struct plumb_live_pipeline *p = pipeline_of(m, group);
    uint64_t i;
    struct plumb_merge_row *row;
    if (!p || e->begin_ticks < reset_of(m, group).ticks)
        return NULL;
    if (node >= PLUMB_ACQUIRE(m->view.h->nodes.count)) {
        m->other++;
        group &= 0xff00u;
        node = PLUMB_NODE_OTHER;
    }
    i = plumb_map_get(&m->row_of, plumb_key(group, node) + 1);
    row = i ? m->rows[i - 1] : row_make(m, group, node);
    if (row) {
        row->first_ticks = e->begin_ticks < row->first_ticks ? e->begin_ticks : row->first_ticks;
        row->listed = true;
    }
    return row;
}

/* Returns whether a fold that was cut short has already raised the bucket of this sample. */
static bool bucket_has_it(struct plumb_merge *m, const struct plumb_ended *e)
{
    for (size_t i = 0; i < m->ahead_count; i++) {
        struct plumb_merge_ahead *a = &m->ahead[i];
        if (a->key == e->key && a->channel == e->channel && a->samples) {
            a->samples--;
            return true;
        }
    }
    return false;
}

static uint64_t skip_at(const struct plumb_merge *m, const struct plumb_ended *e)
{
    const struct plumb_live_pipeline *p = pipeline_of(m, plumb_key_group(e->key));
    return p ? plumb_live_skip_at(p, e->end_ticks) : 0;
}

/* Returns whether skip_first_n takes the sample. */
static bool skips(const struct plumb_merge *m, struct plumb_merge_skip *s,
                  const struct plumb_ended *e)
{
    if (s->taken < (s->settled ? s->most : skip_at(m, e))) {
        s->taken++;
        return true;
    }
    if (!s->settled) {
        s->settled = true;
        s->most = s->taken;
    }
    return false;
}

/* A sample that counts, into the statistics of its channel. */
static void add_sample(struct plumb_merge *m, struct plumb_merge_row *row,
                       const struct plumb_ended *e)
{
    struct plumb_merge_channel *c = channel_at(m, row, e->channel);
    if (!c)
        return;
    plumb_stats_add(&c->stats, e->value, e->end_ticks);
    /* Of two samples with one time the later record wins: a thread's records are in order. */
    if (c->stats.last_at == e->end_ticks)
        c->stats.last = e->value;
    if (!bucket_has_it(m, e))
        plumb_counts_add(m, c, plumb_sketch_index(e->value >> c->shift), 1);
    if (m->view.h->flags & PLUMB_LIVE_P2) {
        p2_meet(m, row, e->channel);
        if (!plumb_channel_is_device(e->channel))
            plumb_p2_add(&row->p2.p2, (double)e->value);
    }
}

static void on_sample(void *self, const struct plumb_ended *ended)
{
    struct plumb_merge *m = self;
    struct plumb_ended run = *ended, *e = &run;
    struct plumb_merge_row *row = row_for(m, e);
    uint32_t place = e->tree;
    bool device = plumb_channel_is_device(e->channel);
    if (!row)
        return;
    if (e->channel == PLUMB_CHANNEL_SPAN && row->last_thread != m->thread) {
        row->last_thread = m->thread;
        row->threads++;
    }
    if (skips(m, &row->skip[device], e))
        return;
    e->channel = plumb_channel_for(e->channel, e->value);
    add_sample(m, row, e);
    if (ended->channel == PLUMB_CHANNEL_SPAN) {
        row->self_ticks = plumb_total_add(row->self_ticks, e->self);
    } else if (!device) {
        row->self_ns = plumb_total_add(row->self_ns, e->self);
        row->outer_ns = plumb_total_add(row->outer_ns, e->outermost ? e->value : 0);
        row->outer_count += e->outermost;
    }
    if (e->async && m->want_tree)
        place = plumb_merge_place_of(m, 0, e->key, true);
    if (m->want_tree && place && place < m->tree_count) {
        m->places[place].count++;
        m->places[place].total += e->value;
        m->places[place].self += e->self;
    }
}

/* Like the fold. */
static void on_within(void *self, const struct plumb_ended *e)
{
    struct plumb_merge *m = self;
    uint64_t i = plumb_map_get(&m->row_of, e->key + 1);
    const struct plumb_live_pipeline *p = pipeline_of(m, plumb_key_group(e->key));
    struct plumb_merge_row *row = i ? m->rows[i - 1] : NULL;
    const struct plumb_merge_skip *s;
    if (!p || e->begin_ticks < reset_of(m, plumb_key_group(e->key)).ticks)
        return;
    if (!row && plumb_key_node(e->key) < PLUMB_ACQUIRE(m->view.h->nodes.count))
        row = row_make(m, plumb_key_group(e->key), plumb_key_node(e->key));
    if (!row)
        return;
    s = &row->skip[0];
    if (s->taken >= (s->settled ? s->most : skip_at(m, e)))
        row->device_within_ns = plumb_total_add(row->device_within_ns, e->value);
}

static void on_failed(void *self, const struct plumb_ended *e)
{
    struct plumb_merge_row *row = row_for(self, e);
    if (!row)
        return;
    row->failures++;
    row->why_off = e->why_off ? e->why_off : row->why_off;
}

static void on_abandoned(void *self, const struct plumb_ended *e)
{
    struct plumb_merge_row *row = row_for(self, e);
    if (row)
        row->abandoned++;
}

static void on_unbalanced(void *self, const struct plumb_ended *e)
{
    struct plumb_merge_row *row = row_for(self, e);
    if (row)
        row->unbalanced++;
}

uint32_t plumb_merge_place_of(struct plumb_merge *m, uint32_t parent, uint64_t key, bool async)
{
    uint64_t id = ((uint64_t)(parent + 1) << 37 | (uint64_t)async << 36 | key) + 1;
    uint64_t known = plumb_map_get(&m->tree_node_of, id);
    struct plumb_merge_place *p;
    if (known)
        return (uint32_t)known - 1;
    p = plumb_arena_grow(m->arena, m->places, &m->tree_cap, m->tree_count + 1, sizeof *p);
    if (!p || plumb_map_put(&m->tree_node_of, id, m->tree_count + 1) < 0)
        return UINT32_MAX;
    m->places = p;
    m->places[m->tree_count] = (struct plumb_merge_place){parent, async, key, 0, 0, 0};
    return (uint32_t)m->tree_count++;
}

void plumb_merge_place(struct plumb_merge *m, uint32_t *map, uint32_t i,
                       const struct plumb_live_tree *t)
{
    uint32_t to = t->parent >= i
                      ? 0
                      : plumb_merge_place_of(m, map[t->parent],
                                             plumb_key(t->group & 0xffff, t->node), t->async != 0);
    const struct plumb_live_pipeline *p = pipeline_of(m, t->group);
    if (to == 0 || to == UINT32_MAX)
        return;
    map[i] = to;
    if (!p || t->reset_generation != reset_of(m, t->group).generation)
        return;
    m->places[to].count += t->count;
    m->places[to].total += t->total;
    m->places[to].self += t->self;
}

static uint32_t on_enter(void *self, uint32_t parent, uint64_t key)
{
    struct plumb_merge *m = self;
    uint32_t place;
    if (!m->want_tree)
        return 0;
    place = plumb_merge_place_of(m, parent, key, false);
    return place == UINT32_MAX ? 0 : place;
}

static void on_ended(void *self, const struct plumb_live_frame *f, uint64_t value, uint64_t own,
                     bool outermost, uint64_t end_ticks)
{
    struct plumb_ended e = {.key = f->key,
                            .tree = f->tree,
                            .value = value,
                            .self = own,
                            .begin_ticks = f->begin_ticks,
                            .end_ticks = end_ticks,
                            .outermost = outermost};
    on_sample(self, &e);
}

static uint64_t on_leaves(void *self, uint32_t parent, uint64_t key, bool outermost, uint64_t base,
                          const uint64_t *words, uint32_t pairs)
{
    uint32_t place = on_enter(self, parent, key);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t begin = plumb_record_ticks(PLUMB_LOAD(words[2 * i]));
        uint64_t end = plumb_record_ticks(PLUMB_LOAD(words[2 * i + 1]));
        struct plumb_ended e = {.key = key,
                                .tree = place,
                                .begin_ticks = base + begin,
                                .end_ticks = base + end,
                                .outermost = outermost};
        e.value = e.self = end > begin ? end - begin : 0;
        on_sample(self, &e);
        sum += e.value;
    }
    return sum;
}

static uint32_t on_adopt(void *self, uint32_t group, const uint64_t *path, uint32_t n)
{
    struct plumb_merge *m = self;
    uint32_t at = 0;
    if (!m->want_tree)
        return 1; /* any place other than the root: runs below it are not outermost */
    for (uint32_t i = 0; i < n && at != UINT32_MAX; i++) {
        uint32_t node = (uint32_t)(PLUMB_LOAD(path[i / 2]) >> (i & 1 ? 32 : 0));
        at = plumb_merge_place_of(m, at, plumb_key(group, node & ((1u << PLUMB_NODE_BITS) - 1)),
                                  false);
    }
    return at == UINT32_MAX ? 0 : at;
}

static const struct plumb_sink merge_sink = {on_enter,     on_leaves,     on_ended,
                                             on_sample,    on_within,     on_failed,
                                             on_abandoned, on_unbalanced, on_adopt};

void plumb_merge_block(struct plumb_merge *m, struct plumb_live_context *context,
                       struct plumb_live_frame *frames, const uint64_t *words)
{
    plumb_replay_block(&merge_sink, m, context, frames, words);
}

void plumb_merge_untraced(struct plumb_merge *m, uint64_t key, uint64_t spans)
{
    uint64_t row = plumb_map_get(&m->row_of, key + 1);
    if (row)
        m->rows[row - 1]->untraced += spans;
}

static int by_first_ticks(const void *a, const void *b)
{
    const struct plumb_merge_row *x = *(struct plumb_merge_row *const *)a;
    const struct plumb_merge_row *y = *(struct plumb_merge_row *const *)b;
    if (x->first_ticks != y->first_ticks)
        return x->first_ticks < y->first_ticks ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void plumb_merge_order(struct plumb_merge *m)
{
    size_t sorted = 1;
    while (sorted < m->row_count && by_first_ticks(&m->rows[sorted - 1], &m->rows[sorted]) < 0)
        sorted++;
    if (sorted >= m->row_count)
        return;
    qsort(m->rows, m->row_count, sizeof *m->rows, by_first_ticks);
    for (size_t i = 0; i < m->row_count; i++)
        plumb_map_put(&m->row_of, plumb_key(m->rows[i]->group, m->rows[i]->node) + 1, i + 1);
}
