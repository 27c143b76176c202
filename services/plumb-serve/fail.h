/* fail.h: fills an error and returns its status, as `return serve_fail(err, PLUMB_ERR_ARG, ...)`.
 */
#ifndef PLUMB_SERVE_FAIL_H
#define PLUMB_SERVE_FAIL_H

#include <stdarg.h>
#include <stdio.h>

#include <plumb/error.h>

__attribute__((format(printf, 3, 4))) static inline int serve_fail(plumb_error *err, int code,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

#endif
