/* helper_parts.h: the state of the helper, and its turns. For helper.c and helper_life.c alone. */
#ifndef PLUMB_RECORD_RUNTIME_HELPER_PARTS_H
#define PLUMB_RECORD_RUNTIME_HELPER_PARTS_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "record/runtime/helper.h"

struct plumb_helper {
    uint32_t bell;     /* atomic: counts rings */
    uint32_t sleeping; /* atomic: it has to be woken */
    uint32_t there;    /* atomic: it serves requests, now or as soon as it runs */
    uint32_t ending;   /* atomic: it is to end */
    pthread_t thread;
    clockid_t cpu; /* its processor time; atomic */
    struct {
        uint32_t asked, done; /* atomic */
    } job[PLUMB_JOBS];
};
extern struct plumb_helper plumb_helper;

/* On the helper: does the requested jobs, up to and including `last`. */
void plumb_helper_serve(enum plumb_job last);
/* Sleeps until the bell, which had rung `heard` times, rings again, at most `ns`. */
void plumb_helper_sleep(uint32_t heard, uint64_t ns);
void plumb_helper_ring(void);
/* Makes the calling thread the helper. */
void plumb_helper_is_born(void);

#endif
