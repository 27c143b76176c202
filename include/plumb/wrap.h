/* wrap.h: functions whose every call is a span or a stage. Part of plumb.h. plumb.hpp has
 * plumb::wrap() for C++.
 *
 *     PLUMB_WRAP(int, decode, (struct d *d, int n), (d, n));
 *     ...
 *     status = decode_plumb(&d, 4);            (decode(&d, 4), in a span called "decode")
 */
#ifndef PLUMB_WRAP_H
#define PLUMB_WRAP_H

#include <plumb/detail/scope.h>

/* Wraps a function: PLUMB_WRAP(int, decode, (struct d *d, int n), (d, n)) defines
 * `int decode_plumb(struct d *d, int n)`, which runs decode(d, n) in a span called "decode". */
#define PLUMB_WRAP(ret, fn, params, args)                                                          \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_SCOPE_UNNAMED_(#fn, PLUMB_POINT_PLAIN))
#define PLUMB_WRAP_VOID(fn, params, args)                                                          \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_SCOPE_UNNAMED_(#fn, PLUMB_POINT_PLAIN))
/* As PLUMB_WRAP; the span is recorded only while debug is on. */
#define PLUMB_WRAP_DEBUG(ret, fn, params, args)                                                    \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_SCOPE_UNNAMED_(#fn, PLUMB_POINT_DEBUG))
#define PLUMB_WRAP_DEBUG_VOID(fn, params, args)                                                    \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_SCOPE_UNNAMED_(#fn, PLUMB_POINT_DEBUG))
/* As PLUMB_WRAP, with a stage instead of a span. */
#define PLUMB_WRAP_STAGE(ret, fn, params, args)                                                    \
    PLUMB_WRAP_(ret, fn, params, args, PLUMB_SCOPE_(plumb_stage_, #fn, PLUMB_POINT_STAGE))
#define PLUMB_WRAP_STAGE_VOID(fn, params, args)                                                    \
    PLUMB_WRAP_VOID_(fn, params, args, PLUMB_SCOPE_(plumb_stage_, #fn, PLUMB_POINT_STAGE))
/* ... that is recorded only while debug is on. */
#define PLUMB_WRAP_STAGE_DEBUG(ret, fn, params, args)                                              \
    PLUMB_WRAP_(ret, fn, params, args,                                                             \
                PLUMB_SCOPE_(plumb_stage_, #fn, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG))
#define PLUMB_WRAP_STAGE_DEBUG_VOID(fn, params, args)                                              \
    PLUMB_WRAP_VOID_(fn, params, args,                                                             \
                     PLUMB_SCOPE_(plumb_stage_, #fn, PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG))

#define PLUMB_WRAP_(ret, fn, params, args, span)                                                   \
    static inline ret fn##_plumb params                                                            \
    {                                                                                              \
        span;                                                                                      \
        return fn args;                                                                            \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_
#define PLUMB_WRAP_VOID_(fn, params, args, span)                                                   \
    static inline void fn##_plumb params                                                           \
    {                                                                                              \
        span;                                                                                      \
        fn args;                                                                                   \
    }                                                                                              \
    typedef int fn##_plumb_wrapped_

#endif
