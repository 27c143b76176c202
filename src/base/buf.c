/* buf.c: a growing byte buffer. One thread at a time. Invariant: data is NULL, or cap > len and
 * data[len] is NUL. After a failed allocation the bytes appended before it stay readable. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/print.h"

/* Makes sure that `n` more bytes and the NUL fit. */
static bool reserve(struct plumb_buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (n < b->cap - b->len)
        return true;
    size_t cap = b->cap ? b->cap : 128;
    while (cap - b->len <= n && cap <= SIZE_MAX / 2)
        cap *= 2;
    char *data = cap - b->len > n ? realloc(b->data, cap) : NULL;
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void plumb_buf_append(struct plumb_buf *b, const void *bytes, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n > 0)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void plumb_buf_str(struct plumb_buf *b, const char *text)
{
    plumb_buf_append(b, text, strlen(text));
}

void plumb_buf_char(struct plumb_buf *b, char c)
{
    if (!reserve(b, 1))
        return;
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}

void plumb_buf_printf(struct plumb_buf *b, const char *format, ...)
{
    va_list args;
    va_list again;
    if (!reserve(b, 64))
        return;
    va_start(args, format);
    va_copy(again, args);
    int n = plumb_vprint(b->data + b->len, b->cap - b->len, format, args);
    if (n < 0)
        b->failed = true;
    else if ((size_t)n >= b->cap - b->len && reserve(b, (size_t)n))
        n = plumb_vprint(b->data + b->len, b->cap - b->len, format, again);
    if (b->failed || n < 0)
        b->data[b->len] = '\0'; /* a half-written line is not appended */
    else
        b->len += (size_t)n;
    va_end(again);
    va_end(args);
}

void plumb_buf_fini(struct plumb_buf *b)
{
    free(b->data);
    *b = (struct plumb_buf){0};
}
