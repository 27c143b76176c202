/* runtime.c: see runtime.h. The loader ends a program if a preloaded library is linked with one
 * that is not found. So libplumb is looked for by name, and loaded from its path. */
#include "collect/onednn/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <plumb/detail/lookup.h>

typedef const struct plumb_api *(*api_fn)(void);

static const struct plumb_api *ask(void *object)
{
    api_fn fn = NULL;
    *(void **)(void *)&fn = dlsym(object, "plumb_api_1");
    return fn ? fn() : NULL;
}

static const char here_is; /* its address is in this library */

/* A large frame: a path. The library is loaded once, and not in a handler. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="

/* The libplumb next to this library. */
static const struct plumb_api *load_beside(void)
{
    char path[PATH_MAX];
    Dl_info here;
    const char *slash;
    void *object;
    if (!dladdr(&here_is, &here) || !here.dli_fname ||
        (slash = strrchr(here.dli_fname, '/')) == NULL)
        return NULL;
    snprintf(path, sizeof path, "%.*slibplumb.so.0", (int)(slash + 1 - here.dli_fname),
             here.dli_fname);
    object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return object ? ask(object) : NULL;
}
#pragma GCC diagnostic pop

const struct plumb_api *plumb_onednn_runtime(bool load)
{
    const struct plumb_api *api = ask(RTLD_DEFAULT);
    if (!api)
        api = plumb_lookup_();
    if (!api && load)
        api = load_beside();
    dlerror(); /* the program's own error text must not be ours */
    return api && api->version == 1 ? api : NULL;
}
