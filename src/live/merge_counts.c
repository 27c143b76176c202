/* merge_counts.c: see merge_parts.h. */
#include "live/merge_parts.h"

#include <string.h>

#include "base/stats/line.h"

/* Makes group `g` if it is missing. Returns false when out of memory. */
static bool group_make(struct plumb_merge *m, struct plumb_merge_channel *c, uint32_t g)
{
    if (c->wide && !c->group[g].wide)
        c->group[g].wide = plumb_arena_alloc(m->arena, PLUMB_GROUP * sizeof(uint64_t));
    else if (!c->wide && !c->group[g].narrow)
        c->group[g].narrow = plumb_arena_alloc(m->arena, PLUMB_GROUP * sizeof(uint32_t));
    return c->wide ? c->group[g].wide != NULL : c->group[g].narrow != NULL;
}

/* Widens the counts to 64 bits, because 32 may not be enough. */
static PLUMB_COLD void widen(struct plumb_merge *m, struct plumb_merge_channel *c)
{
    c->wide = true;
    for (uint32_t g = 0; g < PLUMB_GROUPS; g++) {
        const uint32_t *narrow = c->group[g].narrow;
        c->group[g].wide = NULL;
        if (narrow && group_make(m, c, g))
            for (uint32_t i = 0; i < PLUMB_GROUP; i++)
                c->group[g].wide[i] = narrow[i];
    }
}

static inline void widen_in_time(struct plumb_merge *m, struct plumb_merge_channel *c)
{
    if (!c->wide && c->stats.count > INT32_MAX)
        widen(m, c);
}

static void add_line(struct plumb_merge_channel *c, uint32_t line, const uint32_t *counts)
{
    union plumb_merge_group to = c->group[line / PLUMB_GROUP_LINES];
    uint32_t at = line % PLUMB_GROUP_LINES * PLUMB_SKETCH_LINE;
    if (c->wide)
        plumb_line_add_wide(&to.wide[at], counts);
    else
        plumb_line_add(&to.narrow[at], counts);
}

void plumb_counts_lines(struct plumb_merge *m, struct plumb_merge_channel *c,
                        const uint64_t lines[PLUMB_SKETCH_LINE_WORDS], const uint32_t *counts,
                        bool packed)
{
    widen_in_time(m, c);
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        for (uint64_t left = lines[w]; left; left &= left - 1) {
            uint32_t line = 64 * w + (uint32_t)__builtin_ctzll(left);
            /* Bits beyond the last line, which a damaged file may have, are ignored. */
            if (line >= PLUMB_SKETCH_LINES || !group_make(m, c, line / PLUMB_GROUP_LINES))
                return;
            add_line(c, line, packed ? counts : &counts[line * PLUMB_SKETCH_LINE]);
            counts += packed ? PLUMB_SKETCH_LINE : 0;
        }
    }
}

void plumb_counts_add(struct plumb_merge *m, struct plumb_merge_channel *c, uint32_t index,
                      uint64_t n)
{
    widen_in_time(m, c);
    if (!group_make(m, c, index / PLUMB_GROUP))
        return;
    if (c->wide)
        c->group[index / PLUMB_GROUP].wide[index % PLUMB_GROUP] += n;
    else
        c->group[index / PLUMB_GROUP].narrow[index % PLUMB_GROUP] += (uint32_t)n;
}
