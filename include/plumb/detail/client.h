/* client.h: how an object finds the function table of the runtime, once, and keeps it. The linker
 * merges the weak definitions here into one copy for each shared object.
 *
 * Every header of a noun includes this one and calls plumb_api_(). With PLUMB_DISABLE that is NULL
 * always (disabled.h), and the compiler omits what depends on it. */
#ifndef PLUMB_DETAIL_CLIENT_H
#define PLUMB_DETAIL_CLIENT_H

#include <plumb/detail/abi.h>

#if defined(PLUMB_DISABLE)
#include <plumb/detail/disabled.h>
#else
#include <errno.h>
#include <plumb/detail/lookup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's table, found through the linker. Weak unless PLUMB_LINKED says that the program
 * links libplumb (then the reference must hold the library in the link). A function, not an object:
 * a table copied into the executable could never grow. */
#if defined(PLUMB_LINKED)
extern const struct plumb_api *plumb_api_1(void);
#else
extern const struct plumb_api *plumb_api_1(void) __attribute__((weak));
#endif

#define PLUMB_HAS_CLIENT_ 1
#define PLUMB_MERGED_ __attribute__((weak, visibility("hidden")))

extern PLUMB_MERGED_ struct plumb_client plumb_client_1;
const struct plumb_api *plumb_find_api_(void) PLUMB_MERGED_;
plumb_span plumb_begin_slow_(struct plumb_point *point) PLUMB_MERGED_;
void plumb_client_fini_(void) __attribute__((destructor(101))) PLUMB_MERGED_;

PLUMB_MERGED_ struct plumb_client plumb_client_1 = {NULL, NULL, 0, PLUMB_MODE_UNKNOWN};

static inline const struct plumb_api *plumb_client_api_(void)
{
    return __atomic_load_n(&plumb_client_1.api, __ATOMIC_RELAXED);
}

/* Returns whether no runtime was found; false while it is not known yet. */
static inline int plumb_is_absent_(void)
{
    return __atomic_load_n(&plumb_client_1.state, __ATOMIC_RELAXED) == PLUMB_CLIENT_ABSENT;
}

/* Returns the runtime's table. Returns NULL if none is loaded, or none can be looked up now. A
 * lookup that interrupts another one of its own thread (from a signal handler, or from a function
 * of the host that the lookup calls) returns NULL, and its trace points look again when they are
 * passed the next time. Other threads look on their own, so that their spans are not lost. An
 * object that has found no runtime stays off, also if one is loaded later. */
PLUMB_MERGED_ const struct plumb_api *plumb_find_api_(void)
{
    const struct plumb_api *api = NULL, *none = NULL;
    uint32_t state = __atomic_load_n(&plumb_client_1.state, __ATOMIC_ACQUIRE), self;
    int saved;
    if (state == PLUMB_CLIENT_FOUND || state == PLUMB_CLIENT_ABSENT)
        return plumb_client_api_();
    saved = errno; /* the dynamic linker, the runtime and the kernel may all change it */
#if defined(PLUMB_LINKED)
    api = plumb_api_1();
    if (!api)
        goto out; /* it is being loaded */
#else
    if (plumb_api_1) {
        api = plumb_api_1();
        if (!api)
            goto out; /* the same */
    }
#endif
    if (!api) {
        self = (uint32_t)PLUMB_CLIENT_LOOKING | (uint32_t)plumb_syscall_(SYS_gettid);
        if (state == self)
            goto out;
        __atomic_compare_exchange_n(&plumb_client_1.state, &state, self, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        api = plumb_lookup_();
    }
    if (api && api->version != 1)
        api = NULL;
    /* Written once: of two threads that come here at the same time the first. Span begin and end
     * read it plainly, after a mode word that says on. */
    __atomic_compare_exchange_n(&plumb_client_1.api, &none, api, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&plumb_client_1.state, api ? PLUMB_CLIENT_FOUND : PLUMB_CLIENT_ABSENT,
                     __ATOMIC_RELEASE);
out:
    errno = saved;
    return api;
}

/* Everything but the common case: the first pass of a point, and points that need the slower entry.
 */
PLUMB_MERGED_ plumb_span plumb_begin_slow_(struct plumb_point *point)
{
    plumb_span none = {0};
    const struct plumb_api *api = plumb_find_api_();
    if (!api) {
        if (plumb_is_absent_())
            __atomic_store_n(&point->mode, (uint32_t)PLUMB_MODE_OFF, __ATOMIC_RELAXED);
        return none;
    }
    if (__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE) == PLUMB_MODE_UNKNOWN)
        api->point_register(&plumb_client_1, point);
    switch (__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE)) {
    case PLUMB_MODE_ON:
        return api->span_begin(point);
    case PLUMB_MODE_SPECIAL:
        return api->span_begin_special(point);
    default:
        return none;
    }
}

/* Runs once per translation unit of the object, after its own destructors (101: last), which may
 * pass trace points; the second call finds nothing left. */
PLUMB_MERGED_ void plumb_client_fini_(void)
{
    if (plumb_client_api_() &&
        (plumb_client_1.points || plumb_client_1.activations != PLUMB_MODE_UNKNOWN))
        plumb_client_api_()->client_detach(&plumb_client_1);
    plumb_client_1.activations = PLUMB_MODE_OFF;
}

static inline const struct plumb_api *plumb_api_(void)
{
    return __atomic_load_n(&plumb_client_1.state, __ATOMIC_ACQUIRE) == PLUMB_CLIENT_FOUND
               ? plumb_client_api_()
               : plumb_find_api_();
}

/* The table of an older runtime ends before the members that were added later. */
#define PLUMB_KNOWS_(api, member)                                                                  \
    ((api) && (api)->size >= offsetof(struct plumb_api, member) + sizeof((api)->member))

#ifdef __cplusplus
}
#endif

#endif

/* ---- For both -------------------------------------------------------------------------------- */

/* Returns the table for a handle, or NULL if the handle is 0: "none". */
static inline const struct plumb_api *plumb_api_for_(uint64_t handle)
{
    return handle ? plumb_client_api_() : NULL;
}

#define PLUMB_CAT2_(a, b) a##b
#define PLUMB_CAT_(a, b) PLUMB_CAT2_(a, b)
#define PLUMB_ID_(prefix) PLUMB_CAT_(prefix, __COUNTER__)

#endif
