/* first_use.c: see first_use.h. Objects are carved and published under the lock; the maps that look
 * them up are the thread's own. */
#include "record/runtime/first_use.h"

#include <string.h>

#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"
#include <plumb/summary.h>

static uint32_t key_index(struct plumb_run *run, uint64_t key)
{
    uint64_t known = plumb_map_get(&run->keys, key + 1);
    struct plumb_live_key *k;
    if (known)
        return (uint32_t)known - 1;
    k = plumb_table_add(run, &run->h->keys);
    if (!k || plumb_map_put(&run->keys, key + 1, run->h->keys.count + 1) < 0)
        return UINT32_MAX;
    k->group = plumb_key_group(key);
    k->node = plumb_key_node(key);
    k->first_ticks = UINT64_MAX;
    plumb_table_commit(&run->h->keys);
    return run->h->keys.count - 1;
}

static struct plumb_live_state *state_carve(struct plumb_in in, uint64_t key, uint32_t channel)
{
    struct plumb_thread *th = in.th;
    struct plumb_run *run = in.run;
    size_t reserve = run->reserve;
    struct plumb_live_state *st;
    uint32_t index;
    uint64_t off;
    if (plumb_key_node(key) == PLUMB_NODE_OTHER)
        run->reserve = 0;
    index = key_index(run, key);
    off = index == UINT32_MAX ? 0 : plumb_carve(run, sizeof(struct plumb_live_state));
    run->reserve = reserve;
    if (!off)
        return NULL;
    st = PLUMB_AT(run, struct plumb_live_state, off);
    st->min = UINT64_MAX;
    st->key = index;
    st->channel = channel;
    st->reset_generation =
        PLUMB_LOAD(plumb_pipeline_of_group(run, plumb_key_group(key))->reset_generation);
    if (plumb_rt.settings.median == PLUMB_MEDIAN_P2 && channel <= PLUMB_CHANNEL_HOST_NS)
        st->flags |= PLUMB_STATE_P2;
    if (plumb_map_put(&th->state_of, ((uint64_t)channel << 40 | key) + 1, off) < 0)
        return NULL;
    /* The count first: it bounds the walk along the list, which must reach the oldest state. */
    PLUMB_RELEASE(th->live->states, th->live->states + 1);
    /* At the end of the list: if the mapping grows only in memory, a kill loses the newest
     * states. */
    if (th->last_state)
        PLUMB_RELEASE(th->last_state->next_off, off);
    else
        PLUMB_RELEASE(th->live->state_off, off);
    th->last_state = st;
    return st;
}

struct plumb_live_state *plumb_state_first_use(struct plumb_in in, uint64_t key, uint32_t channel)
{
    uint64_t off = plumb_map_get(&in.th->state_of, ((uint64_t)channel << 40 | key) + 1);
    struct plumb_live_state *st;
    if (off)
        return PLUMB_AT(in.run, struct plumb_live_state, off);
    plumb_lock();
    st = state_carve(in, key, channel);
    plumb_unlock();
    return st;
}

static bool place_room(struct plumb_thread *th)
{
    uint32_t cap = th->tree_cap ? th->tree_cap * 2 : 64;
    struct plumb_tree_node *p, *before;
    if (th->tree_count < th->tree_cap)
        return true;
    if (cap > PLUMB_TREE_NODES_MAX || !(p = plumb_pages_map(cap * sizeof *p)))
        return false;
    if (th->tree)
        memcpy(p, th->tree, th->tree_count * sizeof *p);
    before = th->tree;
    PLUMB_RELEASE(th->tree, p);
    PLUMB_RELEASE(th->tree_cap, cap);
    plumb_pages_unmap(before, cap / 2 * sizeof *p);
    return true;
}

static uint32_t place_carve(struct plumb_in in, uint32_t parent, uint64_t key, bool async)
{
    struct plumb_thread *th = in.th;
    struct plumb_live_tree *t;
    uint32_t i = th->tree_count;
    if (!place_room(th) || !(t = plumb_table_add(in.run, &th->live->tree)))
        return UINT32_MAX;
    t->parent = parent;
    t->node = plumb_key_node(key);
    t->group = plumb_key_group(key);
    t->async = async;
    t->count = t->total = t->self = 0;
    t->undo_block = 0;
    plumb_table_commit(&th->live->tree);
    th->tree[i] = (struct plumb_tree_node){t, NULL, key, parent, 0, 0, 0, 0, {0}};
    th->tree_count++;
    return i;
}

uint32_t plumb_tree_first_use(struct plumb_in in, uint32_t parent, uint64_t key, bool async)
{
    struct plumb_thread *th = in.th;
    uint64_t id = ((uint64_t)parent << 37 | (uint64_t)async << 36 | key) + 1;
    uint64_t known = plumb_map_get(&th->tree_node_of, id);
    uint32_t i;
    if (known)
        return (uint32_t)known - 1;
    plumb_lock();
    i = place_carve(in, parent, key, async);
    plumb_unlock();
    if (i == UINT32_MAX) {
        plumb_drop(in.run, PLUMB_DROP_TREE);
        return 0;
    }
    plumb_map_put(&th->tree_node_of, id, (uint64_t)i + 1);
    return i;
}

void plumb_state_reset(struct plumb_live_state *st, uint32_t generation)
{
    for (uint32_t l = 0; l < PLUMB_SKETCH_LINES; l++) {
        if (st->lines_used[l / 64] >> (l % 64) & 1)
            memset(&st->buckets[l * PLUMB_SKETCH_LINE], 0,
                   PLUMB_SKETCH_LINE * sizeof st->buckets[0]);
    }
    memset(st->lines_used, 0, sizeof st->lines_used);
    st->count = st->total = st->sq_lo = st->sq_hi = 0;
    st->min = UINT64_MAX;
    st->max = st->last = st->last_at = st->self = 0;
    st->outer_total = st->outer_count = 0;
    st->failures = st->abandoned = st->unbalanced = st->why_off = 0;
    st->skipped = st->threads = st->thread_generation = 0;
    memset(&st->p2, 0, sizeof st->p2);
    memset(st->carry, 0, sizeof st->carry);
    st->flags &= ~(uint32_t)PLUMB_STATE_SETTLED;
    /* Last: readers treat a state of an older generation as empty. */
    PLUMB_RELEASE(st->reset_generation, generation);
}
