/* control.h: for tests of the control of a running process: the front end's side. Sockets lie below
 * the test's own folder. */
#ifndef TESTS_RUNTIME_CONTROL_H
#define TESTS_RUNTIME_CONTROL_H

#include <poll.h>

#include <plumb/control.h>

#include "runtime/child.h"

enum { CONTROL_WAIT_MS = 60000 };

/* Returns whether the test has said that the role is to go on. */
static inline bool child_may_go(void)
{
    struct pollfd p = {CHILD_GO_FD, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
}

static inline void nap_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* For cmocka's group setup: the test's sockets are in the test's folder. */
static inline int control_place(void **state)
{
    int rc = fresh_place(state);
    if (rc == 0) {
        mkdir("runtime", 0700);
        setenv("XDG_RUNTIME_DIR", in_place("runtime"), 1);
    }
    return rc;
}

/* Connects to a child that is about to make its socket. */
static inline plumb_control *control_of(const struct child *c, pid_t pid)
{
    plumb_control *control = NULL;
    plumb_error err = {0, ""};
    char who[32];
    int rc = PLUMB_ERR_NOT_FOUND;
    snprintf(who, sizeof who, "%d", (int)pid);
    for (int i = 0; i < CONTROL_WAIT_MS && rc == PLUMB_ERR_NOT_FOUND; i++) {
        rc = plumb_control_connect(&control, who, CONTROL_WAIT_MS, &err);
        if (rc < 0)
            nap_ms(1);
    }
    if (rc < 0)
        fail_msg("%s: %s", err.message, child_errors(c));
    return control;
}

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        plumb_error err = {0, ""};                                                                 \
        if ((call) < 0)                                                                            \
            fail_msg("%s: %d %s", #call, err.code, err.message);                                   \
    } while (0)
/* The call fails with `code`, and its message has `text`. */
#define assert_fails(code_, text_, call)                                                           \
    do {                                                                                           \
        plumb_error err = {0, ""};                                                                 \
        assert_int_equal((call), (code_));                                                         \
        if (!strstr(err.message, (text_)))                                                         \
            fail_msg("%s: '%s' is not in '%s'", #call, (text_), err.message);                      \
    } while (0)

static inline const plumb_process *status_of(plumb_control *c)
{
    const plumb_process *p = NULL;
    assert_ok(plumb_control_status(&p, c, &err));
    return p;
}

/* Returns the path of the socket of a process, in one of a few static buffers. */
static inline const char *socket_of(pid_t pid)
{
    char pattern[1400];
    static char path[1400];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/plumb/%d.*", in_place("runtime"), (int)pid);
    path[0] = '\0';
    if (glob(pattern, 0, NULL, &found) == 0)
        snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

#endif
