/* record_memory.h: record_timing.h for tests of memory: an allocator that hands out addresses and
 * nothing else, and looks into what a run has left of it. */
#ifndef TESTS_RECORD_MEMORY_H
#define TESTS_RECORD_MEMORY_H

#include "record_timing.h"

#define MIB ((uint64_t)1 << 20)

static inline const void *block(uint64_t address)
{
    return (const void *)(uintptr_t)address;
}

static inline void mem_alloc(uint64_t address, uint64_t bytes)
{
    plumb_mem_alloc("cuda:0", "caching", block(address), bytes);
}

static inline void mem_free(uint64_t address)
{
    plumb_mem_free("cuda:0", "caching", block(address), 0);
}

static inline plumb_memory mem_now(const char *device, const char *pool)
{
    plumb_memory m = {.size = sizeof m};
    plumb_memory_now(&m, device, pool);
    return m;
}

static inline const struct plumb_timing_pool *timing_pool(const struct plumb_timing *t,
                                                          const char *device, const char *pool)
{
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        if (strcmp(p->device, device) == 0 && strcmp(p->pool, pool) == 0)
            return p;
    }
    fail_msg("timing.json has no pool (%s, %s)", device, pool);
    return NULL;
}

/* What `m` saw of a pool; zeros when it saw nothing. */
static inline struct plumb_timing_use timing_use(const struct plumb_timing *t,
                                                 const struct plumb_timing_memory *m,
                                                 const char *device, const char *pool)
{
    const struct plumb_timing_pool *p = timing_pool(t, device, pool);
    struct plumb_timing_use none = {0};
    for (size_t i = 0; i < m->use_count; i++) {
        if (&t->memory.pools[m->uses[i].pool] == p)
            return m->uses[i];
    }
    return none;
}

static inline const struct plumb_timing_owner *timing_owner(const struct plumb_timing_pool *p,
                                                            const char *node)
{
    for (size_t i = 0; i < p->owner_count; i++) {
        if (strcmp(p->owners[i].node, node) == 0)
            return &p->owners[i];
    }
    fail_msg("pool '%s' has no owner '%s'", p->pool, node);
    return NULL;
}

static inline const struct plumb_timing_request *timing_request(const struct plumb_timing *t,
                                                                const char *id)
{
    for (size_t i = 0; i < t->request_count; i++) {
        if (strcmp(t->requests[i].id, id) == 0)
            return &t->requests[i];
    }
    fail_msg("timing.json has no request '%s'", id);
    return NULL;
}

static inline const struct plumb_timing_request_stage *
timing_request_stage(const struct plumb_timing *t, const char *id, const char *stage)
{
    const struct plumb_timing_request *r = timing_request(t, id);
    for (size_t i = 0; i < r->stage_count; i++) {
        if (strcmp(t->nodes[r->stages[i].node].name, stage) == 0)
            return &r->stages[i];
    }
    fail_msg("request '%s' has no stage '%s'", id, stage);
    return NULL;
}

#endif
