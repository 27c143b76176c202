/* store_absent.c: the store of a library that was built without SQLite: it says so. */
#include "read/history/store.h"

#include "base/error.h"

#if !defined(PLUMB_HISTORY)

int plumb_store_is_built(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_ABSENT,
                      "this plumb has no history: it was built without SQLite or Nettle (see "
                      "PLUMB_HISTORY in the table at the end of the configure step)");
}

int plumb_store_open(struct plumb_store **out, const char *path, bool write, uint32_t wait_ms,
                     plumb_error *err)
{
    (void)out, (void)path, (void)write, (void)wait_ms;
    return plumb_store_is_built(err);
}

void plumb_store_close(struct plumb_store *s)
{
    (void)s;
}

int plumb_store_begin(struct plumb_store *s, plumb_error *err)
{
    (void)s;
    return plumb_store_is_built(err);
}

int plumb_store_end(struct plumb_store *s, bool good, plumb_error *err)
{
    (void)s, (void)good;
    return plumb_store_is_built(err);
}

int plumb_store_add(struct plumb_store *s, struct plumb_result_item *item, bool *known,
                    plumb_error *err)
{
    (void)s, (void)item, (void)known;
    return plumb_store_is_built(err);
}

int plumb_store_select(struct plumb_result_list *out, struct plumb_store *s,
                       const struct plumb_store_filter *filter, plumb_error *err)
{
    (void)out, (void)s, (void)filter;
    return plumb_store_is_built(err);
}

int plumb_store_remove(struct plumb_store *s, const int64_t *ids, size_t n, plumb_error *err)
{
    (void)s, (void)ids, (void)n;
    return plumb_store_is_built(err);
}

int plumb_store_compact(struct plumb_store *s, plumb_error *err)
{
    (void)s;
    return plumb_store_is_built(err);
}

#endif
