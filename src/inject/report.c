/* report.c: connects the interposer to the runtime, in its constructor: before main(), and usually
 * before there are threads.
 *
 * It is not linked with libplumb: a library that is preloaded and does not find what it is linked
 * with ends the program. It takes the runtime of the process if there is one. Otherwise it loads
 * the libplumb that lies next to it. Without that it prints a line and only passes calls on.
 *
 * There is no guard against the runtime here: the runtime itself separates its own allocations from
 * the program's, also from those of a signal handler that interrupts it
 * (record/stage/malloc_events.c). */
#include "inject/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quiet_write.h"
#include "inject/real.h"
#include <plumb/plumb.h>

static int64_t early; /* bytes, until there is a runtime */

static void count_early(uint32_t event, uint64_t bytes)
{
    PLUMB_ADD(early, event == PLUMB_MEM_ALLOC ? (int64_t)bytes : -(int64_t)bytes);
}

plumb_report_fn plumb_report_to = count_early;

/* The frames hold paths: 5 KiB. The library is loaded once, before main() as a rule. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
static void say(const char *what, const char *which)
{
    char line[PATH_MAX + 200];
    int n = snprintf(line, sizeof line, "plumb: malloc is not followed: %s%s\n", what, which);
    plumb_write_quietly(STDERR_FILENO, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

typedef const struct plumb_api *(*api_fn)(void);

static const struct plumb_api *ask(void *object)
{
    api_fn fn = NULL;
    *(void **)(void *)&fn = dlsym(object, "plumb_api_1");
    return fn ? fn() : NULL;
}

/* Loads the libplumb that lies next to this library. */
static const struct plumb_api *load(void)
{
    char path[PATH_MAX];
    Dl_info here;
    const char *slash;
    void *object;
    if (!dladdr(&early, &here) || !here.dli_fname)
        return NULL;
    slash = strrchr(here.dli_fname, '/');
    snprintf(path, sizeof path, "%.*slibplumb.so.0", slash ? (int)(slash + 1 - here.dli_fname) : 0,
             here.dli_fname);
    object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!object)
        say("no libplumb in this process, and none at ", path);
    return object ? ask(object) : NULL;
}
#pragma GCC diagnostic pop

/* Returns whether an allocation of the program comes here: its own malloc, or that of a library
 * loaded before this one, would be found first. It is tried, because the address is not proof: that
 * of a function may lie in the program although it is defined here. */
static bool comes_here(void)
{
    void *(*first)(size_t) = NULL;
    void (*last)(void *) = NULL;
    Dl_info whose = {0};
    int64_t before = PLUMB_LOAD(early);
    void *p;
    bool here;
    *(void **)(void *)&first = dlsym(RTLD_DEFAULT, "malloc");
    *(void **)(void *)&last = dlsym(RTLD_DEFAULT, "free");
    p = first && last ? first(1) : NULL;
    here = PLUMB_LOAD(early) != before;
    if (p)
        last(p);
    if (p && !here && dladdr(*(void **)(void *)&first, &whose))
        say("another allocator comes first, that of ", whose.dli_fname ? whose.dli_fname : "?");
    return here;
}

static bool can_count(void)
{
    const struct plumb_real *r = plumb_real();
    if (r && r->whole)
        return comes_here();
    say("the allocator of this process cannot tell the size of a block", "");
    return false;
}

__attribute__((constructor)) static void meet_the_runtime(void)
{
    const struct plumb_api *api = NULL;
    int saved = errno;
    if (can_count()) {
        api = ask(RTLD_DEFAULT);
        if (!api)
            api = plumb_find_api_();
        if (!api)
            api = load();
    }
    if (PLUMB_KNOWS_(api, mem_sized)) {
        PLUMB_RELEASE(plumb_report_to, api->mem_sized);
        api->mem_sized(PLUMB_MEM_HELD, (uint64_t)__atomic_exchange_n(&early, 0, __ATOMIC_RELAXED));
    } else {
        PLUMB_RELEASE(plumb_report_to, NULL);
    }
    errno = saved;
}
