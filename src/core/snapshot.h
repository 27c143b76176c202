/* snapshot.h: what a summary asks of a thread, and what its folds leave for it. snapshot.c has the
 * protocol. */
#ifndef PLUMB_CORE_SNAPSHOT_H
#define PLUMB_CORE_SNAPSHOT_H

#include "core/runtime.h"
#include "format/merge.h"

enum { PLUMB_OWN_BYTES = 2048 }; /* that a fold takes of the room at a time */

struct plumb_snapshot { /* a room and who has it */
    uint64_t number;
    unsigned char *room;
    size_t room_bytes;
    size_t used; /* atomic: several threads copy at once */
    uint32_t overflow;
    bool want_tree;
};

/* What a fold leaves of its thread. */
struct plumb_tail {
    struct plumb_live_context context;
    struct plumb_live_frame frames[PLUMB_DEPTH_MAX + 1];
    uint64_t words[PLUMB_BLOCK_WORDS];
};

/* A place of a call tree, as it was before a fold changed it. */
struct plumb_place_copy {
    uint32_t left; /* released after the rest */
    uint32_t reset_generation;
    uint64_t count, total, self;
};

/* What is asked of one thread. Lies in the room. */
struct plumb_ask {
    struct plumb_snapshot *s;
    struct plumb_place_copy *place; /* [places], by index; NULL: the call tree is not asked for */
    uint32_t places;
    struct plumb_tail *tail; /* what the fold that answered has left */
    uint32_t answered;
    uint32_t states;           /* how many are looked for */
    unsigned char *own;        /* of the room, what the fold has taken ahead ... */
    size_t own_bytes;          /* ... and how much of it is left */
    struct plumb_copy *copy[]; /* by ordinal */
};

/* A piece of the room, on cache lines. NULL: there is none left, and `overflow` is set. Any thread.
 */
void *plumb_room_take(struct plumb_snapshot *s, size_t bytes);

#endif
