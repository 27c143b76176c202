/* rows.c: see rows.h. */
#include "report/export/rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "report/export/lanes.h"

static bool is_row(const struct plumb_table_lane *l, bool only_slices)
{
    return l->slices.count || (!only_slices && (l->instants.count || l->counters.count));
}

static bool is_main(const struct plumb_table_lane *l)
{
    return l->kind == PLUMB_LANE_THREAD && l->has_pid && l->has_tid && l->pid == l->tid;
}

static void order(struct plumb_export_rows *rows, bool only_slices)
{
    const struct plumb_table_lane *lanes = rows->t->lanes;
    for (int others = 0; others < 2; others++)
        for (uint32_t i = 0; i < rows->t->lane_count; i++)
            if (is_row(&lanes[i], only_slices) && is_main(&lanes[i]) == !others)
                rows->lanes[rows->count++] = i;
}

/* The first row of a name is marked when the second one is met. */
static bool mark_shared(struct plumb_export_rows *rows)
{
    struct plumb_map first = {0};
    struct plumb_buf name = {0};
    bool done = true;
    for (uint32_t i = 0; done && i < rows->count; i++) {
        uint32_t lane = rows->lanes[i];
        name.len = 0;
        plumb_table_put_lane(&name, rows->t, lane);
        uint64_t key = plumb_hash_text(name.data ? name.data : "");
        uint64_t known = plumb_map_get(&first, key);
        if (known)
            rows->shared[known - 1] = rows->shared[lane] = 1;
        else
            done = plumb_map_put(&first, key, (uint64_t)lane + 1) >= 0;
    }
    done &= !name.failed;
    plumb_map_fini(&first);
    plumb_buf_fini(&name);
    return done;
}

int plumb_export_rows_init(struct plumb_export_rows *out, const struct plumb_table *t,
                           bool only_slices, plumb_error *err)
{
    *out = (struct plumb_export_rows){.t = t};
    out->lanes = calloc((size_t)t->lane_count + 1, sizeof *out->lanes);
    out->shared = calloc((size_t)t->lane_count + 1, sizeof *out->shared);
    if (out->lanes && out->shared) {
        order(out, only_slices);
        if (mark_shared(out))
            return PLUMB_OK;
    }
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
}

void plumb_export_rows_fini(struct plumb_export_rows *rows)
{
    free(rows->lanes);
    free(rows->shared);
    *rows = (struct plumb_export_rows){.t = NULL};
}

void plumb_export_row_name(struct plumb_buf *out, const struct plumb_export_rows *rows,
                           uint32_t lane)
{
    const struct plumb_table_lane *l = &rows->t->lanes[lane];
    plumb_table_put_lane(out, rows->t, lane);
    if (!rows->shared[lane] || !l->name)
        return;
    if (l->kind == PLUMB_LANE_THREAD && l->has_tid) {
        plumb_buf_printf(out, " (%" PRId64 ")", l->tid);
    } else if (l->kind == PLUMB_LANE_DEVICE) {
        plumb_buf_str(out, " (");
        plumb_table_put_lane(out, rows->t, plumb_export_device(rows->t, lane));
        plumb_buf_char(out, ')');
    }
}
