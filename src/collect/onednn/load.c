/* load.c: see load.h.
 *
 * The functions that are interposed are looked for in the objects after this one in the global
 * scope (RTLD_NEXT): a program's own interposer, preloaded after this one, is called as it
 * would be otherwise. That finds nothing where oneDNN was loaded with RTLD_LOCAL, as Python loads
 * PyTorch: then in the calling object and what it is linked with, at last under the names that
 * oneDNN has been installed with. The queries come from where the first of these is that has them.
 *
 * No copy is linked, and none is loaded: dlopen() with RTLD_NOLOAD gives a handle of what is there.
 * dlerror() belongs to the program: what a failed look-up leaves there is taken away. */
#include "collect/onednn/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/atomic.h"

enum { COPIES = 64, SITES = 1024, PROBES = 8, SOURCES = 6 };

static struct {
    uint32_t taken; /* places in `copy`; atomic */
    struct {
        struct plumb_dnnl functions;
        uint32_t whole; /* atomic */
    } copy[COPIES];
    struct {
        const void *site;              /* atomic; published after `copy` */
        const struct plumb_dnnl *copy; /* atomic */
    } site[SITES];
} loaded;

/* ---- Where to look --------------------------------------------------------------------------- */

static void *handle_of(const char *path)
{
    return path && path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void *caller_of(const void *site)
{
    Dl_info info;
    return dladdr(site, &info) ? handle_of(info.dli_fname) : NULL;
}

/* [SOURCES] handles, the first to be asked first. NULL: that one is not there. */
static void find_sources(void **source, const void *site)
{
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so.1",
                                        "libdnnl.so"};
    source[0] = RTLD_NEXT;
    source[1] = caller_of(site);
    for (int i = 0; i < SOURCES - 2; i++)
        source[2 + i] = handle_of(names[i]);
}

static const void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* A handle of the program searches the global scope from its beginning, where this library is. */
static void *look_up(void *source, const char *name)
{
    void *found = source ? dlsym(source, name) : NULL;
    return object_of(found) == object_of(&loaded) ? NULL : found;
}

static void *look_up_first(void *const *source, const char *name)
{
    void *found = NULL;
    for (int i = 0; i < SOURCES && !found; i++)
        found = look_up(source[i], name);
    return found;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* ISO C has no other way from an object pointer to a function pointer. */
#define FIND(member, name) ((*(void **)(void *)&d->member = look_up(source, name)) != NULL)

/* The queries of one copy. */
static bool fill_queries(struct plumb_dnnl *d, void *source)
{
    bool all = FIND(version, "dnnl_version");
    all &= FIND(primitive_desc, "dnnl_primitive_get_primitive_desc");
    all &= FIND(query, "dnnl_primitive_desc_query");
    all &= FIND(query_md, "dnnl_primitive_desc_query_md");
    all &= FIND(attributes, "dnnl_primitive_desc_get_attr");
    all &= FIND(post_ops, "dnnl_primitive_attr_get_post_ops");
    all &= FIND(post_ops_len, "dnnl_post_ops_len");
    all &= FIND(post_op_kind, "dnnl_post_ops_get_kind");
    all &= FIND(memory_md, "dnnl_memory_get_memory_desc");
    all &= FIND(md_bytes, "dnnl_memory_desc_get_size");
    all &= FIND(engine_kind, "dnnl_engine_get_kind");
    all &= FIND(kind_text, "dnnl_prim_kind2str");
    all &= FIND(prop_text, "dnnl_prop_kind2str");
    all &= FIND(alg_text, "dnnl_alg_kind2str");
    all &= FIND(type_text, "dnnl_dt2str");
    return all && (FIND(query_of_md, "dnnl_memory_desc_query") || d->version()->major < 3);
}

static void fill(struct plumb_dnnl *d, void *const *source)
{
    const struct plumb_dnnl_version *version;
    for (int i = 0; i < SOURCES; i++) {
        if (!source[i] || !look_up(source[i], "dnnl_version"))
            continue;
        if (!fill_queries(d, source[i]))
            return;
        version = d->version();
        d->major = version->major == 2 || version->major == 3 ? version->major : 0;
        d->async = (version->cpu_runtime & PLUMB_DNNL_RUNTIME_SYCL) != 0;
        return;
    }
}

static const struct plumb_dnnl *known(const struct plumb_dnnl *d)
{
    for (uint32_t i = 0; i < COPIES; i++)
        if (PLUMB_ACQUIRE(loaded.copy[i].whole) &&
            memcmp(&loaded.copy[i].functions, d, sizeof *d) == 0)
            return &loaded.copy[i].functions;
    return NULL;
}

/* Handles are kept: a copy that calls are passed to must not go. Two threads that meet a copy at
 * once may both enter it. */
static const struct plumb_dnnl *find(const void *site)
{
    void *source[SOURCES];
    struct plumb_dnnl d;
    const struct plumb_dnnl *copy;
    uint32_t at;
    memset(&d, 0, sizeof d);
    find_sources(source, site);
    *(void **)(void *)&d.execute = look_up_first(source, "dnnl_primitive_execute");
    *(void **)(void *)&d.destroy = look_up_first(source, "dnnl_primitive_destroy");
    if (!d.execute || !d.destroy)
        return NULL;
    fill(&d, source);
    copy = known(&d);
    if (copy)
        return copy;
    at = PLUMB_LOAD(loaded.taken) < COPIES ? PLUMB_ADD(loaded.taken, 1) : COPIES;
    if (at >= COPIES)
        return NULL;
    loaded.copy[at].functions = d;
    PLUMB_RELEASE(loaded.copy[at].whole, 1);
    return &loaded.copy[at].functions;
}

/* ---- Places in the code ---------------------------------------------------------------------- */

static uint32_t place_of(const void *site)
{
    uint64_t x = (uint64_t)(uintptr_t)site * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(x >> 48) % SITES;
}

/* Takes no lock: the loader has one of its own, under which a constructor may call as well, and a
 * forked child might find ours taken. */
static PLUMB_COLD const struct plumb_dnnl *find_and_keep(const void *site)
{
    const struct plumb_dnnl *copy, *none = NULL;
    int saved = errno;
    uint32_t at = place_of(site);
    copy = find(site);
    dlerror();
    for (uint32_t i = 0; copy && i < PROBES; i++) {
        if (__atomic_compare_exchange_n(&loaded.site[(at + i) % SITES].copy, &none, copy, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            PLUMB_RELEASE(loaded.site[(at + i) % SITES].site, site);
            break;
        }
        none = NULL;
    }
    errno = saved;
    return copy;
}

const struct plumb_dnnl *plumb_dnnl_of(const void *site)
{
    uint32_t at = place_of(site);
    for (uint32_t i = 0; i < PROBES; i++)
        if (PLUMB_LIKELY(PLUMB_ACQUIRE(loaded.site[(at + i) % SITES].site) == site))
            return PLUMB_LOAD(loaded.site[(at + i) % SITES].copy);
    return find_and_keep(site);
}
