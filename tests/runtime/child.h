/* child.h: for tests whose subject is a whole process: how it is born, forks, is killed, ends.
 *
 * Such a program is both sides. Without arguments it is the test; started with the name of a role
 * it plays that role, with its own runtime in it. A role calls child_ready() when it reaches the
 * point that the test waits for, so no test sleeps. Run directories lie below the test's own
 * folder. */
#ifndef TESTS_RUNTIME_CHILD_H
#define TESTS_RUNTIME_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <plumb/plumb.h>

#include "live/layout.h"
#include "random.h"
#include "read/run/load.h"

extern char **environ;

/* ---- The child's side
 * ----------------------------------------------------------------------------
 */

struct role {
    const char *name;
    int (*play)(void);
};

enum { CHILD_READY_FD = 3, CHILD_GO_FD = 4 };

/* Exit status of a role in which a needed condition does not hold. */
#define ROLE_NEEDS(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

static inline void child_ready(void)
{
    ROLE_NEEDS(write(CHILD_READY_FD, "r", 1) == 1);
}

/* Waits for the test's child_go(). */
static inline void child_wait_go(void)
{
    char c;
    ssize_t n;
    while ((n = read(CHILD_GO_FD, &c, 1)) < 0 && errno == EINTR)
        continue;
    ROLE_NEEDS(n == 1);
}

/* Returns the resident memory of this process. The kernel counts it page by page here; its running
 * sums are off by the share that each processor still keeps to itself, which is megabytes on
 * machines with many. */
static inline uint64_t resident_kib(void)
{
    unsigned long long all = 0, kib;
    char line[4096];
    FILE *f = fopen("/proc/self/smaps", "re");
    ROLE_NEEDS(f != NULL);
    while (fgets(line, sizeof line, f))
        all += sscanf(line, "Rss: %llu kB", &kib) == 1 ? kib : 0;
    fclose(f);
    ROLE_NEEDS(all > 0);
    return all;
}

/* Of a process that the role started itself. */
static inline int child_status_of(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static inline void child_needs_exit(pid_t pid, int code)
{
    int status = child_status_of(pid);
    ROLE_NEEDS(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static inline int child_play(const struct role *roles, const char *name)
{
    for (; roles->name; roles++) {
        if (strcmp(roles->name, name) == 0)
            return roles->play();
    }
    fprintf(stderr, "no role '%s'\n", name);
    return 98;
}

/* ---- The test's side
 * -----------------------------------------------------------------------------
 */

struct child {
    pid_t pid;
    int ready_fd, go_fd;
    char err_path[64]; /* its stderr */
};

/* "<the test's folder>/<name>", in one of a few static buffers. */
static inline const char *in_place(const char *name)
{
    static char paths[8][2048];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    char cwd[900];
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(path, sizeof paths[0], "%s/%s", cwd, name);
    return path;
}

/* For cmocka's group setup: into a folder of the program's own below the one it was started in, and
 * that is empty: what an earlier start left would be in the way of this one's runs. */
static inline int fresh_place(void **state)
{
    char exe[1024], path[1100], command[1200];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    (void)state;
    exe[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "%s.place", strrchr(exe, '/') ? strrchr(exe, '/') + 1 : "test");
    snprintf(command, sizeof command, "rm -rf './%s'", path);
    return system(command) != 0 || mkdir(path, 0700) < 0 || chdir(path) < 0;
}

static inline void child_exec(const char *role, const char *const *settings)
{
    char *args[] = {(char *)"role", (char *)(uintptr_t)role, NULL};
    char path[1024];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    args[0] = path;
    for (; settings && *settings; settings++)
        putenv((char *)(uintptr_t)*settings);
    execv(path, args);
    _exit(97);
}

/* Starts `role` with its own run directory `dir` (below the test's folder;
 * NULL: not recording) and further settings "NAME=value", ended by NULL. */
static inline struct child child_start(const char *role, const char *dir,
                                       const char *const *settings)
{
    static unsigned number;
    struct child c = {0};
    int ready[2], go[2];
    char run_dir[1100];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    snprintf(c.err_path, sizeof c.err_path, "%s-%u.err", role, number++);
    if (dir)
        snprintf(run_dir, sizeof run_dir, "PLUMB_RUN_DIR=%s", in_place(dir));
    fflush(NULL);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        int err = open(c.err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        /* The ends may lie on each other's numbers. */
        int r = fcntl(ready[1], F_DUPFD_CLOEXEC, 10), g = fcntl(go[0], F_DUPFD_CLOEXEC, 10);
        dup2(r, CHILD_READY_FD);
        dup2(g, CHILD_GO_FD);
        dup2(err, STDERR_FILENO);
        if (dir)
            putenv(run_dir);
        child_exec(role, settings);
    }
    close(ready[1]);
    close(go[0]);
    c.ready_fd = ready[0];
    c.go_fd = go[1];
    return c;
}

static inline const char *child_errors(const struct child *c)
{
    static char text[262144];
    FILE *f = fopen(c->err_path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    return text;
}

static inline void child_await_ready(const struct child *c)
{
    char byte;
    ssize_t n;
    while ((n = read(c->ready_fd, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (n != 1)
        fail_msg("the child ended early: %s", child_errors(c));
}

static inline void child_go(const struct child *c)
{
    assert_int_equal(write(c->go_fd, "g", 1), 1);
}

/* Waits for the end: its wait status. */
static inline int child_end(struct child *c)
{
    int status = child_status_of(c->pid);
    close(c->ready_fd);
    close(c->go_fd);
    return status;
}

/* Kills a forked child once `*count`, which it shares with the test, has come to `least`, and
 * `longer` turns of an empty loop later. */
static inline void child_kill_after(pid_t pid, const uint64_t *count, uint64_t least,
                                    uint64_t longer)
{
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < least) {
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        sched_yield();
    }
    for (uint64_t i = 0; i < longer; i++)
        __asm__ volatile("" ::: "memory");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Returns zeroed memory that forked children share with the test: they count in it. munmap() it. */
static inline void *child_side(size_t bytes)
{
    void *side = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(side, MAP_FAILED);
    return side;
}

/* A child that is killed at work: `until_killed` records into `dir` and does not return. */
struct victim {
    void (*until_killed)(const char *dir, void *arg);
    void *arg;
    void *side; /* from child_side(); cleared first */
    size_t side_bytes;
    const uint64_t *count; /* in `side`: see child_kill_after() */
    uint64_t least, longer;
};

/* Forks such a child and kills it. Returns its `dir`, kill-<number> in the test's folder, as
 * in_place() does. */
static inline const char *child_kill(const struct victim *v, int number)
{
    char name[32];
    const char *dir;
    pid_t pid;
    memset(v->side, 0, v->side_bytes);
    snprintf(name, sizeof name, "kill-%d", number);
    dir = in_place(name);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        v->until_killed(dir, v->arg);
        _exit(0);
    }
    child_kill_after(pid, v->count, v->least, v->longer);
    return dir;
}

/* Returns how many children are killed: TEST_KILLS, or `otherwise` without it. */
static inline int child_kills(int otherwise)
{
    const char *asked = getenv("TEST_KILLS");
    return asked ? atoi(asked) : otherwise;
}

static inline int child_run(struct child *out, const char *role, const char *dir,
                            const char *const *settings)
{
    struct child c = child_start(role, dir, settings);
    int status = child_end(&c);
    if (out)
        *out = c;
    return status;
}

static inline void assert_exited(const struct child *c, int status, int code)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
        fail_msg("wait status %#x, not exit %d: %s", status, code, child_errors(c));
}

static inline void assert_signaled(const struct child *c, int status, int sig)
{
    if (!WIFSIGNALED(status) || WTERMSIG(status) != sig)
        fail_msg("wait status %#x, not signal %d: %s", status, sig, child_errors(c));
}

/* ---- What it left
 * --------------------------------------------------------------------------------
 */

static inline bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static inline bool run_has(const char *dir, const char *name)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return exists(path);
}

/* Something that was to be renamed when it was whole. */
static inline bool run_has_temporary(const char *dir)
{
    char pattern[1400];
    glob_t found = {0};
    bool has;
    snprintf(pattern, sizeof pattern, "%s/*.tmp", dir);
    has = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return has;
}

static inline void remove_run(const char *dir)
{
    static const char *const names[] = {"timing.json", PLUMB_LIVE_NAME, PLUMB_TRACE_FILE};
    char path[1400];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* A folder with all that is below it. */
static inline void remove_tree(const char *dir)
{
    assert_int_equal(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline const struct plumb_timing_node *node_in(const struct plumb_timing *t,
                                                      const char *phase, const char *name)
{
    for (size_t i = 0; i < t->node_count; i++) {
        if (strcmp(t->nodes[i].name, name) == 0 && strcmp(t->nodes[i].phase, phase) == 0)
            return &t->nodes[i];
    }
    return NULL;
}

static inline uint64_t count_of(const struct plumb_timing *t, const char *name)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->node_count; i++)
        n += strcmp(t->nodes[i].name, name) == 0 ? t->nodes[i].host.ns.count : 0;
    return n;
}

static inline void assert_channel_consistent(const char *name, const struct plumb_timing_channel *c)
{
    uint64_t mass = 0;
    for (size_t i = 0; i < c->bucket_count; i++)
        mass += c->buckets[i].count;
    if (mass != c->ns.count)
        fail_msg("'%s': %" PRIu64 " samples, %" PRIu64 " in the sketch", name, c->ns.count, mass);
    if (c->ns.count &&
        !((double)c->ns.min <= c->p50_ns + 1 && c->p50_ns <= c->p90_ns && c->p90_ns <= c->p95_ns &&
          c->p95_ns <= c->p99_ns && c->p99_ns <= (double)c->ns.max + 1 && c->ns.max <= c->ns.total))
        fail_msg("'%s': quantiles out of order", name);
}

/* Every invariant that holds in any report. `spans_only`: no samples measured
 * elsewhere, so that the call tree has every run of every row. */
static inline void assert_consistent(const struct plumb_timing *t, bool spans_only)
{
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        uint64_t in_tree = 0;
        assert_channel_consistent(n->name, &n->host);
        assert_channel_consistent(n->name, &n->device);
        for (size_t k = 0; k < t->tree_count; k++)
            in_tree += t->tree[k].node == i ? t->tree[k].count : 0;
        if (spans_only && in_tree != n->host.ns.count)
            fail_msg("'%s': %" PRIu64 " runs, %" PRIu64 " in the call tree", n->name,
                     n->host.ns.count, in_tree);
    }
}

/* The report of a run, recovered from its mapping when it was killed. */
static inline void load_run(struct plumb_load *out, const char *dir)
{
    plumb_error err = {0, ""};
    if (plumb_load_run(out, dir, &err) < 0)
        fail_msg("%s: %s", dir, err.message);
}

/* The one run directory below `parent`/<pipeline>/; fails unless there are
 * `want` of them. */
static inline int runs_below(char (*out)[1024], int room, const char *parent)
{
    char command[1200], line[1024];
    int n = 0;
    FILE *f;
    snprintf(command, sizeof command, "find '%s' -mindepth 2 -maxdepth 2 -type d | sort", parent);
    f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (n < room)
            memcpy(out[n], line, sizeof line);
        n++;
    }
    pclose(f);
    return n;
}

#endif
