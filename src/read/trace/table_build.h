/* table_build.h: a table that is being built. For table*.c alone. */
#ifndef PLUMB_READ_TRACE_TABLE_BUILD_H
#define PLUMB_READ_TRACE_TABLE_BUILD_H

#include "read/trace/ids.h"
#include "read/trace/table.h"

enum plumb_build_type {
    PLUMB_BUILD_BEGIN = 0,
    PLUMB_BUILD_END = 1,
    PLUMB_BUILD_INSTANT = 2,
    PLUMB_BUILD_COMPLETE = 3, /* `extra`: of its duration */
    PLUMB_BUILD_I64 = 4,      /* the last two are counters */
    PLUMB_BUILD_F64 = 5,
    PLUMB_BUILD_POINT = 6, /* `extra`: it stands for the next slice */
};
enum { PLUMB_BUILD_TYPE_BITS = 3, PLUMB_BUILD_TYPE_MASK = 7 };

/* 24 bytes. Once an event is placed, the number of its row replaces its name. */
struct plumb_build_event {
    int64_t ns;
    uint32_t track_type; /* the type in the lowest bits */
    uint32_t extra;
    union {
        struct {
            uint32_t name, category;
        } of;
        uint32_t row;
        union plumb_table_number value;
    } u;
};

/* Facts about a track's events, collected while they are added. */
struct plumb_build_track {
    int64_t last;
    uint32_t events;
    bool unsorted, complete;
};

struct plumb_build_arg {
    union plumb_table_number value;
    uint32_t event;
    uint32_t key_type; /* the type in the lowest bits */
};

struct plumb_build_flow {
    uint64_t id;
    int64_t ns;
    uint32_t event;
    enum plumb_flow_role role;
};

struct plumb_build_list {
    void *at;
    size_t count, cap;
};

struct plumb_table_build {
    bool failed;
    bool has_zero;
    int64_t zero;
    int64_t least, most; /* of all times so far, once there are any */
    bool timed;
    uint32_t slices, instants;
    struct plumb_build_list events, counters; /* struct plumb_build_event */
    struct plumb_build_list durations;        /* uint64_t */
    struct plumb_build_list args;             /* struct plumb_build_arg */
    struct plumb_build_list flows;            /* struct plumb_build_flow */
    struct plumb_build_list tracks, facts;    /* those of the table, which frees them */
    struct plumb_build_list ways;             /* struct plumb_build_track, parallel to `tracks` */
    struct plumb_ids track_of;                /* uuid -> track */
};

static inline uint32_t plumb_build_track(const struct plumb_build_event *e)
{
    return e->track_type >> PLUMB_BUILD_TYPE_BITS;
}
static inline enum plumb_build_type plumb_build_type(const struct plumb_build_event *e)
{
    return (enum plumb_build_type)(e->track_type & PLUMB_BUILD_TYPE_MASK);
}

void plumb_build_free(struct plumb_table_build *b); /* NULL is fine */
/* One more element of `size` bytes, or NULL, which is remembered. */
bool plumb_build_grow(struct plumb_table_build *b, struct plumb_build_list *list, size_t size);
static inline void *plumb_build_add(struct plumb_table_build *b, struct plumb_build_list *list,
                                    size_t size)
{
    if (list->count == list->cap && !plumb_build_grow(b, list, size))
        return NULL;
    return (char *)list->at + size * list->count++;
}

/* table_order.c: sorts the numbers of `events` by track, time, and the order in which they came.
 * Among those of one time, complete slices come last, longer ones first. `first` has tracks + 1
 * elements and gets where each track's begin. `ways`: facts about the tracks, or NULL. Returns NULL
 * when out of memory. */
uint32_t *plumb_build_order(const struct plumb_table_build *b,
                            const struct plumb_build_event *events, size_t count,
                            const struct plumb_build_track *ways, uint32_t *first, size_t tracks);

/* table_nest.c: events become slices and instants, and tracks get their ranges. */
bool plumb_build_nest(struct plumb_table *t);

#endif
