/* calls.c: see calls.h. Counts are in two maps. When the recent map is full, it replaces the older
 * one, whose counts are forgotten. So no search for counts to remove is needed, and counts in use
 * stay in the recent map. */
#include "record/activation/calls.h"

static uint64_t key_of(uint64_t label, int64_t step)
{
    uint64_t key = (label ^ (uint64_t)(step + 1) * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    key ^= key >> 32;
    return key ? key : 1;
}

static void raise(struct plumb_act_calls_most *most, int64_t step, uint64_t count)
{
    uint64_t *to = step < 0 ? &most->outside : &most->in_steps;
    if (step >= 0 && (!most->in_steps || step > most->last_step))
        most->last_step = step;
    if (count > *to)
        *to = count;
}

static void raise_all(struct plumb_act_calls_most *most, const struct plumb_act_calls_most *by)
{
    if (by->in_steps)
        raise(most, by->last_step, by->in_steps);
    if (by->outside)
        raise(most, -1, by->outside);
}

static uint64_t of_forgotten(const struct plumb_act_calls_most *f, int64_t step)
{
    if (step < 0)
        return f->outside;
    return step <= f->last_step ? f->in_steps : 0;
}

static void forget_before(struct plumb_act_calls *c)
{
    struct plumb_map cleared = c->before.counts;
    raise_all(&c->forgotten, &c->before.most);
    plumb_map_clear(&cleared);
    c->before = c->recent;
    c->recent.counts = cleared;
    c->recent.most = (struct plumb_act_calls_most){0, 0, 0};
}

uint64_t plumb_act_calls_next(struct plumb_act_calls *c, uint64_t label, int64_t step)
{
    uint64_t key = key_of(label, step < 0 ? -1 : step);
    uint64_t n = plumb_map_get(&c->recent.counts, key);
    if (!n) {
        n = plumb_map_get(&c->before.counts, key);
        if (!n)
            n = of_forgotten(&c->forgotten, step);
        if (c->recent.counts.count == PLUMB_ACT_CALLS_PART)
            forget_before(c);
    }
    raise(&c->recent.most, step, n + 1);
    if (plumb_map_put(&c->recent.counts, key, n + 1) < 0) { /* no memory: forget all */
        forget_before(c);
        forget_before(c);
    }
    return n;
}

void plumb_act_calls_clear(struct plumb_act_calls *c)
{
    const struct plumb_act_calls_most none = {0, 0, 0};
    plumb_map_clear(&c->recent.counts);
    plumb_map_clear(&c->before.counts);
    c->recent.most = c->before.most = c->forgotten = none;
}
