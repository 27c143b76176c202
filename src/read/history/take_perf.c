/* take_perf.c: placeholder */
#include "read/history/take.h"

#include "base/error.h"

int plumb_take_perf(struct plumb_taking *t, const struct plumb_json_value *root, plumb_error *err)
{
    (void)root;
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': not yet", t->path);
}

int plumb_take_asv(struct plumb_taking *t, const char *path, plumb_error *err)
{
    (void)t;
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': not yet", path);
}

bool plumb_take_is_asv(const char *path)
{
    (void)path;
    return false;
}
