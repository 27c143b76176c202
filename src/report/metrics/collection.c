#include "report/metrics/collection.h"

#include <string.h>

void plumb_collection_init(struct plumb_collection *c, uint32_t per_octave)
{
    *c = (struct plumb_collection){.per_octave = per_octave};
}

void plumb_collection_fini(struct plumb_collection *c)
{
    plumb_arena_fini(&c->arena);
    plumb_map_fini(&c->by_name);
}

static struct plumb_metric_set *find(struct plumb_collection *c, uint64_t *key, uint32_t type,
                                     const char *name, bool ours)
{
    uint64_t at;
    *key = plumb_hash_text(name) ^ (uint64_t)(2 * type + ours) * UINT64_C(0x9e3779b97f4a7c15);
    for (*key += *key == 0; (at = plumb_map_get(&c->by_name, *key)) != 0;
         *key += 1 + (*key == UINT64_MAX)) {
        struct plumb_metric_set *s = &c->sets[at - 1];
        if (s->type == type && s->ours == ours && strcmp(s->raw, name) == 0)
            return s;
    }
    return NULL;
}

static struct plumb_metric_set *make(struct plumb_collection *c, uint64_t key, uint32_t type,
                                     const char *name, const char *help, bool ours)
{
    struct plumb_metric_set *grown =
        plumb_arena_grow(&c->arena, c->sets, &c->cap, c->count + 1, sizeof *grown);
    if (!grown || plumb_map_put(&c->by_name, key, c->count + 1) < 0)
        return NULL;
    c->sets = grown;
    memset(&grown[c->count], 0, sizeof *grown);
    grown[c->count].raw = plumb_arena_strdup(&c->arena, name);
    grown[c->count].help = plumb_arena_strdup(&c->arena, help);
    grown[c->count].type = type;
    grown[c->count].ours = ours;
    return &grown[c->count++];
}

struct plumb_timing_metric *plumb_collection_add(struct plumb_collection *c, uint32_t type,
                                                 const char *name, const char *help,
                                                 const char *labels, bool ours)
{
    uint64_t key;
    struct plumb_metric_set *s = find(c, &key, type, name, ours);
    struct plumb_timing_metric *grown;
    if (!s && !(s = make(c, key, type, name, help, ours)))
        return NULL;
    grown = plumb_arena_grow(&c->arena, s->series, &s->cap, s->count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    s->series = grown;
    memset(&grown[s->count], 0, sizeof *grown);
    grown[s->count].name = s->raw;
    grown[s->count].type = type;
    grown[s->count].labels = plumb_arena_strdup(&c->arena, labels);
    return grown[s->count].labels ? &grown[s->count++] : NULL;
}
