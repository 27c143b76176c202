/* cell.c: the cells of a run: one for each kind, node, phase, step and name, in the mapping, so
 * that a killed process keeps them. An event is two atomic adds.
 *
 * A cell is found through an index in private memory, of fixed size, so that it never moves while
 * another thread reads it: entries are only added, under the runtime's lock. The number of cells is
 * bounded. A program with a million steps must not fill the mapping: the last quarter is kept for
 * cells without a step, and a step that finds no cell is counted in the one of no step. */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"

enum { SLOTS = PLUMB_CELL_SLOTS, CELLS = SLOTS / 2, STEP_CELLS = CELLS / 4 * 3 };

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_of(const struct plumb_count_event *e)
{
    uint64_t h = mix(plumb_hash_text(e->name), (uint64_t)e->kind << 32 | e->node);
    return mix(mix(h, e->group), (uint64_t)e->step);
}

static const char *text_at(struct plumb_run *run, uint64_t off)
{
    return PLUMB_AT(run, const char, off + sizeof(struct plumb_live_text));
}

static bool is_of(struct plumb_run *run, const struct plumb_live_cell *c,
                  const struct plumb_count_event *e)
{
    return c->kind == e->kind && c->node == e->node && c->group == e->group && c->step == e->step &&
           strcmp(text_at(run, c->name_off), e->name) == 0;
}

/* Returns the cell, or NULL; then `*free_slot` is where it belongs. */
static struct plumb_live_cell *find(struct plumb_run *run, const struct plumb_count_event *e,
                                    uint32_t **free_slot)
{
    uint32_t *slots = PLUMB_ACQUIRE(run->cell_slots);
    uint64_t at = slots ? hash_of(e) : 0;
    uint32_t index;
    *free_slot = NULL;
    while (slots && (index = PLUMB_ACQUIRE(slots[at % SLOTS])) != 0) {
        struct plumb_live_cell *c = plumb_table_at(run, &run->h->cells, index - 1);
        if (is_of(run, c, e))
            return c;
        at++;
    }
    if (slots)
        *free_slot = &slots[at % SLOTS];
    return NULL;
}

/* Under the lock. The name may have become "(other)", whose cell is there already. */
static struct plumb_live_cell *add_named(struct plumb_run *run, const struct plumb_count_event *e,
                                         uint64_t name_off)
{
    struct plumb_live_table *t = &run->h->cells;
    struct plumb_count_event named = *e;
    struct plumb_live_cell *c;
    uint32_t *slot;
    named.name = text_at(run, name_off);
    c = find(run, &named, &slot);
    if (c || !slot || t->count >= (e->step < 0 ? CELLS : STEP_CELLS) ||
        !(c = plumb_table_add(run, t)))
        return c;
    *c = (struct plumb_live_cell){
        .name_off = name_off, .kind = e->kind, .node = e->node, .group = e->group, .step = e->step};
    plumb_table_commit(t);
    PLUMB_RELEASE(*slot, t->count);
    return c;
}

static PLUMB_COLD struct plumb_live_cell *make(struct plumb_run *run,
                                               const struct plumb_count_event *e)
{
    struct plumb_live_cell *c = NULL;
    uint64_t name_off;
    int saved = errno;
    plumb_lock();
    if (!run->cell_slots)
        PLUMB_RELEASE(run->cell_slots, plumb_pages_map(SLOTS * sizeof *run->cell_slots));
    if ((name_off = plumb_text_name(run, e->name)) != 0)
        c = add_named(run, e, name_off);
    plumb_unlock();
    errno = saved;
    return c;
}

static struct plumb_live_cell *get(struct plumb_run *run, const struct plumb_count_event *e)
{
    uint32_t *slot;
    struct plumb_live_cell *c = find(run, e, &slot);
    return PLUMB_LIKELY(c != NULL) ? c : make(run, e);
}

static void add(struct plumb_live_cell *c, const struct plumb_count_event *e)
{
    PLUMB_ADD(c->calls, e->calls);
    PLUMB_ADD(c->value, e->value);
}

/* Returns the cell that was used, which may be the one of no step; NULL: dropped. */
static struct plumb_live_cell *find_and_add(struct plumb_run *run,
                                            const struct plumb_count_event *e)
{
    struct plumb_count_event where = *e;
    struct plumb_live_cell *c;
    where.step = e->step < 0 ? -1 : e->step;
    c = get(run, &where);
    if (!c && where.step >= 0) {
        PLUMB_ADD(run->h->cells_lost, e->calls);
        where.step = -1;
        c = get(run, &where);
    }
    if (!c) {
        plumb_drop(run, PLUMB_DROP_NODES);
        return NULL;
    }
    add(c, e);
    return c;
}

void plumb_cell_add(struct plumb_run *run, const struct plumb_count_event *e)
{
    find_and_add(run, e);
}

/* The generation is stored after the figures of the last one are gone: a reader, also of a killed
 * process, drops them until then. */
static void begin_again(struct plumb_live_cell *c, uint32_t generation)
{
    PLUMB_STORE(c->value, 0);
    PLUMB_STORE(c->calls, 0);
    PLUMB_RELEASE(c->reset_generation, generation);
}

void plumb_cell_add_of_stage(struct plumb_run *run, const struct plumb_count_event *e)
{
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, e->group);
    uint32_t generation = PLUMB_LOAD(p->reset_generation);
    struct plumb_live_cell *c = get(run, e);
    if (!c) {
        PLUMB_ADD(run->h->cells_lost, e->calls);
        return;
    }
    if (c->reset_generation != generation)
        begin_again(c, generation);
    PLUMB_ADD(c->calls, e->calls);
    if (e->kind != PLUMB_COUNT_PEAK_BYTES)
        PLUMB_ADD(c->value, e->value);
    else if (e->value > c->value)
        PLUMB_STORE(c->value, e->value);
}

bool plumb_cell_add_recent(struct plumb_run *run, const struct plumb_count_event *e,
                           struct plumb_count_recent *recent)
{
    int64_t step = e->step < 0 ? -1 : e->step;
    struct plumb_live_cell *c =
        recent && recent->generation == run->generation ? recent->cell : NULL;
    if (PLUMB_LIKELY(c != NULL) && c->node == e->node && c->group == e->group && c->step == step) {
        add(c, e);
        return true;
    }
    c = find_and_add(run, e);
    if (recent) {
        if (recent->generation != run->generation)
            recent->count = NULL;
        recent->generation = run->generation;
        recent->cell = c;
    }
    return c != NULL;
}
