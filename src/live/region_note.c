/* region_note.c: see region.h. */
#include <inttypes.h>

#include "base/buf.h"
#include "live/layout.h"
#include "live/merge.h"
#include "model/timing.h"

void plumb_live_regions_note(struct plumb_timing *t, const struct plumb_merge *m)
{
    const struct plumb_live_header *h = m->view.h;
    struct plumb_buf names = {0};
    uint64_t entered = 0;
    for (uint32_t i = 0; i < h->region.count && i < PLUMB_REGIONS_MAX; i++) {
        const struct plumb_live_region *r = plumb_live_element(&m->view, &h->region, i, sizeof *r);
        if (!r || !r->selected)
            continue;
        entered += r->entered;
        if (!r->entered)
            plumb_buf_printf(&names, "%s'%s'", names.len ? ", " : "",
                             plumb_live_text(&m->view, r->name_off));
    }
    /* A user who selects every region does not expect each of them. */
    if (h->regions.selection == PLUMB_SELECT_REGIONS && names.len && !names.failed &&
        !(h->regions.all && entered))
        plumb_timing_note(t, plumb_arena_printf(&t->arena,
                                                "selected by PLUMB_REGIONS and never entered: %s%s",
                                                h->regions.all ? "any region" : names.data,
                                                entered ? "" : "; the trace holds no work"));
    if (h->regions.left_out)
        plumb_timing_note(t, plumb_arena_printf(&t->arena,
                                                "%" PRIu64
                                                " spans of other threads ran while a selected "
                                                "region was open, and are not in the trace "
                                                "(PLUMB_REGION_SCOPE=process keeps them)",
                                                h->regions.left_out));
    plumb_buf_fini(&names);
}
