/* print.h: text with numbers in the C locale. The host's locale may write 1,5; plumb's messages and
 * files are the same everywhere. */
#ifndef PLUMB_BASE_TEXT_PRINT_H
#define PLUMB_BASE_TEXT_PRINT_H

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

/* vsnprintf() in the C locale, which is built into the C library, so nothing is allocated. Any
 * thread; the locale of the thread is restored. */
static inline int plumb_vprint(char *out, size_t size, const char *format, va_list args)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c);
    int n = vsnprintf(out, size, format, args);
    uselocale(before);
    if (c)
        freelocale(c);
    return n;
}

static inline int plumb_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline int plumb_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = plumb_vprint(out, size, format, args);
    va_end(args);
    return n;
}

#endif
