/* log.c: the log slot (one of the few mutable file-scope variables: level and callback must be
 * known before and after any runtime exists). */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "base/print.h"
#include "base/stderr.h"
#include "base/utf8.h"

static struct {
    int level;
    plumb_log_fn fn;
    void *arg;
} log_slot;

void plumb_log_set(int level, plumb_log_fn fn, void *arg)
{
    PLUMB_STORE(log_slot.arg, arg);
    PLUMB_RELEASE(log_slot.fn, fn);
    PLUMB_STORE(log_slot.level, level);
}

int plumb_log_level(void)
{
    return PLUMB_LOAD(log_slot.level);
}

/* Names and values of variables come from outside: none of them may begin a line of its own, or
 * speak to the terminal (C1 controls do that as well, which are two bytes in UTF-8). */
static void clean(char *line)
{
    while (*line) {
        size_t n = plumb_utf8_sequence(line);
        bool control = (unsigned char)*line < 0x20 || *line == 0x7f ||
                       (n == 2 && *line == '\xc2' && (unsigned char)line[1] < 0xa0);
        if (n == 0 || control)
            memset(line, '?', n ? n : 1);
        line += n ? n : 1;
    }
}

/* `line` [n + 1]: its last byte becomes a newline where no callback takes it. */
static void speak(int level, char *line, size_t n, plumb_log_fn fn)
{
    if (fn) {
        fn(level, line, PLUMB_LOAD(log_slot.arg));
        return;
    }
    line[n] = '\n';
    plumb_stderr_write(line, n + 1);
}

/* ---- Lines that wait ------------------------------------------------------------------------- */

enum { HELD_BYTES = 256 * 1024 };
struct held_line { /* its text follows, and a NUL */
    int level;
    uint32_t bytes;
    uint32_t for_callback;
};
static __thread struct {
    char *lines; /* [HELD_BYTES]; NULL: none yet */
    size_t used;
    bool on;
    bool busy; /* a signal handler that comes now writes its line at once */
} held __attribute__((tls_model("initial-exec")));

void plumb_log_hold(void)
{
    held.on = true;
}

static bool keep(int level, const char *line, size_t n, bool for_callback)
{
    struct held_line head = {level, (uint32_t)n, for_callback};
    bool kept;
    if (!held.on || held.busy || held.used + sizeof head + n + 1 > HELD_BYTES)
        return false;
    PLUMB_STORE(held.busy, true);
    if (!held.lines)
        held.lines = plumb_pages_map(HELD_BYTES);
    if ((kept = held.lines != NULL)) {
        memcpy(held.lines + held.used, &head, sizeof head);
        memcpy(held.lines + held.used + sizeof head, line, n + 1);
        held.used += sizeof head + n + 1;
    }
    PLUMB_STORE(held.busy, false);
    return kept;
}

void plumb_log_release(void)
{
    char *lines = held.lines;
    size_t used = held.used, at = 0;
    struct held_line head;
    /* A callback may come here again. */
    memset(&held, 0, sizeof held);
    while (at < used) {
        char *text = lines + at + sizeof head;
        memcpy(&head, lines + at, sizeof head);
        speak(head.level, text, head.bytes, head.for_callback ? PLUMB_ACQUIRE(log_slot.fn) : NULL);
        at += sizeof head + head.bytes + 1;
    }
    if (lines)
        plumb_pages_unmap(lines, HELD_BYTES);
}

static void emit(int level, char *line, size_t size, int len)
{
    plumb_log_fn fn = PLUMB_ACQUIRE(log_slot.fn);
    size_t n = len < 0 ? 0 : (size_t)len < size - 1 ? (size_t)len : size - 2;
    line[n] = '\0';
    clean(line);
    if (!keep(level, line, n, fn != NULL))
        speak(level, line, n, fn);
}

void plumb_log(int level, const char *format, ...)
{
    char line[1024];
    va_list ap;
    int prefix, len;
    if (level > plumb_log_level())
        return;
    prefix = snprintf(line, sizeof line, "%s",
                      PLUMB_ACQUIRE(log_slot.fn) || level == PLUMB_LOG_INFO ? "" : "plumb: ");
    va_start(ap, format);
    len = plumb_vprint(line + prefix, sizeof line - (size_t)prefix, format, ap);
    va_end(ap);
    emit(level, line, sizeof line, prefix + len);
}

void plumb_log_to(int level, plumb_log_fn fn, void *arg, const char *format, ...)
{
    char line[1024];
    va_list ap;
    if (level > plumb_log_level())
        return;
    va_start(ap, format);
    plumb_vprint(line, sizeof line, format, ap);
    va_end(ap);
    clean(line);
    fn(level, line, arg);
}

void plumb_say(const char *format, ...)
{
    char line[1024];
    va_list ap;
    int len;
    va_start(ap, format);
    len = plumb_vprint(line, sizeof line, format, ap);
    va_end(ap);
    emit(PLUMB_LOG_WARN, line, sizeof line, len);
}
