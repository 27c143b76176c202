/* disabled.h: PLUMB_DISABLE. The table is NULL always, so that every function of plumb.h does
 * what it does without a runtime and the compiler omits it. Here is only what that does not
 * give: spans, which would leave a static trace point, and the cleanup at the end of a block.
 *
 * Arguments are still evaluated where they were, so that a program means the same. */
#ifndef PLUMB_DETAIL_DISABLED_H
#define PLUMB_DETAIL_DISABLED_H

#include <plumb/detail/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline const struct plumb_api *plumb_api_(void)
{
    return NULL;
}
static inline const struct plumb_api *plumb_client_api_(void)
{
    return NULL;
}
#define PLUMB_HAS_CLIENT_ 0
#define PLUMB_KNOWS_(api, member) ((void)(api), 0)

static inline plumb_span plumb_begin_(struct plumb_point *point)
{
    plumb_span none = {0};
    (void)point;
    return none;
}
static inline void plumb_end_(plumb_span span)
{
    (void)span;
}
static inline plumb_span plumb_lap_(plumb_span span, struct plumb_point *point)
{
    (void)point;
    return span;
}

#define PLUMB_CLEANUP_(fn) __attribute__((unused))
#define PLUMB_SCOPE_(var, name, flags) plumb_span var __attribute__((unused)) = {0}
#define PLUMB_SCOPE_UNNAMED_(name, flags) struct plumb_nothing_
#define PLUMB_LAP_AS_(var, name, flags) ((void)(var))

#ifdef __cplusplus
}
#endif
#endif
