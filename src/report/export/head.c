/* head.c: see head.h. */
#include "report/export/head.h"

#include <string.h>

#include "report/export/export.h"
#include "report/export/pool.h"

static bool has_text(const struct plumb_table *t, const char *text)
{
    return plumb_strings_find(&t->strings, text) != UINT32_MAX;
}

/* Finds out which kinds of data besides times were recorded, as far as the trace shows it. */
static void look_at_knobs(struct plumb_chrome_head *head, const struct plumb_table *t)
{
    struct plumb_export_pool pool;
    head->with_stack = has_text(t, "stack.0");
    head->with_flops = has_text(t, "flop_per_s");
    for (uint32_t i = 0; i < t->track_count; i++)
        head->profile_memory |= plumb_export_pool(t, i, &pool);
    for (uint32_t i = 0; i < t->strings.count; i++)
        head->record_shapes |= strncmp(plumb_table_text(t, i), "input.", 6) == 0;
}

void plumb_export_head_fill(struct plumb_export_head *out, const struct plumb_table *t,
                            const struct plumb_export_track *tracks, const char *name)
{
    struct plumb_table_rank rank = plumb_table_rank(t);
    struct plumb_chrome_head *head = &out->chrome;
    size_t most = sizeof out->devices / sizeof *out->devices;
    *head = (struct plumb_chrome_head){.base_unix_ns = t->unix_ns,
                                       .trace_name = name,
                                       .devices = out->devices,
                                       .rank = rank.rank,
                                       .world_size = rank.world_size,
                                       .backend = rank.backend};
    look_at_knobs(head, t);
    for (uint32_t i = 0; i < t->track_count && head->device_count < most; i++) {
        struct plumb_chrome_device *to = &out->devices[head->device_count];
        if (!tracks[i].device)
            continue;
        to->id = (int32_t)tracks[i].pid;
        to->name = plumb_table_text(t, t->tracks[plumb_export_device(t, i)].name);
        to->total_bytes = 0;
        /* Numbered as they come, and their queues may come in any order. */
        head->device_count += head->device_count == 0 || to->id > to[-1].id;
    }
}

const char *plumb_export_head_fact(const struct plumb_table *t, size_t i, const char **text)
{
    static const char *const told[] = {"plumb.version", "plumb.host", "plumb.program",
                                       "plumb.pipeline", "plumb.trace_end"};
    if (i >= sizeof told / sizeof *told)
        return NULL;
    *text = plumb_export_fact_text(t, told[i]);
    return told[i];
}
