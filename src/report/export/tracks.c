/* tracks.c: see tracks.h. */
#include "report/export/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

uint32_t plumb_export_device(const struct plumb_table *t, uint32_t track)
{
    uint32_t parent;
    while ((parent = plumb_table_group(t, track)) != PLUMB_TABLE_NONE)
        track = parent;
    return track;
}

/* The whole number at the end of a text; -1: none. */
static int64_t number_at_end(const char *text)
{
    size_t n = strlen(text), from = n;
    while (from > 0 && text[from - 1] >= '0' && text[from - 1] <= '9')
        from--;
    return from < n && n - from < 10 ? strtoll(text + from, NULL, 10) : -1;
}

/* Spans of a queue that overlap others go on tracks of their own, "<queue> 2", "<queue> 3", ... */
static bool is_overflow(const struct plumb_table *t, uint32_t track)
{
    uint32_t parent = plumb_table_group(t, track);
    const char *name = plumb_table_text(t, t->tracks[track].name);
    const char *queue =
        parent == PLUMB_TABLE_NONE ? "" : plumb_table_text(t, t->tracks[parent].name);
    size_t n = strlen(queue);
    return n > 0 && strncmp(name, queue, n) == 0 && name[n] == ' ' &&
           name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0';
}

static bool is_process(const struct plumb_table *t, int64_t pid)
{
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].has_pid && t->tracks[i].pid == pid)
            return true;
    return false;
}

static int64_t device_pid(const struct plumb_table *t, struct plumb_map *devices, uint32_t track,
                          int64_t *next)
{
    uint64_t key = plumb_export_device(t, track) + 1, known = plumb_map_get(devices, key);
    if (known)
        return (int64_t)known - 1;
    while (is_process(t, *next))
        ++*next;
    plumb_map_put(devices, key, (uint64_t)*next + 1);
    return (*next)++;
}

static bool taken(struct plumb_map *pairs, const struct plumb_export_track *l)
{
    uint64_t key = (uint64_t)l->pid * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)l->tid;
    key += key == 0;
    if (plumb_map_get(pairs, key))
        return true;
    plumb_map_put(pairs, key, 1);
    return false;
}

struct plumb_export_track *plumb_export_tracks(const struct plumb_table *t)
{
    struct plumb_map devices = {0}, pairs = {0};
    struct plumb_export_track *tracks = calloc(t->track_count + 1, sizeof *tracks);
    int64_t next_device = 0;
    for (uint32_t i = 0; tracks && i < t->track_count; i++) {
        const struct plumb_table_track *from = &t->tracks[i];
        struct plumb_export_track *to = &tracks[i];
        bool own = false;
        to->pid = from->has_pid ? from->pid : 0;
        to->tid = PLUMB_EXPORT_OWN_TID + (int64_t)i;
        if (from->kind == PLUMB_TRACK_THREAD && from->has_tid) {
            own = true;
            to->tid = from->tid;
        } else if (from->kind == PLUMB_TRACK_DEVICE) {
            int64_t number = number_at_end(plumb_table_text(t, from->name));
            to->device = true;
            to->pid = device_pid(t, &devices, i, &next_device);
            own = number >= 0 && !is_overflow(t, i);
            to->tid = own ? number : to->tid;
        }
        if (own && taken(&pairs, to))
            to->tid = PLUMB_EXPORT_OWN_TID + (int64_t)i;
    }
    plumb_map_fini(&devices);
    plumb_map_fini(&pairs);
    return tracks;
}
