/* merge.c: see merge.h. */
#include "format/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/line.h"
#include "base/u128.h"
#include "format/replay.h"

/* ---- Looking into the mapping ---------------------------------------------------------------- */

const void *plumb_merge_at(const struct plumb_merge *m, uint64_t off, size_t bytes)
{
    if (off == 0 || off > m->bytes || bytes > m->bytes - off || off % 8)
        return NULL;
    return m->base + off;
}

const void *plumb_merge_element(const struct plumb_merge *m, const struct plumb_live_table *t,
                                uint32_t i, size_t element_bytes)
{
    uint32_t at, chunk = plumb_table_chunk(i, &at);
    if (i >= PLUMB_ACQUIRE(t->count) || chunk >= PLUMB_TABLE_CHUNKS)
        return NULL;
    return t->chunk_off[chunk]
               ? plumb_merge_at(m, t->chunk_off[chunk] + (uint64_t)at * element_bytes,
                                element_bytes)
               : NULL;
}

const char *plumb_merge_text(const struct plumb_merge *m, uint64_t off)
{
    const struct plumb_live_text *t = plumb_merge_at(m, off, sizeof *t);
    const char *text = t ? (const char *)(t + 1) : NULL;
    if (!t || t->bytes >= m->bytes - off - sizeof *t || text[t->bytes] != '\0')
        return "";
    return text;
}

static const struct plumb_live_pipeline *pipeline_of(const struct plumb_merge *m, uint32_t group)
{
    return plumb_merge_element(m, &m->h->pipelines, group >> 8, sizeof(struct plumb_live_pipeline));
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

int plumb_merge_open(struct plumb_merge *m, struct plumb_arena *arena, const unsigned char *base,
                     size_t bytes, bool want_tree)
{
    uint32_t keys;
    size_t most = bytes / sizeof(struct plumb_live_key);
    struct plumb_map rows = m->row_of, places = m->place_of;
    memset(m, 0, sizeof *m);
    plumb_map_clear(&rows);
    plumb_map_clear(&places);
    m->row_of = rows;
    m->place_of = places;
    m->arena = arena;
    m->base = base;
    m->bytes = bytes;
    m->h = (const struct plumb_live_header *)(const void *)base;
    m->want_tree = want_tree;
    keys = PLUMB_ACQUIRE(m->h->keys.count);
    /* A damaged count: looking for each would take minutes. */
    if (keys > most) {
        m->missing += keys - most;
        keys = (uint32_t)most;
    }
    for (uint32_t i = 0; i < keys; i++) {
        const struct plumb_live_key *k =
            plumb_merge_element(m, &m->h->keys, i, sizeof(struct plumb_live_key));
        const struct plumb_live_pipeline *p = k ? pipeline_of(m, k->group) : NULL;
        struct plumb_merge_row *row = p ? row_of(m, k->group & 0xffff, k->node) : NULL;
        uint64_t taken;
        if (m->arena->failed)
            return PLUMB_ERR_MEMORY;
        if (!row) {
            m->missing++;
            continue;
        }
        taken = PLUMB_LOAD(k->skipped);
        if (PLUMB_LOAD(k->reset_generation) != PLUMB_LOAD(p->reset_generation))
            taken = 0;
        /* Once a sample has counted, what was not taken before is not taken any more. */
        row->settled = (taken & PLUMB_KEY_SETTLED) != 0;
        row->skip_most = taken & ~PLUMB_KEY_SETTLED;
        row->listed = taken != 0;
        row->first_ticks = PLUMB_LOAD(k->first_ticks);
        if (row->first_ticks < PLUMB_LOAD(p->reset_ticks))
            row->first_ticks = UINT64_MAX; /* of what the reset has dropped */
        m->skips |= row->skip_most || plumb_live_skip_at(p, 0) || plumb_live_skip_at(p, UINT64_MAX);
    }
    return plumb_merge_place_of(m, UINT32_MAX, 0, false) == UINT32_MAX ? PLUMB_ERR_MEMORY
                                                                       : PLUMB_OK;
}

void plumb_merge_close(struct plumb_merge *m)
{
    plumb_map_fini(&m->row_of);
    plumb_map_fini(&m->place_of);
}

/* ---- States ---------------------------------------------------------------------------------- */

static struct plumb_merge_channel *channel_at(struct plumb_merge *m, struct plumb_merge_row *row,
                                              uint32_t channel)
{
    if (!row->channel[channel]) {
        row->channel[channel] = plumb_arena_alloc(m->arena, sizeof *row->channel[channel]);
        if (row->channel[channel])
            plumb_stats_init(&row->channel[channel]->stats);
    }
    return row->channel[channel];
}

/* Counts of a group that do not lie in a state; `n` is about to be added to them. */
static uint64_t *group_at(struct plumb_merge *m, struct plumb_merge_channel *c, uint32_t g,
                          uint64_t n)
{
    if (!c->extra)
        c->extra = plumb_arena_alloc(m->arena, sizeof *c->extra);
    if (c->extra && !c->extra->group[g])
        c->extra->group[g] = plumb_arena_alloc(m->arena, 64 * sizeof(uint64_t));
    if (!c->extra || !c->extra->group[g])
        return NULL;
    c->groups |= UINT64_C(1) << g;
    c->sum[g] += n;
    return c->extra->group[g];
}

static void add_buckets(struct plumb_merge *m, struct plumb_merge_channel *c,
                        const struct plumb_live_state *head, const uint32_t *counts,
                        struct plumb_live_state *const *copy, const struct plumb_merge_sums *sums)
{
    struct plumb_merge_sketch *k = plumb_arena_alloc(m->arena, sizeof *k);
    if (!k)
        return;
    *k = (struct plumb_merge_sketch){c->sketches, head->lines_used, counts, copy};
    c->sketches = k;
    c->groups |= sums->groups;
    for (uint64_t left = sums->groups; left; left &= left - 1) {
        int g = __builtin_ctzll(left);
        c->sum[g] += sums->sum[g];
    }
    for (uint32_t i = 0; i < PLUMB_CARRY && (!copy || plumb_copy_is_long(head->flags, head->count));
         i++) {
        uint32_t index = head->carry[i].index;
        uint64_t wraps = head->carry[i].wraps, *to = NULL;
        if (wraps && index < PLUMB_SKETCH_BUCKETS)
            to = group_at(m, c, index >> 6, wraps << 32);
        if (to)
            to[index & 63] += wraps << 32;
    }
}

/* The row of a state; NULL: it was reset meanwhile, or makes no sense. */
static struct plumb_merge_row *row_of_state(struct plumb_merge *m,
                                            const struct plumb_live_state *st)
{
    const struct plumb_live_key *k =
        plumb_merge_element(m, &m->h->keys, st->key, sizeof(struct plumb_live_key));
    const struct plumb_live_pipeline *p = k ? pipeline_of(m, k->group) : NULL;
    if (!p || st->channel > PLUMB_CHANNEL_DEVICE_NS ||
        st->reset_generation != PLUMB_LOAD(p->reset_generation))
        return NULL;
    return row_of(m, k->group & 0xffff, k->node);
}

void plumb_merge_skipped(struct plumb_merge *m, const struct plumb_live_state *st)
{
    struct plumb_merge_row *row = row_of_state(m, st);
    if (row)
        row->skipped += st->skipped;
}

void plumb_merge_thread(struct plumb_merge *m, uint32_t generation)
{
    m->thread++;
    m->thread_generation = generation;
}

void plumb_merge_state(struct plumb_merge *m, const struct plumb_live_state *st)
{
    struct plumb_merge_sums sums;
    plumb_merge_sums(&sums, st->lines_used, st->buckets, false, false);
    plumb_merge_live_state(m, st, st->buckets, NULL, &sums);
}

void plumb_merge_live_state(struct plumb_merge *m, const struct plumb_live_state *st,
                            const uint32_t *counts, struct plumb_live_state *const *copy,
                            const struct plumb_merge_sums *sums)
{
    struct plumb_merge_row *row = row_of_state(m, st);
    struct plumb_merge_channel *c;
    struct plumb_stats s;
    if (!row)
        return;
    s = (struct plumb_stats){st->count, st->total, st->sq_lo,   st->sq_hi, st->min,
                             st->max,   st->last,  st->last_at, {0}};
    memcpy(s.first, st->first, sizeof s.first);
    /* Buckets may be ahead of a count that was put back. */
    if ((st->count || sums->groups) && (c = channel_at(m, row, st->channel)) != NULL) {
        plumb_stats_merge(&c->stats, &s);
        add_buckets(m, c, st, counts, copy, sums);
    }
    if (st->channel == PLUMB_CHANNEL_SPAN) {
        row->self_ticks += st->self;
        row->threads += st->threads;
        if (st->thread_generation == m->thread_generation)
            row->last_thread = m->thread;
    } else if (st->channel == PLUMB_CHANNEL_HOST_NS) {
        row->self_ns += st->self;
        row->outer_ns += st->outer_total;
        row->outer_count += st->outer_count;
    }
    row->failures += st->failures;
    row->abandoned += st->abandoned;
    row->unbalanced += st->unbalanced;
    row->untraced += st->untraced;
    if (st->why_off && st->failures >= row->why_count) {
        row->why_off = st->why_off;
        row->why_count = st->failures;
    }
    if (st->flags & PLUMB_STATE_P2 && st->count) {
        row->p2 = st->p2;
        row->p2_threads++;
        row->p2_shared |= st->threads > 1;
    }
    row->listed |= st->count || st->failures || st->abandoned || st->unbalanced;
}

/* ---- Records that were not folded ------------------------------------------------------------ */

/* The row of a run that a replay ended; NULL when it leaves nothing. */
static struct plumb_merge_row *row_for(struct plumb_merge *m, const struct plumb_ended *e)
{
    uint32_t group = plumb_key_group(e->key), node = plumb_key_node(e->key);
    const struct plumb_live_pipeline *p = pipeline_of(m, group);
    uint64_t i;
    struct plumb_merge_row *row;
    if (!p || e->begin_ticks < PLUMB_LOAD(p->reset_ticks))
        return NULL;
    if (node >= PLUMB_ACQUIRE(m->h->nodes.count)) {
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

/* Whether a fold that was cut short has already raised the bucket of this sample. */
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

static void on_sample(void *self, const struct plumb_ended *e)
{
    struct plumb_merge *m = self;
    struct plumb_merge_row *row = row_for(m, e);
    struct plumb_merge_channel *c;
    uint64_t *group;
    uint32_t index, place = e->tree;
    if (!row)
        return;
    if (e->channel == PLUMB_CHANNEL_SPAN && row->last_thread != m->thread) {
        row->last_thread = m->thread;
        row->threads++;
    }
    if (row->skipped < (row->settled ? row->skip_most : skip_at(m, e))) {
        row->skipped++;
        return;
    }
    if (!row->settled) {
        row->settled = true;
        row->skip_most = row->skipped;
    }
    c = channel_at(m, row, e->channel);
    if (!c)
        return;
    index = plumb_sketch_index(e->value);
    plumb_stats_add(&c->stats, e->value, e->end_ticks);
    group = bucket_has_it(m, e) ? NULL : group_at(m, c, index >> 6, 1);
    if (group)
        group[index & 63]++;
    if (e->channel == PLUMB_CHANNEL_SPAN) {
        row->self_ticks += e->self;
        if (m->h->flags & PLUMB_LIVE_P2) {
            plumb_p2_add(&row->p2, (double)e->value);
            row->p2_threads += row->p2_threads == 0;
        }
    } else if (e->channel == PLUMB_CHANNEL_HOST_NS) {
        row->self_ns += e->self;
        row->outer_ns += e->outermost ? e->value : 0;
        row->outer_count += e->outermost;
    }
    if (e->async && m->want_tree)
        place = plumb_merge_place_of(m, 0, e->key, true);
    if (m->want_tree && place && place < m->place_count) {
        m->places[place].count++;
        m->places[place].total += e->value;
        m->places[place].self += e->self;
    }
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
    uint64_t known = plumb_map_get(&m->place_of, id);
    struct plumb_merge_place *p;
    if (known)
        return (uint32_t)known - 1;
    p = plumb_arena_grow(m->arena, m->places, &m->place_cap, m->place_count + 1, sizeof *p);
    if (!p || plumb_map_put(&m->place_of, id, m->place_count + 1) < 0)
        return UINT32_MAX;
    m->places = p;
    m->places[m->place_count] = (struct plumb_merge_place){parent, async, key, 0, 0, 0};
    return (uint32_t)m->place_count++;
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
        return 1; /* any place but the root: what runs below is not outermost */
    for (uint32_t i = 0; i < n && at != UINT32_MAX; i++) {
        uint32_t node = (uint32_t)(PLUMB_LOAD(path[i / 2]) >> (i & 1 ? 32 : 0));
        at = plumb_merge_place_of(m, at, plumb_key(group, node & ((1u << PLUMB_NODE_BITS) - 1)),
                                  false);
    }
    return at == UINT32_MAX ? 0 : at;
}

static const struct plumb_sink merge_sink = {on_enter,  on_leaves,    on_ended,      on_sample,
                                             on_failed, on_abandoned, on_unbalanced, on_adopt};

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
    if (m->row_count)
        qsort(m->rows, m->row_count, sizeof *m->rows, by_first_ticks);
    for (size_t i = 0; i < m->row_count; i++)
        plumb_map_put(&m->row_of, plumb_key(m->rows[i]->group, m->rows[i]->node) + 1, i + 1);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static double clamp(double v, const struct plumb_stats *s)
{
    return v < (double)s->min ? (double)s->min : v > (double)s->max ? (double)s->max : v;
}

enum { GROUP_LINES = 64 / PLUMB_SKETCH_LINE, GROUP_MASK = (1 << GROUP_LINES) - 1 };

/* In place a group is read whole: lines that are not in use hold zeros, and to leave them out costs
 * more. */
PLUMB_RACY void plumb_merge_sums(struct plumb_merge_sums *out, const uint64_t *lines,
                                 const uint32_t *counts, bool packed, bool narrow)
{
    static const uint8_t bits_of[1 << GROUP_LINES] = {0, 1, 1, 2, 1, 2, 2, 3,
                                                      1, 2, 2, 3, 2, 3, 3, 4};
    out->groups = 0;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        uint64_t left = lines[w];
        if (w == PLUMB_SKETCH_LINE_WORDS - 1 && PLUMB_SKETCH_LINES % 64 != 0)
            left &= (UINT64_C(1) << PLUMB_SKETCH_LINES % 64) - 1;
        while (left) {
            uint32_t at = (uint32_t)__builtin_ctzll(left) & ~(uint32_t)(GROUP_LINES - 1);
            uint32_t g = (64 * w + at) / GROUP_LINES;
            uint32_t n = packed ? bits_of[left >> at & GROUP_MASK] : GROUP_LINES;
            const uint32_t *from = packed ? counts : &counts[g * 64];
            uint64_t sum = narrow ? plumb_lines_sum(from, n) : plumb_lines_sum_wide(from, n);
            counts += packed ? n * PLUMB_SKETCH_LINE : 0;
            left &= ~((uint64_t)GROUP_MASK << at);
            out->sum[g] = sum;
            out->groups |= (uint64_t)(sum != 0) << g;
        }
    }
}

static uint32_t bits_in(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* Where a copy has line `l`, which is in use. */
static const uint32_t *line_of_copy(const struct plumb_live_state *copy, uint32_t l)
{
    uint32_t before = bits_in(copy->lines_used[l / 64] & ((UINT64_C(1) << (l % 64)) - 1));
    for (uint32_t w = 0; w < l / 64; w++)
        before += bits_in(copy->lines_used[w]);
    return plumb_copy_counts(copy) + (size_t)before * PLUMB_SKETCH_LINE;
}

static void read_line(uint32_t out[PLUMB_SKETCH_LINE], const struct plumb_merge_sketch *k,
                      uint32_t l)
{
    const struct plumb_live_state *copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    if (!copy) {
        plumb_order();
        plumb_read_line(out, &k->counts[l * PLUMB_SKETCH_LINE]);
        plumb_order();
        copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    }
    if (copy)
        memcpy(out, line_of_copy(copy, l), PLUMB_SKETCH_LINE * sizeof *out);
}

/* The counts of line `l`, all states together. */
static void line_counts(const struct plumb_merge_channel *c, uint32_t l,
                        uint64_t counts[PLUMB_SKETCH_LINE])
{
    uint32_t g = l / GROUP_LINES, line[PLUMB_SKETCH_LINE];
    if (c->extra && c->extra->group[g])
        memcpy(counts, c->extra->group[g] + l % GROUP_LINES * PLUMB_SKETCH_LINE,
               PLUMB_SKETCH_LINE * sizeof *counts);
    else
        memset(counts, 0, PLUMB_SKETCH_LINE * sizeof *counts);
    for (const struct plumb_merge_sketch *k = c->sketches; k; k = k->next) {
        if (k->lines[l / 64] >> (l % 64) & 1) {
            read_line(line, k, l);
            plumb_line_add(counts, line);
        }
    }
}

void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[4])
{
    static const uint32_t percent[4] = {50, 90, 95, 99};
    uint64_t n = c ? c->stats.count : 0, before = 0, rank[4];
    int q = 0;
    for (int i = 0; i < 4; i++)
        out[i] = n && n <= PLUMB_EXACT
                     ? plumb_stats_quantile(&c->stats, NULL, 0, percent[i] / 100.0)
                     : 0;
    if (n <= PLUMB_EXACT)
        return;
    for (int i = 0; i < 4; i++)
        rank[i] = n / 100 * percent[i] + (n % 100 * percent[i] + 99) / 100;
    for (uint64_t left = c->groups; left && q < 4; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctzll(left) * GROUP_LINES, end = l + GROUP_LINES;
        uint64_t seen = before;
        before += c->sum[l / GROUP_LINES];
        for (; q < 4 && rank[q] <= before && l < end; l++) {
            uint64_t counts[PLUMB_SKETCH_LINE], sum = 0;
            line_counts(c, l, counts);
            for (uint32_t i = 0; i < PLUMB_SKETCH_LINE; i += 4)
                sum += counts[i] + counts[i + 1] + counts[i + 2] + counts[i + 3];
            if (rank[q] > seen + sum) {
                seen += sum;
                continue;
            }
            for (uint32_t i = 0; i < PLUMB_SKETCH_LINE; i++) {
                seen += counts[i];
                for (; q < 4 && rank[q] <= seen; q++)
                    out[q] = clamp(plumb_sketch_value(l * PLUMB_SKETCH_LINE + i), &c->stats);
            }
        }
    }
    /* Fewer in the buckets than were counted: a damaged file. */
    for (; q < 4; q++)
        out[q] = q && out[q - 1] > (double)c->stats.max ? out[q - 1] : (double)c->stats.max;
}

struct plumb_bucket *plumb_merge_buckets(const struct plumb_merge *m,
                                         const struct plumb_merge_channel *c, double unit_ns,
                                         size_t *n)
{
    struct plumb_bucket *list;
    uint64_t counts[64];
    size_t count = 0;
    *n = 0;
    for (uint64_t left = c ? c->groups : 0; left; left &= left - 1) {
        int g = __builtin_ctzll(left);
        bool few = c->sum[g] < 64 && !(c->extra && c->extra->group[g]);
        count += few ? c->sum[g] : 64;
    }
    list = count ? plumb_arena_alloc(m->arena, count * sizeof *list) : NULL;
    for (uint64_t left = list ? c->groups : 0; left; left &= left - 1) {
        uint32_t g = (uint32_t)__builtin_ctzll(left);
        for (uint32_t l = 0; l < GROUP_LINES; l++)
            line_counts(c, g * GROUP_LINES + l, counts + l * PLUMB_SKETCH_LINE);
        for (uint32_t i = 0; i < 64; i++) {
            if (counts[i])
                list[(*n)++] =
                    (struct plumb_bucket){plumb_sketch_value(g * 64 + i) * unit_ns, counts[i]};
        }
    }
    return list;
}
