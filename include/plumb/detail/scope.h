/* scope.h: the machinery of spans: begin and end at a trace point, and the declarations that end
 * with their block. plumb.h has what programs use. */
#ifndef PLUMB_DETAIL_SCOPE_H
#define PLUMB_DETAIL_SCOPE_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gcc lets a goto or a case label jump past a declaration into its scope (clang and C++ refuse it).
 * The variable is then uninitialized. It must be read from memory, so that the content of a
 * register is not taken for an open handle, and it may hold any value even without a runtime. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define PLUMB_JUMPED_PAST_(variable) __asm__ volatile("" : "+m"(variable))
#else
#define PLUMB_JUMPED_PAST_(variable) ((void)0)
#endif

#if !defined(PLUMB_DISABLE)

/* A thread that sees a point switched on must also see its node and the table. x86 keeps loads in
 * order by itself; there an acquire would only prevent the compiler from omitting the end of a span
 * that is off. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__SANITIZE_THREAD__)
#define PLUMB_MODE_ORDER_ __ATOMIC_RELAXED
#else
#define PLUMB_MODE_ORDER_ __ATOMIC_ACQUIRE
#endif

static inline plumb_span plumb_begin_(struct plumb_point *point)
{
    uint32_t mode = __atomic_load_n(&point->mode, PLUMB_MODE_ORDER_);
    if (__builtin_expect(mode == PLUMB_MODE_OFF, 1)) {
        plumb_span none = {0};
        return none;
    }
    if (__builtin_expect(mode == PLUMB_MODE_ON, 1))
        return plumb_client_1.api->span_begin(point);
    return plumb_begin_slow_(point);
}

static inline void plumb_end_(plumb_span span)
{
    if (__builtin_expect(span.id != 0, 0))
        plumb_client_1.api->span_end(span);
}

static inline plumb_span plumb_lap_(plumb_span span, struct plumb_point *point)
{
    if (__builtin_expect(__atomic_load_n(&point->mode, __ATOMIC_ACQUIRE) == PLUMB_MODE_ON, 1))
        return plumb_client_api_()->span_lap(span, point);
    plumb_end_(span);
    return plumb_begin_(point);
}

static inline void plumb_end_cleanup_(plumb_span *span)
{
    PLUMB_JUMPED_PAST_(*span);
    if (__builtin_expect(span->id != 0, 0) && plumb_client_1.api)
        plumb_client_1.api->span_end(*span);
}

static inline void plumb_scope_cleanup_(plumb_scope *scope)
{
    PLUMB_JUMPED_PAST_(*scope);
    if (plumb_client_1.api && scope->id)
        plumb_client_1.api->scope_end(*scope);
}

/* Ends a declaration: calls `fn` with its address when the block is left. */
#define PLUMB_CLEANUP_(fn) __attribute__((cleanup(fn), unused))

/* A span of the rest of the block, with a static trace point; the second form has no name. */
#define PLUMB_SCOPE_(var, name, flags)                                                             \
    static struct plumb_point PLUMB_CAT_(var, _point_) = PLUMB_POINT_INIT(name, flags);            \
    plumb_span var PLUMB_CLEANUP_(plumb_end_cleanup_) = plumb_begin_(&PLUMB_CAT_(var, _point_))
#define PLUMB_SCOPE_UNNAMED_(name, flags) PLUMB_SCOPE_(PLUMB_ID_(plumb_span_), name, flags)

#define PLUMB_LAP_AS_(var, name, flags)                                                            \
    do {                                                                                           \
        static struct plumb_point plumb_lap_point_ = PLUMB_POINT_INIT(name, flags);                \
        (var) = plumb_lap_((var), &plumb_lap_point_);                                              \
    } while (0)

#endif

/* A plumb_scope that the end of the block restores. */
#define PLUMB_RESTORED_SCOPE_(value)                                                               \
    plumb_scope PLUMB_ID_(plumb_scope_) PLUMB_CLEANUP_(plumb_scope_cleanup_) = value

#ifdef __cplusplus
}
#endif
#endif
