/* tally.c: what each thread has counted, and what it had counted when its open spans began.
 *
 * The span path knows nothing of this. A span's level is written at the first count inside it: up
 * to then nothing has been counted since it began, so the sums of that moment are those of its
 * begin. A span that counts nothing has no level. The sums of a process are those of its threads,
 * which need no atomic addition: each is written by one thread. */
#include "record/count/tally.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "record/runtime/lock.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* For the life of the process. Written under the runtime's lock, read without it. */
static struct {
    struct {
        uint64_t hash;
        uint32_t kind;
        const char *text;
    } of[PLUMB_COUNTED_NAMES];
    uint32_t count; /* released */
} names;

static bool has_names(uint32_t kind)
{
    return kind == PLUMB_COUNT_DISPATCHES || kind == PLUMB_COUNT_USER;
}

static int find(uint32_t kind, const char *name, uint64_t hash)
{
    uint32_t n = PLUMB_ACQUIRE(names.count);
    for (uint32_t i = 0; i < n; i++)
        if (names.of[i].hash == hash && names.of[i].kind == kind &&
            strcmp(names.of[i].text, name) == 0)
            return (int)i;
    return -1;
}

int plumb_tally_find(uint32_t kind, const char *name)
{
    return has_names(kind) ? find(kind, name, plumb_hash_text(name)) : -1;
}

uint32_t plumb_tally_names(void)
{
    return PLUMB_ACQUIRE(names.count);
}

static PLUMB_COLD int add_name(uint32_t kind, const char *name, uint64_t hash)
{
    int i;
    plumb_lock();
    i = find(kind, name, hash);
    if (i < 0 && names.count < PLUMB_COUNTED_NAMES) {
        const char *text = plumb_keep_text(name);
        if (text) {
            i = (int)names.count;
            names.of[i].hash = hash;
            names.of[i].kind = kind;
            names.of[i].text = text;
            PLUMB_RELEASE(names.count, names.count + 1);
        }
    }
    plumb_unlock();
    return i;
}

static int name_of(uint32_t kind, const char *name)
{
    uint64_t hash;
    int i;
    hash = plumb_hash_text(name);
    i = find(kind, name, hash);
    return i < 0 && plumb_tally_names() < PLUMB_COUNTED_NAMES ? add_name(kind, name, hash) : i;
}

/* Names are mostly literals, so the address finds the place without a hash of the text. */
static struct plumb_count_recent *recent_of(struct plumb_tally *t, uint32_t kind, const char *name)
{
    uintptr_t at = (uintptr_t)name;
    struct plumb_count_recent *r = &t->recent[(at ^ at >> 3 ^ at >> 6) % PLUMB_TALLY_RECENT];
    int i;
    if (!has_names(kind))
        return NULL;
    if (PLUMB_LIKELY(r->sum != 0) && names.of[r->sum - 1].kind == kind &&
        strcmp(names.of[r->sum - 1].text, name) == 0)
        return r;
    i = name_of(kind, name);
    *r = (struct plumb_count_recent){.sum = (uint32_t)(i + 1)};
    return i < 0 ? NULL : r;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

struct plumb_tally *plumb_tally_of(struct plumb_thread *th)
{
    struct plumb_tally *t = th->tally;
    int saved = errno;
    if (PLUMB_LIKELY(t != NULL))
        return t;
    t = plumb_pages_map(sizeof *t);
    PLUMB_RELEASE(th->tally, t);
    errno = saved;
    return t;
}

static void copy_sums(struct plumb_tally_sums *to, const struct plumb_tally_sums *from)
{
    memcpy(to->kind, from->kind, sizeof to->kind);
    memcpy(to->name, from->name, plumb_tally_names() * sizeof *to->name);
}

static bool is_level_of(const struct plumb_tally *t, struct plumb_thread *th, uint32_t depth)
{
    return t->generation == th->generation && t->level[depth].handle == th->open[depth] &&
           t->level[depth].began == plumb_ring_began(th, depth);
}

/* Allocations of the thread that no tally has yet: they were made where the levels are settled. */
static void pull(struct plumb_tally *t, struct plumb_thread *th)
{
    struct plumb_sized *s = &th->sized;
    uint64_t allocs = s->now.sum.allocs - s->tallied.allocs;
    uint64_t bytes = s->now.sum.alloc_bytes - s->tallied.alloc_bytes;
    PLUMB_BUMP(t->now.kind[PLUMB_COUNT_ALLOCATIONS], allocs);
    PLUMB_BUMP(t->now.kind[PLUMB_COUNT_ALLOCATED_BYTES], bytes);
    s->tallied = s->now.sum;
}

void plumb_tally_pull(struct plumb_thread *th)
{
    if (th->tally)
        pull(th->tally, th);
}

/* Spans that have a level are around those that have none. */
static PLUMB_COLD void settle(struct plumb_tally *t, struct plumb_thread *th)
{
    uint32_t depth = plumb_depth(th), d;
    if (depth > PLUMB_TALLY_LEVELS)
        depth = PLUMB_TALLY_LEVELS;
    pull(t, th);
    d = depth;
    while (d && !is_level_of(t, th, d))
        d--;
    while (d++ < depth) {
        t->level[d].handle = th->open[d];
        t->level[d].began = plumb_ring_began(th, d);
        copy_sums(&t->level[d].before, &t->now);
    }
    t->generation = th->generation;
    t->head = th->head;
    t->base = th->base;
}

void plumb_tally_settle(struct plumb_thread *th)
{
    struct plumb_tally *t = plumb_tally_of(th);
    if (t && (t->head != th->head || t->base != th->base || t->generation != th->generation))
        settle(t, th);
}

struct plumb_count_recent *plumb_tally_add(struct plumb_thread *th,
                                           const struct plumb_count_event *e)
{
    bool pair = e->kind == PLUMB_COUNT_COPIES || e->kind == PLUMB_COUNT_ALLOCATIONS;
    struct plumb_count_recent *recent;
    struct plumb_tally *t;
    plumb_tally_settle(th);
    if (!(t = th->tally))
        return NULL;
    PLUMB_BUMP(t->now.kind[e->kind], pair ? e->calls : (uint64_t)e->value);
    if (pair)
        PLUMB_BUMP(t->now.kind[e->kind + 1], (uint64_t)e->value);
    if ((recent = recent_of(t, e->kind, e->name)) != NULL)
        PLUMB_BUMP(t->now.name[recent->sum - 1], (uint64_t)e->value);
    return recent;
}
