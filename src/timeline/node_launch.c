/* node_launch.c: see node_launch.h. A child that is forked between any two stores unmaps the
 * arrays, so each pointer is set last. */
#include "timeline/node_launch.h"

#include <string.h>

#include "base/atomic.h"
#include "base/pages.h"

struct plumb_launch_entry {
    uint64_t flow;
    uint32_t set;   /* if `known` */
    uint32_t first; /* waiting work: index + 1; 0: none */
    bool known;
};
struct plumb_launch_waiting {
    struct plumb_lane_work work;
    uint32_t next;
};

uint32_t plumb_launch_set(struct plumb_launches *l, uint32_t file, uint32_t rest)
{
    uint64_t key = ((uint64_t)file + 1) << 32 | rest, known = plumb_map_get(&l->set_of, key);
    if (known)
        return (uint32_t)known;
    if (!l->sets)
        PLUMB_RELEASE(l->sets, plumb_pages_map(PLUMB_LAUNCH_SETS * sizeof *l->sets));
    if (!l->sets || l->set_count + 1 >= PLUMB_LAUNCH_SETS ||
        plumb_map_put(&l->set_of, key, l->set_count + 1) < 0)
        return rest;
    l->sets[++l->set_count] = (struct plumb_launch_set){file, rest};
    return l->set_count;
}

static void lose_waiting(struct plumb_launches *l, struct plumb_launch_entry *e)
{
    while (e->first) {
        struct plumb_launch_waiting *w = &l->waiting[e->first - 1];
        uint32_t next = w->next;
        w->next = l->free;
        l->free = e->first;
        e->first = next;
        l->lost++;
    }
}

/* The entry of a launch, without what an older launch left there. NULL: there is no memory. An
 * older one than the entry's is too far away. */
static struct plumb_launch_entry *entry_of(struct plumb_launches *l, uint64_t flow)
{
    struct plumb_launch_entry *e;
    if (!l->entries)
        PLUMB_RELEASE(l->entries, plumb_pages_map(PLUMB_LAUNCHES * sizeof *l->entries));
    if (!l->entries)
        return NULL;
    e = &l->entries[flow % PLUMB_LAUNCHES];
    if (e->flow == flow)
        return e;
    if (e->flow > flow)
        return NULL;
    lose_waiting(l, e);
    *e = (struct plumb_launch_entry){.flow = flow};
    return e;
}

void plumb_launch_known(struct plumb_launches *l, uint64_t flow, uint32_t set, plumb_launch_fn *fn,
                        void *arg)
{
    struct plumb_launch_entry *e = entry_of(l, flow);
    uint64_t lost = l->lost;
    if (!e)
        return;
    e->set = set;
    e->known = true;
    for (uint32_t i = e->first; i; i = l->waiting[i - 1].next)
        fn(arg, &l->waiting[i - 1].work, set);
    lose_waiting(l, e);
    l->lost = lost; /* they were passed on */
}

static bool wait_for(struct plumb_launches *l, struct plumb_launch_entry *e,
                     const struct plumb_lane_work *work)
{
    uint32_t i = l->free;
    if (!l->waiting)
        PLUMB_RELEASE(l->waiting, plumb_pages_map(PLUMB_LAUNCH_WAITING * sizeof *l->waiting));
    if (!l->waiting || (!i && l->waiting_count == PLUMB_LAUNCH_WAITING))
        return false;
    if (i)
        l->free = l->waiting[i - 1].next;
    else
        i = ++l->waiting_count;
    l->waiting[i - 1] = (struct plumb_launch_waiting){*work, e->first};
    e->first = i;
    return true;
}

void plumb_launch_work(struct plumb_launches *l, const struct plumb_lane_work *work,
                       plumb_launch_fn *fn, void *arg)
{
    struct plumb_launch_entry *e = entry_of(l, work->flow);
    if (e && e->known)
        fn(arg, work, e->set);
    else if (!e || !wait_for(l, e, work))
        l->lost++;
}

uint64_t plumb_launches_lost(const struct plumb_launches *l)
{
    uint64_t lost = l->lost;
    for (uint32_t i = 0; l->waiting && i < PLUMB_LAUNCHES; i++)
        for (uint32_t w = l->entries[i].first; w; w = l->waiting[w - 1].next)
            lost++;
    return lost;
}

void plumb_launches_fini(struct plumb_launches *l)
{
    plumb_map_fini(&l->set_of);
    if (l->sets)
        plumb_pages_unmap(l->sets, PLUMB_LAUNCH_SETS * sizeof *l->sets);
    if (l->entries)
        plumb_pages_unmap(l->entries, PLUMB_LAUNCHES * sizeof *l->entries);
    if (l->waiting)
        plumb_pages_unmap(l->waiting, PLUMB_LAUNCH_WAITING * sizeof *l->waiting);
    memset(l, 0, sizeof *l);
}
