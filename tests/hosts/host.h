/* host.h: shared by the programs of this folder. Each is a program, such as a user might write,
 * that is hard on plumb. It includes public headers alone, checks itself with HOST_NEEDS(), and
 * says with host_expect() what must have been recorded. tests/hosts/_run.sh runs it without
 * recording, with recording, and with everything on.
 *
 *   TEST_ROUNDS   multiplies host_rounds() (1; `make soak` asks for 25) */
#ifndef TESTS_HOSTS_HOST_H
#define TESTS_HOSTS_HOST_H

/* HOST_UNLINKED: a host with `link: none`, which has the header and no libplumb. */
#if !defined(PLUMB_LINKED) && !defined(HOST_UNLINKED)
#define PLUMB_LINKED
#endif
#include <errno.h>
#include <plumb/plumb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* The end of a host to which something happened that does not happen without plumb. */
#define HOST_NEEDS(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);      \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOST_SLOWER 4 /* times, under a sanitizer */
#else
#define HOST_SLOWER 1
#endif

static inline long host_rounds(long n)
{
    const char *times = getenv("TEST_ROUNDS");
    n /= HOST_SLOWER;
    return (n ? n : 1) * (times ? atol(times) : 1);
}

/* The host's own status, or 128 + the signal that ended it. */
static inline int host_status_of(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- Signals at a rate ----------------------------------------------------------------------- */

static inline void host_signals_to(struct sigaction action, int us)
{
    struct itimerval timer = {{0, us}, {0, us}};
    HOST_NEEDS(sigaction(SIGALRM, &action, NULL) == 0);
    HOST_NEEDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* SIGALRM every `us` microseconds from now on. */
static inline void host_signals(void (*handler)(int), int us)
{
    host_signals_to((struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART}, us);
}

static inline void host_signals_end(void)
{
    struct itimerval none = {{0, 0}, {0, 0}};
    HOST_NEEDS(setitimer(ITIMER_REAL, &none, NULL) == 0);
    HOST_NEEDS(signal(SIGALRM, SIG_IGN) != SIG_ERR);
}

/* ---- What must have been recorded ------------------------------------------------------------ */

/* Expects `least` to `most` spans of `node` in the run in `dir` at its end. With `dropped`, spans
 * that are missing from `most` must be counted as dropped. The expectation goes to the file
 * `expected`, and _run.sh compares. */
static inline void host_expect_in(const char *dir, const char *node, uint64_t least, uint64_t most,
                                  int dropped)
{
    FILE *expected = fopen("expected", "ae");
    HOST_NEEDS(expected != NULL);
    fprintf(expected, "%s\t%s\t%llu\t%llu\t%d\n", dir, node, (unsigned long long)least,
            (unsigned long long)most, dropped);
    fclose(expected);
}

static inline uint64_t host_count_of(const char *node)
{
    plumb_rows *rows = NULL;
    plumb_error err = {0, ""};
    uint64_t count = 0;
    if (plumb_summary_rows(&rows, NULL, NULL, &err) < 0) {
        fprintf(stderr, "plumb_summary_rows: %s\n", err.message);
        _exit(98);
    }
    for (size_t i = 0; i < plumb_rows_count(rows); i++)
        if (strcmp(plumb_rows_get(rows, i)->node, node) == 0)
            count += plumb_rows_get(rows, i)->count;
    plumb_rows_free(rows);
    return count;
}

static inline void host_expect_between(const char *node, uint64_t least, uint64_t most, int dropped)
{
    char dir[1024];
    uint64_t count;
    if (!plumb_is_recording())
        return;
    count = host_count_of(node);
    if (count < least || count > most) {
        fprintf(stderr, "%s: %llu in the summary, not %llu to %llu\n", node,
                (unsigned long long)count, (unsigned long long)least, (unsigned long long)most);
        _exit(98);
    }
    if (plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK)
        host_expect_in(dir, node, least, most, dropped);
}

/* Of `node` there are `count` spans, and no more will come; unless nothing is recorded. */
static inline void host_expect(const char *node, uint64_t count)
{
    host_expect_between(node, count, count, 0);
}

/* Of `count` spans that were begun, those that the report does not have are counted as dropped
 * there. */
static inline void host_expect_at_most(const char *node, uint64_t count)
{
    host_expect_between(node, 0, count, 1);
}

#endif
