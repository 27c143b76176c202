/* error.c: writes the one line of a plumb_error. No state; any thread.
 *
 * The text is formatted in a separate buffer first, because a caller may pass the old message of
 * the same error as an argument, to prefix it with a context. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/print.h"
#include "base/text/utf8.h"

/* A cut in the middle of a character would make the whole line invalid for strict readers. */
static void drop_cut_character(char *text)
{
    size_t at = strlen(text);
    size_t back = 0;
    while (back < 3 && at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) {
        at--;
        back++;
    }
    if (at > 0 && (unsigned char)text[at - 1] >= 0xc0 && plumb_utf8_sequence(text + at - 1) == 0)
        text[at - 1] = '\0';
}

int plumb_fail(plumb_error *err, int code, const char *format, ...)
{
    char text[sizeof err->message];
    int saved_errno = errno;
    va_list args;
    if (!err)
        return code;
    va_start(args, format);
    int n = plumb_vprint(text, sizeof text, format, args);
    va_end(args);
    if (n < 0)
        text[0] = '\0';
    if (n >= (int)sizeof text)
        drop_cut_character(text);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    err->code = code;
    memcpy(err->message, text, strlen(text) + 1);
    errno = saved_errno;
    return code;
}
