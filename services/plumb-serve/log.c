/* log.c: lines on stderr. No state; a line is one write(2), so that lines of threads do not mix. */
#include "log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048, ESCAPED_MAX = 4 };

static size_t put_time(char *out, size_t size)
{
    struct timespec now;
    struct tm tm;
    char second[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &tm))
        strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &tm);
    return (size_t)snprintf(out, size, "%s.%03dZ plumb serve: ", second,
                            (int)(now.tv_nsec / 1000000));
}

void serve_log(const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    char line[LINE_MAX_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = put_time(line, sizeof line);
    for (const unsigned char *p = (const unsigned char *)text;
         *p && n + ESCAPED_MAX + 1 < sizeof line; p++)
        if (*p < 0x20 || *p == 0x7f)
            n += (size_t)snprintf(line + n, sizeof line - n, "\\x%02x", *p);
        else
            line[n++] = (char)*p;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* a closed stderr does not end the server */
}
