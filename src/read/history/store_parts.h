/* store_parts.h: what the files of the store share. Needs SQLite. */
#ifndef PLUMB_READ_HISTORY_STORE_PARTS_H
#define PLUMB_READ_HISTORY_STORE_PARTS_H

#include "read/history/store.h"

#if defined(PLUMB_HISTORY)

#include <sqlite3.h>

struct plumb_store {
    sqlite3 *db;
    char *path;
    uint32_t wait_ms;
    bool begun;
};

/* Words SQLite's status `rc` as the error of `doing` ("write") the history, and returns the status
 * of plumb. */
int plumb_store_error(const struct plumb_store *s, int rc, const char *doing, plumb_error *err);

#endif
#endif
