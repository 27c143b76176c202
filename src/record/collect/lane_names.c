/* lane_names.c: see lane_names.h. */
#include "record/collect/lane_names.h"

#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "record/collect/collector.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"

enum { NAMES_MAX = 65535, NAME_OTHER = 1 };

/* Under the runtime's lock. Texts live as long as the process. */
static struct {
    const char **text; /* [NAMES_MAX + 1], by number */
    uint32_t count;    /* released */
    struct plumb_map of;
    plumb_name bytes, flops; /* of these words; 0: no event has it */
} names;

static bool names_ready(void)
{
    if (names.text)
        return true;
    names.text = plumb_pages_map((NAMES_MAX + 1) * sizeof *names.text);
    if (!names.text)
        return false;
    names.text[NAME_OTHER] = "(other)";
    PLUMB_RELEASE(names.count, NAME_OTHER + 1);
    return true;
}

plumb_name plumb_name_get_impl(const char *text)
{
    const char *given = text ? text : "";
    uint64_t hash = plumb_hash_text(given), known;
    plumb_name name = NAME_OTHER;
    if (plumb_may_lock("plumb_name_get", NULL) < 0)
        return name;
    plumb_lock();
    if (names_ready()) {
        /* Two texts of one hash: the next number. */
        while ((known = plumb_map_get(&names.of, hash)) && strcmp(names.text[known], given) != 0)
            hash = hash + 1 ? hash + 1 : 1;
        if (known) {
            name = (plumb_name)known;
        } else if (names.count <= NAMES_MAX && (names.text[names.count] = plumb_keep_text(given)) &&
                   plumb_map_put(&names.of, hash, names.count) == PLUMB_OK) {
            name = names.count;
            PLUMB_RELEASE(names.count, names.count + 1);
            if (strcmp(given, "bytes") == 0)
                PLUMB_STORE(names.bytes, name);
            if (strcmp(given, "flops") == 0)
                PLUMB_STORE(names.flops, name);
        }
    }
    plumb_unlock();
    return name;
}

/* Writes the name to the mapping, whose table ends at the highest number that the run has used. */
static void record_name(struct plumb_run *run, plumb_name name)
{
    struct plumb_live_table *t = &run->h->lane_names;
    struct plumb_live_lane_name *n;
    plumb_lock();
    while (t->count <= name && (n = plumb_table_add(run, t)) != NULL) {
        n->text_off = 0;
        plumb_table_commit(t);
    }
    n = name < t->count ? plumb_table_at(run, t, name) : NULL;
    if (n && !n->text_off)
        PLUMB_RELEASE(n->text_off, plumb_carve_text(run, names.text[name]));
    plumb_unlock();
}

plumb_name plumb_lane_name(struct plumb_run *run, plumb_name name)
{
    const struct plumb_live_lane_name *n;
    if (!name || name >= PLUMB_ACQUIRE(names.count))
        return 0;
    n = name < PLUMB_ACQUIRE(run->h->lane_names.count)
            ? plumb_table_at(run, &run->h->lane_names, name)
            : NULL;
    if (!n || !PLUMB_ACQUIRE(n->text_off))
        record_name(run, name);
    return name;
}

plumb_name plumb_lane_name_bytes(void)
{
    return PLUMB_LOAD(names.bytes);
}

plumb_name plumb_lane_name_flops(void)
{
    return PLUMB_LOAD(names.flops);
}
