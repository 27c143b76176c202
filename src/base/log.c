/* log.c: the log slot (one of the few mutable file-scope variables: level and callback must be
 * known before and after any runtime exists). */
#include "base/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/pages.h"
#include "base/stderr.h"
#include "base/text/print.h"
#include "base/text/utf8.h"

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

void plumb_log_set_level(int level)
{
    PLUMB_STORE(log_slot.level, level);
}

int plumb_log_level(void)
{
    return PLUMB_LOAD(log_slot.level);
}

/* Names and values of variables come from outside: none of them may begin a new line or control the
 * terminal (C1 controls, two bytes in UTF-8, do that as well). */
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
static void speak(int level, char *line, size_t n)
{
    plumb_log_fn fn = PLUMB_ACQUIRE(log_slot.fn);
    if (fn) {
        fn(level, line, PLUMB_LOAD(log_slot.arg));
        return;
    }
    line[n] = '\n';
    plumb_stderr_write(line, n + 1);
}

/* ---- Lines that wait ------------------------------------------------------------------------- */

enum { HELD_FIRST = 64 * 1024, HELD_MOST = 8 * 1024 * 1024, TRIES = 1000 };

/* In pages, not from malloc(): a signal handler may show them. Each line is its level, its text,
 * and a NUL. */
static struct {
    pthread_mutex_t lock;
    char *lines; /* NULL: none */
    size_t size, used;
    uint32_t any;      /* atomic */
    uint64_t too_many; /* lines that did not fit */
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    uint32_t holds;
    bool busy; /* a signal handler that runs now prints its line at once, or shows nothing */
} mine __attribute__((tls_model("initial-exec")));

void plumb_log_hold(void)
{
    mine.holds++;
}

/* Under the lock: whether `n` bytes more fit. */
static bool has_room(size_t n)
{
    size_t size = held.size ? held.size : HELD_FIRST;
    char *lines;
    while (size - held.used < n)
        size *= 2;
    if (size == held.size)
        return true;
    lines = size <= HELD_MOST ? plumb_pages_map(size) : NULL;
    if (!lines)
        return false;
    if (held.lines) {
        memcpy(lines, held.lines, held.used);
        plumb_pages_unmap(held.lines, held.size);
    }
    held.lines = lines;
    held.size = size;
    return true;
}

/* Under the lock. */
static void keep_locked(int level, const char *line, size_t n)
{
    PLUMB_STORE(held.any, 1);
    if (!has_room(n + 2)) {
        held.too_many++;
        return;
    }
    held.lines[held.used] = (char)level;
    memcpy(held.lines + held.used + 1, line, n + 1);
    held.used += n + 2;
}

static bool keep(int level, const char *line, size_t n)
{
    if (!mine.holds || mine.busy)
        return false;
    PLUMB_STORE(mine.busy, true);
    pthread_mutex_lock(&held.lock);
    keep_locked(level, line, n);
    pthread_mutex_unlock(&held.lock);
    PLUMB_STORE(mine.busy, false);
    return true;
}

/* Gives up after some tries: the holder may be interrupted by a signal handler, for however
 * long. */
static bool held_trylock(void)
{
    for (int i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(&held.lock) == 0)
            return true;
        sched_yield();
    }
    return false;
}

struct taken {
    char *lines;
    size_t size, used;
    uint64_t too_many;
};

static struct taken take(void)
{
    struct taken t = {NULL, 0, 0, 0};
    PLUMB_STORE(mine.busy, true);
    if (held_trylock()) {
        t = (struct taken){held.lines, held.size, held.used, held.too_many};
        held.lines = NULL;
        held.size = held.used = held.too_many = 0;
        PLUMB_STORE(held.any, 0);
        pthread_mutex_unlock(&held.lock);
    }
    PLUMB_STORE(mine.busy, false);
    return t;
}

void plumb_log_show(enum plumb_log_sink sinks)
{
    enum plumb_log_sink sink =
        PLUMB_ACQUIRE(log_slot.fn) ? PLUMB_LOG_TO_CALLBACK : PLUMB_LOG_TO_STDERR;
    struct taken t;
    if (mine.busy || !PLUMB_ACQUIRE(held.any) || !(sinks & sink))
        return;
    t = take();
    for (size_t at = 0; at < t.used;) {
        size_t n = strlen(t.lines + at + 1);
        speak(t.lines[at], t.lines + at + 1, n);
        at += n + 2;
    }
    if (t.lines)
        plumb_pages_unmap(t.lines, t.size);
    if (t.too_many)
        plumb_say("plumb: %llu more lines, which did not fit into the buffer",
                  (unsigned long long)t.too_many);
}

void plumb_log_release(void)
{
    if (mine.holds && --mine.holds == 0)
        plumb_log_show(PLUMB_LOG_TO_ANY);
}

/* ---- Lines for a front end ------------------------------------------------------------------- */

static struct {
    uint32_t on; /* atomic */
    size_t used;
    char text[PLUMB_LOG_ASIDE]; /* under the lock of `held`, as `used` */
} aside;

void plumb_log_aside(bool on)
{
    PLUMB_STORE(mine.busy, true);
    pthread_mutex_lock(&held.lock);
    if (on)
        aside.used = 0;
    PLUMB_STORE(aside.on, on);
    pthread_mutex_unlock(&held.lock);
    PLUMB_STORE(mine.busy, false);
}

/* Returns false if the line is to be shown. One that does not fit is left out: the first ones tell
 * most. */
static bool put_aside(const char *line)
{
    static const char prefix[] = "plumb: ";
    size_t n;
    if (!PLUMB_LOAD(aside.on) || mine.busy)
        return false;
    line += strncmp(line, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    n = strlen(line);
    PLUMB_STORE(mine.busy, true);
    pthread_mutex_lock(&held.lock);
    if (aside.used + n + 1 < sizeof aside.text) {
        memcpy(aside.text + aside.used, line, n);
        aside.used += n;
        aside.text[aside.used++] = '\n';
    }
    pthread_mutex_unlock(&held.lock);
    PLUMB_STORE(mine.busy, false);
    return true;
}

void plumb_log_take_aside(char out[PLUMB_LOG_ASIDE])
{
    PLUMB_STORE(mine.busy, true);
    pthread_mutex_lock(&held.lock);
    memcpy(out, aside.text, aside.used);
    out[aside.used] = '\0';
    aside.used = 0;
    pthread_mutex_unlock(&held.lock);
    PLUMB_STORE(mine.busy, false);
}

void plumb_log_forked(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    held.lock = fresh;
    held.lines = NULL; /* the child does not rely on its state */
    held.size = held.used = held.too_many = 0;
    aside.used = 0;
    PLUMB_STORE(aside.on, 0);
    mine.holds = 0;
    mine.busy = false;
    PLUMB_STORE(held.any, 0);
}

/* ---- Saying something ------------------------------------------------------------------------ */

/* Returns the length of the line, after which there is space for a newline. */
static size_t finish(char *line, size_t size, int len)
{
    size_t n = len < 0 ? 0 : (size_t)len < size - 1 ? (size_t)len : size - 2;
    line[n] = '\0';
    clean(line);
    return n;
}

static void emit(int level, char *line, size_t n)
{
    if (!keep(level, line, n))
        speak(level, line, n);
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
    emit(level, line, finish(line, sizeof line, prefix + len));
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
    size_t n;
    int len;
    va_start(ap, format);
    len = plumb_vprint(line, sizeof line, format, ap);
    va_end(ap);
    n = finish(line, sizeof line, len);
    if (!put_aside(line))
        emit(PLUMB_LOG_WARN, line, n);
}
