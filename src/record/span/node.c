/* node.c: numbers of named nodes, given once for the life of the process.
 *
 * Looking a name up takes no lock: the index is insert-only, published with release stores, and
 * replaced as a whole when it grows (the old one stays: a reader may still be in it). Inserting
 * takes the runtime's lock. Numbers survive runs; a new run gets a copy of every name. */
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/names.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/span/pipeline.h"

/* The name that counts runs of names beyond a bound. */
#define OTHER "(other)"

static bool same(const struct plumb_node_entry *e, uint64_t hash, const char *name)
{
    return e->hash == hash && strcmp(e->name, name) == 0;
}

static plumb_node find(const char *name, uint64_t hash)
{
    uint32_t *index = PLUMB_ACQUIRE(plumb_rt.node_index);
    uint32_t mask = index ? index[0] - 1 : 0;
    if (!index)
        return 0;
    for (uint32_t i = (uint32_t)(hash >> 20) & mask;; i = (i + 1) & mask) {
        uint32_t id = PLUMB_ACQUIRE(index[1 + i]);
        if (!id)
            return 0;
        if (same(plumb_node_at(id), hash, name))
            return id;
    }
}

static void index_put(uint32_t *index, uint64_t hash, uint32_t id)
{
    uint32_t mask = index[0] - 1, i = (uint32_t)(hash >> 20) & mask;
    while (index[1 + i])
        i = (i + 1) & mask;
    PLUMB_RELEASE(index[1 + i], id);
}

static bool index_grow(void)
{
    uint32_t cap = plumb_rt.node_index_cap ? plumb_rt.node_index_cap * 2 : 1024;
    uint32_t *index = plumb_pages_map((cap + 1) * sizeof *index);
    if (!index)
        return false;
    index[0] = cap;
    for (uint32_t id = 1; id < plumb_rt.node_count; id++)
        index_put(index, plumb_node_at(id)->hash, id);
    plumb_rt.node_index_cap = cap;
    PLUMB_RELEASE(plumb_rt.node_index, index);
    return true;
}

static bool publish_site(struct plumb_run *run, struct plumb_live_node *n, const char *file,
                         uint32_t line)
{
    uint64_t off = plumb_carve(run, sizeof(struct plumb_live_site));
    struct plumb_live_site *s;
    if (!off)
        return false;
    s = PLUMB_AT(run, struct plumb_live_site, off);
    s->file_off = plumb_carve_text(run, file ? file : "");
    s->line = line;
    s->next_off = n->site_off;
    PLUMB_RELEASE(n->site_off, off);
    return true;
}

/* Carves the name of a node. In a full mapping it may use the reserve of "(other)"; if that is used
 * up too, "(other)" is the node's name. */
static uint64_t publish_name(struct plumb_run *run, const char *name)
{
    size_t reserve = run->reserve;
    uint64_t off = plumb_carve_text(run, name);
    if (off)
        return off;
    run->reserve = reserve / 2;
    off = plumb_carve_text(run, name);
    run->reserve = reserve;
    return off ? off : plumb_carve_text(run, OTHER);
}

/* Writes node `id` (== the table's count) to the run. */
static void publish(struct plumb_run *run, uint32_t id)
{
    struct plumb_live_node *n = plumb_table_add(run, &run->h->nodes);
    if (!n)
        return;
    n->name_off = publish_name(run, plumb_node_at(id)->name);
    n->flags = plumb_node_at(id)->flags;
    n->site_off = 0;
    for (const struct plumb_site *s = plumb_node_at(id)->sites; s; s = s->next)
        publish_site(run, n, s->file, s->line);
    plumb_table_commit(&run->h->nodes);
}

void plumb_nodes_publish(struct plumb_run *run)
{
    for (uint32_t id = run->h->nodes.count; id < plumb_rt.node_count; id++)
        publish(run, id);
    for (uint32_t i = run->h->phases.count; i < plumb_rt.phases.count; i++) {
        struct plumb_live_name *n = plumb_table_add(run, &run->h->phases);
        if (!n)
            return;
        n->name_off = plumb_carve_text(run, plumb_rt.phases.name[i]);
        plumb_table_commit(&run->h->phases);
    }
    for (uint32_t i = run->h->pipelines.count; i < plumb_rt.pipeline_count; i++) {
        struct plumb_live_pipeline *p = plumb_table_add(run, &run->h->pipelines);
        if (!p)
            return;
        memset(p, 0, sizeof *p);
        p->name_off = plumb_carve_text(run, plumb_rt.pipelines[i].name);
        p->skip[0].n = plumb_rt.pipelines[i].skip_first_n;
        p->skips = 1;
        plumb_pipeline_flags(p, &plumb_rt.pipelines[i]);
        plumb_table_commit(&run->h->pipelines);
    }
}

static void publish_now(void)
{
    if (plumb_rt.run)
        plumb_nodes_publish(plumb_rt.run);
}

/* Nodes are read by number without the lock, so their entries never move. */
static bool chunk_ready(uint32_t id)
{
    struct plumb_node_entry **chunk = &plumb_rt.nodes[id >> PLUMB_NODE_CHUNK_BITS];
    if (!*chunk)
        PLUMB_RELEASE(*chunk, plumb_pages_map(sizeof **chunk << PLUMB_NODE_CHUNK_BITS));
    return *chunk != NULL;
}

static plumb_node insert(const char *name, uint64_t hash)
{
    uint32_t id = plumb_rt.node_count;
    char *kept;
    if (!id) { /* 0 is not a node */
        plumb_rt.nodes_refused = !chunk_ready(0) || !index_grow();
        if (plumb_rt.nodes_refused)
            return 0;
        id = 1;
        PLUMB_RELEASE(plumb_rt.node_count, id);
    }
    if (id > plumb_rt.settings.max_nodes && id > PLUMB_NODE_OTHER)
        return PLUMB_NODE_OTHER;
    if (!chunk_ready(id) || (id * 2 >= plumb_rt.node_index_cap && !index_grow()))
        return PLUMB_NODE_OTHER;
    kept = plumb_keep_text(name);
    if (!kept)
        return PLUMB_NODE_OTHER;
    plumb_node_at(id)->name = kept;
    plumb_node_at(id)->hash = hash;
    PLUMB_RELEASE(plumb_rt.node_count, id + 1);
    index_put(plumb_rt.node_index, hash, id);
    return id;
}

plumb_node plumb_node_intern(const char *name)
{
    uint64_t hash;
    plumb_node id;
    if (!name)
        name = "";
    hash = plumb_hash_text(name);
    id = find(name, hash);
    if (id || plumb_locked)
        return id;
    plumb_lock();
    if (!plumb_rt.node_count)
        insert(OTHER, plumb_hash_text(OTHER));
    id = find(name, hash);
    if (!id) {
        id = insert(name, hash);
        publish_now();
    }
    if (id == PLUMB_NODE_OTHER && strcmp(name, OTHER) != 0) {
        if (plumb_rt.run)
            plumb_drop(plumb_rt.run, PLUMB_DROP_NODES);
        else
            plumb_rt.nodes_seen_beyond++;
    }
    plumb_unlock();
    return id;
}

void plumb_node_add_flags(plumb_node node, uint32_t flags)
{
    PLUMB_RELEASE(plumb_node_at(node)->flags, plumb_node_at(node)->flags | flags);
    if (plumb_rt.run && node < plumb_rt.run->h->nodes.count) {
        struct plumb_live_node *n = plumb_table_at(plumb_rt.run, &plumb_rt.run->h->nodes, node);
        PLUMB_STORE(n->flags, n->flags | flags); /* the writer of a trace reads it */
    }
}

void plumb_node_flagged(plumb_node node, uint32_t flags)
{
    if (!(flags & ~PLUMB_ACQUIRE(plumb_node_at(node)->flags)))
        return;
    plumb_lock();
    plumb_node_add_flags(node, flags);
    plumb_unlock();
}

void plumb_node_select(plumb_node node, bool selected)
{
    uint32_t flags = plumb_node_at(node)->flags & ~PLUMB_NODE_SELECTED;
    PLUMB_RELEASE(plumb_node_at(node)->flags, selected ? flags | PLUMB_NODE_SELECTED : flags);
}

void plumb_node_add_site(plumb_node node, const char *file, uint32_t line, uint32_t flags)
{
    struct plumb_node_entry *e = plumb_node_at(node);
    struct plumb_site *s;
    bool known = false;
    plumb_node_add_flags(node, flags);
    for (s = e->sites; s && !known; s = s->next)
        known = s->line == line && strcmp(s->file, file) == 0;
    s = known ? NULL : plumb_keep_bytes(sizeof *s);
    if (s) {
        s->file = plumb_keep_text(file);
        s->line = line;
        s->next = e->sites;
        if (s->file)
            e->sites = s;
    }
    if (plumb_rt.run && node < plumb_rt.run->h->nodes.count) {
        struct plumb_live_node *n = plumb_table_at(plumb_rt.run, &plumb_rt.run->h->nodes, node);
        if (!known)
            publish_site(plumb_rt.run, n, file, line);
    }
}

uint32_t plumb_phase_intern(const char *name)
{
    struct plumb_name_table *t = &plumb_rt.phases;
    uint32_t i;
    if (!name || !*name)
        name = "inference";
    for (i = 0; i < PLUMB_ACQUIRE(t->count); i++) {
        if (strcmp(t->name[i], name) == 0)
            return i;
    }
    if (plumb_locked)
        return 0;
    plumb_lock();
    for (; i < t->count && strcmp(t->name[i], name) != 0; i++)
        continue;
    if (i >= PLUMB_PHASES_MAX && strcmp(name, OTHER) != 0 && plumb_rt.run)
        plumb_drop(plumb_rt.run, PLUMB_DROP_PHASES);
    if (i > PLUMB_PHASES_MAX) {
        i = PLUMB_PHASES_MAX;
    } else if (i == t->count) {
        /* The last number is shared by all later names. */
        t->name[i] = plumb_keep_text(i == PLUMB_PHASES_MAX ? OTHER : name);
        if (t->name[i])
            PLUMB_RELEASE(t->count, i + 1);
        else
            i = 0;
        publish_now();
    }
    plumb_unlock();
    return i;
}

plumb_pipeline *plumb_pipeline_intern(const char *name)
{
    uint32_t i;
    plumb_pipeline *p;
    if (!name || !*name)
        return &plumb_rt.pipelines[0];
    /* Without the lock, so also for a handler that must not take it. The first one's name may
     * change. */
    for (i = 1; i < PLUMB_ACQUIRE(plumb_rt.pipeline_count); i++) {
        if (strcmp(plumb_rt.pipelines[i].name, name) == 0)
            return &plumb_rt.pipelines[i];
    }
    if (plumb_may_lock("plumb_pipeline_get", NULL) < 0)
        return NULL;
    plumb_lock();
    for (i = 0; i < plumb_rt.pipeline_count; i++) {
        if (strcmp(plumb_rt.pipelines[i].name, name) == 0)
            break;
    }
    if (i >= PLUMB_PIPELINES_MAX && strcmp(name, OTHER) != 0) {
        if (plumb_rt.run)
            plumb_drop(plumb_rt.run, PLUMB_DROP_PIPELINES);
        else
            plumb_rt.pipelines_seen_beyond++;
    }
    p = &plumb_rt.pipelines[i < PLUMB_PIPELINES_MAX ? i : PLUMB_PIPELINES_MAX];
    if (i == plumb_rt.pipeline_count && i <= PLUMB_PIPELINES_MAX) {
        p->name = plumb_keep_text(i == PLUMB_PIPELINES_MAX ? OTHER : name);
        p->index = i;
        p->enabled = plumb_rt.pipelines[0].enabled;
        p->sync = plumb_rt.pipelines[0].sync;
        p->skip_first_n = plumb_rt.pipelines[0].skip_first_n;
        if (p->name)
            PLUMB_RELEASE(plumb_rt.pipeline_count, i + 1);
        else
            p = &plumb_rt.pipelines[0];
        publish_now();
    }
    plumb_unlock();
    return p;
}
