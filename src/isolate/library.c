/* library.c: loads stage libraries. Nothing of a table is called or followed before its version and
 * sizes are known: the library may be of another plumb, or something else altogether. */
#include "isolate/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* The bytes that every version of the struct has. */
enum { OPS_FIRST_SIZE = offsetof(plumb_stage_ops, sync) + sizeof(int (*)(void)) };

int plumb_stage_ops_check(const plumb_stage_ops *ops, const char *whose, plumb_error *err)
{
    if (ops->size < OPS_FIRST_SIZE)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s': a stage's table has %zu bytes, not %zu: build it again with "
                          "plumb/stage_library.h",
                          whose, ops->size, sizeof *ops);
    if (!ops->name || !*ops->name)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': a stage has no name", whose);
    if (!ops->open)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': stage '%s' has no function 'open'", whose,
                          ops->name);
    if (!ops->run && !ops->step)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s': stage '%s' has neither 'run' nor 'step': one of them is needed",
                          whose, ops->name);
    return PLUMB_OK;
}

int plumb_stage_library_check(const struct plumb_stage_library *library, const char *whose,
                              plumb_error *err)
{
    if (library->version != PLUMB_STAGE_LIBRARY_VERSION || library->size < sizeof *library)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is a stage library of version %u (%u bytes), this plumb reads "
                          "version %d (%zu): build it again with its plumb/stage_library.h",
                          whose, library->version, library->size, PLUMB_STAGE_LIBRARY_VERSION,
                          sizeof *library);
    if (!library->stages || !library->stages[0])
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is a stage library without stages", whose);
    for (size_t i = 0; library->stages[i]; i++) {
        int rc = plumb_stage_ops_check(library->stages[i], whose, err);
        if (rc < 0)
            return rc;
    }
    return PLUMB_OK;
}

/* dlopen() searches the system's folders for a name without a slash; a user who names a file means
 * that file. */
static const char *as_file(char *out, size_t size, const char *path)
{
    int n = strchr(path, '/') ? -1 : snprintf(out, size, "./%s", path);
    return n > 0 && (size_t)n < size ? out : path;
}

int plumb_stage_library_load(const struct plumb_stage_library **out, const char *path,
                             plumb_error *err)
{
    char file[4096];
    const struct plumb_stage_library *table;
    void *object = dlopen(as_file(file, sizeof file, path), RTLD_NOW | RTLD_LOCAL);
    int rc;
    if (!object)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "cannot load the stage library: %s", dlerror());
    table = dlsym(object, PLUMB_STAGE_LIBRARY_SYMBOL);
    if (!table)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a stage library: it does not export '%s' (write "
                          "PLUMB_STAGE_LIBRARY(stages); see plumb/stage_library.h)",
                          path, PLUMB_STAGE_LIBRARY_SYMBOL);
    rc = plumb_stage_library_check(table, path, err);
    if (rc == PLUMB_OK)
        *out = table;
    return rc;
}

int plumb_stage_library_find(const plumb_stage_ops **out, const struct plumb_stage_library *library,
                             const char *name, const char *whose, plumb_error *err)
{
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; library->stages[i]; i++) {
        if (strcmp(library->stages[i]->name, name) == 0) {
            *out = library->stages[i];
            return PLUMB_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                     library->stages[i]->name);
    }
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "'%s' has no stage '%s'; it has %s", whose, name,
                      list);
}
