/* top_watch.c: the readings of plumb top. */
#include <stdlib.h>

#include "top.h"

int plumb_top_open(struct plumb_top_watch *w, const char *what, plumb_error *err)
{
    int rc;
    *w = (struct plumb_top_watch){.watch = NULL};
    rc = plumb_watch_open(&w->watch, what, err);
    if (rc == 0 && (rc = plumb_top_read(w, err)) < 0)
        plumb_top_close(w);
    return rc;
}

void plumb_top_close(struct plumb_top_watch *w)
{
    plumb_watch_close(w->watch);
    plumb_reading_free(w->now);
    plumb_reading_free(w->before);
    plumb_reading_free(w->since);
    *w = (struct plumb_top_watch){.watch = NULL};
}

int plumb_top_read(struct plumb_top_watch *w, plumb_error *err)
{
    plumb_reading *reading, *since = NULL;
    int rc = plumb_watch_read(&reading, w->watch, err);
    w->busy = rc == PLUMB_ERR_STATE && w->now;
    if (rc < 0)
        return w->busy ? 0 : rc;
    if (w->now && (rc = plumb_reading_since(&since, reading, w->now, err)) < 0) {
        plumb_reading_free(reading);
        return rc;
    }
    plumb_reading_free(w->before);
    plumb_reading_free(w->since);
    w->before = w->now;
    w->now = reading;
    w->since = since;
    w->over = plumb_reading_facts_of(reading)->state != PLUMB_WATCH_RECORDS;
    return 0;
}

const plumb_reading *plumb_top_shown(const struct plumb_top_watch *w,
                                     const struct plumb_top_view *view)
{
    return w->since && !view->total ? w->since : w->now;
}
