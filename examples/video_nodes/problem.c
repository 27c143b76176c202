/* Owns how a failure becomes one line of text. */
#include "problem.h"

#include <libavutil/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print(struct problem *p, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void print(struct problem *p, const char *format, va_list args)
{
    vsnprintf(p->text, sizeof(p->text), format, args);
    for (char *c = p->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

int problem_set(struct problem *p, const char *format, ...)
{
    va_list args;

    if (p->text[0])
        return -1;
    va_start(args, format);
    print(p, format, args);
    va_end(args);
    return -1;
}

int problem_set_av(struct problem *p, int status, const char *format, ...)
{
    char reason[AV_ERROR_MAX_STRING_SIZE] = "";
    va_list args;
    size_t length;

    if (p->text[0])
        return -1;
    va_start(args, format);
    print(p, format, args);
    va_end(args);
    av_strerror(status, reason, sizeof(reason));
    length = strlen(p->text);
    snprintf(p->text + length, sizeof(p->text) - length, ": %s", reason);
    return -1;
}
