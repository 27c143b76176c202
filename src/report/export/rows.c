/* rows.c: see rows.h. */
#include "report/export/rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/strings/strings.h"
#include "report/export/tracks.h"

static bool is_row(const struct plumb_table_track *l, bool only_slices)
{
    return l->slices.count || (!only_slices && (l->instants.count || l->counters.count));
}

static bool is_main(const struct plumb_table_track *l)
{
    return l->kind == PLUMB_TRACK_THREAD && l->has_pid && l->has_tid && l->pid == l->tid;
}

static void order(struct plumb_export_rows *rows, bool only_slices)
{
    const struct plumb_table_track *tracks = rows->t->tracks;
    for (int others = 0; others < 2; others++)
        for (uint32_t i = 0; i < rows->t->track_count; i++)
            if (is_row(&tracks[i], only_slices) && is_main(&tracks[i]) == !others)
                rows->tracks[rows->count++] = i;
}

/* The first row of a name is marked when the second one is met. */
static bool mark_shared(struct plumb_export_rows *rows)
{
    struct plumb_strings names = {.at = NULL};
    struct plumb_map first = {0}; /* number of a name: its first row + 1 */
    struct plumb_buf name = {0};
    bool done = true;
    for (uint32_t i = 0; done && i < rows->count; i++) {
        uint32_t track = rows->tracks[i];
        name.len = 0;
        plumb_table_put_track(&name, rows->t, track);
        const char *text = name.data ? name.data : "";
        uint64_t key = plumb_strings_put_key(&names, &text, 1);
        if (key == 0)
            break;
        uint64_t known = plumb_map_get(&first, key);
        if (known)
            rows->shared[known - 1] = rows->shared[track] = 1;
        else
            done = plumb_map_put(&first, key, (uint64_t)track + 1) >= 0;
    }
    done &= !name.failed && !names.text.failed;
    plumb_strings_fini(&names);
    plumb_map_fini(&first);
    plumb_buf_fini(&name);
    return done;
}

int plumb_export_rows_init(struct plumb_export_rows *out, const struct plumb_table *t,
                           bool only_slices, plumb_error *err)
{
    *out = (struct plumb_export_rows){.t = t};
    out->tracks = calloc((size_t)t->track_count + 1, sizeof *out->tracks);
    out->shared = calloc((size_t)t->track_count + 1, sizeof *out->shared);
    if (out->tracks && out->shared) {
        order(out, only_slices);
        if (mark_shared(out))
            return PLUMB_OK;
    }
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
}

void plumb_export_rows_fini(struct plumb_export_rows *rows)
{
    free(rows->tracks);
    free(rows->shared);
    *rows = (struct plumb_export_rows){.t = NULL};
}

void plumb_export_row_name(struct plumb_buf *out, const struct plumb_export_rows *rows,
                           uint32_t track)
{
    const struct plumb_table_track *l = &rows->t->tracks[track];
    plumb_table_put_track(out, rows->t, track);
    if (!rows->shared[track] || !l->name)
        return;
    if (l->kind == PLUMB_TRACK_THREAD && l->has_tid) {
        plumb_buf_printf(out, " (%" PRId64 ")", l->tid);
    } else if (l->kind == PLUMB_TRACK_DEVICE) {
        plumb_buf_str(out, " (");
        plumb_table_put_track(out, rows->t, plumb_export_device(rows->t, track));
        plumb_buf_char(out, ')');
    }
}
