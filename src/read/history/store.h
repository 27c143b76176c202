/* store.h: a history in a SQLite file. The only code that knows SQLite; without it (PLUMB_HISTORY
 * is not defined) every function fails with PLUMB_ERR_ABSENT.
 *
 * The file has SQLite's rollback journal and its default durability: a process that is killed, a
 * full disk or a power failure in a transaction leaves the file as it was before. All writes of a
 * call happen in one transaction. Several processes may use one file; a writer waits for another.
 * One thread at a time for each store. */
#ifndef PLUMB_READ_HISTORY_STORE_H
#define PLUMB_READ_HISTORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "read/history/result.h"

struct plumb_store;

/* 'plmb': which SQLite files are histories; and the layout of their tables. */
enum { PLUMB_STORE_APPLICATION = 0x706c6d62, PLUMB_STORE_SCHEMA = 1 };

/* Opens the file, and with `write` makes it and its folder. Errors: those of
 * plumb_history_open(). */
int plumb_store_open(struct plumb_store **out, const char *path, bool write, uint32_t wait_ms,
                     plumb_error *err);
void plumb_store_close(struct plumb_store *s);
/* Whether this library was built with SQLite: PLUMB_OK or PLUMB_ERR_ABSENT. */
int plumb_store_is_built(plumb_error *err);

/* A transaction: a writer takes the lock when it begins, so that what it reads stays true. end():
 * commits with `good`, and undoes everything otherwise, or where committing fails. */
int plumb_store_begin(struct plumb_store *s, plumb_error *err);
int plumb_store_end(struct plumb_store *s, bool good, plumb_error *err);

/* Adds a result and sets its id. A result whose digest the history has is not added again: `known`
 * is set, and its id is that of the record; one that now counts for baselines makes the record
 * count too. */
int plumb_store_add(struct plumb_store *s, struct plumb_result_item *item, bool *known,
                    plumb_error *err);

/* Which records. A NULL key selects all; an empty filter selects the whole history. */
struct plumb_store_filter {
    plumb_cohort cohort;
    const char *not_recipe; /* another recipe than this one; NULL: any */
    const char *branch, *run_source;
    int64_t id;        /* 0: all */
    uint64_t since_ns; /* measured at that time or later */
    uint64_t until_ns; /* ... or earlier; 0: all */
    uint64_t newest;   /* so many of the newest; 0: all */
    bool eligible;     /* only those that count for baselines and were successful */
    bool trusted;      /* only those that count for baselines or are of scheduled_main */
    bool bare;         /* without their metrics and their `extra` */
};

/* Appends the records to `out`, the oldest first. */
int plumb_store_select(struct plumb_result_list *out, struct plumb_store *s,
                       const struct plumb_store_filter *filter, plumb_error *err);

/* Removes the records with these ids. */
int plumb_store_remove(struct plumb_store *s, const int64_t *ids, size_t n, plumb_error *err);
/* Gives the space of removed records back to the file system. Not in a transaction. */
int plumb_store_compact(struct plumb_store *s, plumb_error *err);

#endif
