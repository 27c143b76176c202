/* pool.c: see pool.h. */
#include "report/export/pool.h"

#include <stdlib.h>
#include <string.h>

static const char begin[] = "memory ", end[] = " allocated", other_end[] = " reserved";

static int type_of(const char *device, size_t n)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"cpu", 0}, {"cuda", 1}, {"hip", 6}, {"rocm", 6}, {"xpu", 12}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n && memcmp(types[i].name, device, n) == 0)
            return types[i].type;
    return -1;
}

static uint32_t reserved_of(const struct plumb_table *t, uint32_t track, const char *name, size_t n)
{
    for (uint32_t i = 0; i < t->track_count; i++) {
        const char *other = plumb_table_text(t, t->tracks[i].name);
        if (t->tracks[i].kind == PLUMB_TRACK_COUNTER &&
            t->tracks[i].process == t->tracks[track].process && t->tracks[i].whole &&
            strncmp(other, name, n) == 0 && strcmp(other + n, other_end) == 0)
            return i;
    }
    return PLUMB_TABLE_NONE;
}

bool plumb_export_pool(const struct plumb_table *t, uint32_t track, struct plumb_export_pool *out)
{
    const struct plumb_table_track *l = &t->tracks[track];
    const char *name = plumb_table_text(t, l->name), *device;
    size_t n = strlen(name), type_bytes;
    if (!t->plumb || l->kind != PLUMB_TRACK_COUNTER || !l->whole ||
        n < sizeof begin + sizeof end - 2 || memcmp(name, begin, sizeof begin - 1) != 0 ||
        strcmp(name + n - (sizeof end - 1), end) != 0)
        return false;
    device = name + sizeof begin - 1;
    type_bytes = strcspn(device, ": ");
    out->type = type_of(device, type_bytes);
    out->device = device[type_bytes] == ':' ? strtoll(device + type_bytes + 1, NULL, 10) : -1;
    out->reserved = reserved_of(t, track, name, n - (sizeof end - 1));
    return true;
}
