/* slowest.c: `plumb report slowest NODE`: each of the longest runs with what ran inside. */
#include <inttypes.h>

#include "report/table/escape.h"
#include "report/trace/parts.h"
#include "summary/cells.h"

enum { INSIDE_SHOWN = 8 };

static void put_name(struct plumb_buf *out, const char *name, bool md)
{
    if (md)
        plumb_put_md(out, name);
    else
        plumb_put_left(out, name, 0);
}

static void put_share(struct plumb_buf *out, uint64_t part_ns, uint64_t whole_ns)
{
    plumb_put_fixed(out, (double)part_ns / 1e3, 1, 14);
    plumb_buf_str(out, " us");
    plumb_put_fixed(out, whole_ns ? 100 * (double)part_ns / (double)whole_ns : 0, 1, 7);
    plumb_buf_str(out, " %  ");
}

static void put_line(struct plumb_buf *out, bool md, uint64_t part_ns, uint64_t whole_ns,
                     const char *name, uint64_t count)
{
    plumb_buf_str(out, md ? "\n- " : "\n  ");
    put_share(out, part_ns, whole_ns);
    put_name(out, name, md);
    if (count > 1)
        plumb_buf_printf(out, " (%" PRIu64 " runs)", count);
}

static void put_inside(struct plumb_buf *out, const struct plumb_trace_sight *s, uint32_t slice,
                       bool md)
{
    struct plumb_inside inside[PLUMB_INSIDE_MAX], rest;
    uint64_t self_ns, whole_ns = s->t->slices.dur_ns[slice];
    size_t n = plumb_slice_inside(s->t, slice, inside, &rest, &self_ns);
    for (size_t i = 0; i < n; i++)
        if (i < INSIDE_SHOWN) {
            put_line(out, md, inside[i].total_ns, whole_ns, plumb_table_text(s->t, inside[i].name),
                     inside[i].count);
        } else {
            rest.count += inside[i].count;
            rest.total_ns += inside[i].total_ns;
        }
    if (rest.count > 0)
        put_line(out, md, rest.total_ns, whole_ns, "(others)", rest.count);
    if (n > 0)
        put_line(out, md, self_ns, whole_ns, "(itself)", 1);
}

static void put_one(struct plumb_buf *out, const struct plumb_trace_sight *s, size_t i, bool md)
{
    uint32_t slice = s->slowest[i];
    const struct plumb_table_slices *slices = &s->t->slices;
    const char *args = plumb_trace_args_text(s, slice);
    plumb_buf_printf(out, md ? "\n\n%zu. **" : "\n\n%3zu.  ", i + 1);
    plumb_put_fixed(out, (double)slices->dur_ns[slice] / 1e3, 1, 0);
    plumb_buf_str(out, md ? " us** at " : " us at ");
    plumb_put_fixed(out, (double)slices->ts_ns[slice] / 1e6, 3, 0);
    plumb_buf_str(out, " ms on ");
    put_name(out, plumb_trace_track_name(s, slices->track[slice]), md);
    if (slices->parent[slice] != PLUMB_TABLE_NONE) {
        plumb_buf_str(out, ", inside ");
        put_name(out, plumb_table_text(s->t, slices->name[slices->parent[slice]]), md);
    }
    if (args) {
        plumb_buf_str(out, ", ");
        put_name(out, args, md);
    }
    if (md)
        plumb_buf_char(out, '\n');
    put_inside(out, s, slice, md);
}

void plumb_trace_put_slowest(struct plumb_buf *out, const struct plumb_trace_sight *s, bool md)
{
    plumb_buf_str(out, md ? "### Slowest runs of " : "Slowest runs of ");
    put_name(out, s->view->node, md);
    plumb_buf_printf(out, ", %zu of %" PRIu64, s->slowest_count, s->slowest_of);
    for (size_t i = 0; i < s->slowest_count; i++)
        put_one(out, s, i, md);
}
