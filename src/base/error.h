/* error.h: how a function reports why it failed. The text is written once, by the function that
 * first knows the cause. */
#ifndef PLUMB_BASE_ERROR_H
#define PLUMB_BASE_ERROR_H

#include <plumb/error.h>

/* Writes code and text to `err` (may be NULL) and returns `code`, so that callers can
 * `return plumb_fail(...)`. Control characters of the text become '?', so that it stays one line.
 */
int plumb_fail(plumb_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
