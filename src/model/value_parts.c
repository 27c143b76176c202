/* value_parts.c: see value_parts.h. */
#include "model/value_parts.h"

#include <stdio.h>
#include <string.h>

#include "model/signature_pack.h"

enum { PATH_BYTES = 2 * PLUMB_PACK_NAME + 2 };

/* `name` is in `path` [PATH_BYTES] below the first mapping: a path's first 255 bytes stay as they
 * are while the fields below it are recorded, so all share one. */
static void walk(const char *name, char *path, const plumb_value *value, int depth,
                 plumb_part_fn fn, void *arg)
{
    size_t n;
    if (value->kind != PLUMB_VALUE_FIELDS || value->count == 0 || depth == PLUMB_SIGNATURE_DEPTH) {
        fn(arg, name, value);
        return;
    }
    n = name ? strnlen(name, PLUMB_PACK_NAME) : 0;
    if (name && name != path)
        memcpy(path, name, n);
    for (uint32_t i = 0; i < value->count; i++) {
        const plumb_field *f = &value->as.fields[i];
        snprintf(path + n, PATH_BYTES - n, ".%.255s", f->name ? f->name : "");
        walk(path, path, &f->value, depth + 1, fn, arg);
    }
}

void plumb_each_part(const char *name, const plumb_value *value, plumb_part_fn fn, void *arg)
{
    char path[PATH_BYTES];
    walk(name, path, value, 0, fn, arg);
}
