/* buf.h: a growing byte buffer. A failed allocation is remembered in `failed` and later appends do
 * nothing, so that callers check once, at the end. Always NUL-terminated when data is not NULL. */
#ifndef PLUMB_BASE_BUF_H
#define PLUMB_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include <plumb/error.h>

struct plumb_buf {
    char *data;
    size_t len, cap;
    bool failed;
};

void plumb_buf_append(struct plumb_buf *b, const void *bytes, size_t n);
void plumb_buf_str(struct plumb_buf *b, const char *text);
void plumb_buf_char(struct plumb_buf *b, char c);
void plumb_buf_printf(struct plumb_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void plumb_buf_fini(struct plumb_buf *b);

/* Writes a file called `name` to the place where the caller keeps such files. Returns 0 or an
 * error. */
typedef int (*plumb_write_fn)(void *arg, const char *name, const struct plumb_buf *b,
                              plumb_error *err);

#endif
