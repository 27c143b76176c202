/* counts.h: the counts of threads, in memory that the kernel clears in a forked child, so that the
 * child begins at zero. Nothing here takes a lock or calls libc: any thread, any place from which
 * the program may call a function.
 *
 * Memory is bounded: one range of addresses, of which only what is used costs memory. A thread's
 * part is found by its thread pointer. libc gives the pointer of a thread that has ended to a new
 * one, which then continues with the same part: counts only grow, so nothing is lost, no end of a
 * thread needs to be noticed, and the range serves any number of threads one after the other. */
#ifndef PLUMB_INJECT_COUNT_COUNTS_H
#define PLUMB_INJECT_COUNT_COUNTS_H

#include <stdbool.h>

#include "base/calls_area.h"

/* Reserves the range. Returns false if there are no addresses. Once, before anything is bound. */
bool plumb_counts_init(void);
/* Fills in the members of the area that describe counts. */
void plumb_counts_describe(struct plumb_calls_area *area);
/* plumb_calls_area.attach */
void plumb_counts_attach(const struct plumb_api *api, void (*before_exec)(void));

#endif
