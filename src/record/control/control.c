/* control.c: see control.h. The state belongs to the helper, but for the words of plumb_rt, which
 * are atomic, and the result of the last opening, which is under the lock. */
#include "record/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/process/environment.h"
#include "base/process/process.h"
#include "control/place.h"
#include "record/control/listen.h"
#include "record/runtime/control_wanted.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/lock.h"
#include "record/runtime/point.h"
#include "record/runtime/runtime.h"

#define OPEN_WAIT_NS UINT64_C(5000000000)
#define CLOSE_WAIT_NS UINT64_C(2000000000)
#define EXIT_WAIT_NS UINT64_C(200000000)

enum {
    WAITING = 16, /* connections that wait to be accepted */
    TRIES = 64    /* passes of a trace point in signal handlers, until it is given up */
};

static struct {
    bool open;
    bool failed; /* atomic: the last opening has, and is not repeated unless the program asks */
    int folder;
    char name[PLUMB_CONTROL_NAME];
    uint64_t device, inode; /* of the socket's file */
    uid_t user;             /* at the last opening */
    uint32_t tries;         /* atomic */
    bool exits;             /* atomic */
    int rc;                 /* of the last opening; under the lock, as the next */
    plumb_error err;
} control;

/* Atomic: the library has been loaded. Until then its files may have the numbers of ours, which
 * ThreadSanitizer, for which a process has one table of descriptors, takes for a race. */
static uint32_t is_loaded;

/* ---- On the helper --------------------------------------------------------------------------- */

static bool is_in_place(void)
{
    struct stat st;
    return fstatat(control.folder, control.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (uint64_t)st.st_dev == control.device && (uint64_t)st.st_ino == control.inode;
}

/* The name has this process's number and start: a file that has it is what the program was before
 * exec(), or was put into our own folder by hand. */
static bool is_left_over(void)
{
    int fd = plumb_control_dial(control.folder, control.name);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno != EAGAIN;
}

/* The helper has a table of descriptors of its own, under the limit of the process. */
static const char *reason(int code)
{
    return code == EMFILE ? "too many open files: raise the limit (ulimit -n) to 16"
                          : strerror(code);
}

static int listen_in_folder(plumb_error *err)
{
    int fd = plumb_control_listen(control.folder, control.name, WAITING);
    if (fd < 0 && errno == EADDRINUSE && is_left_over() &&
        unlinkat(control.folder, control.name, 0) == 0)
        fd = plumb_control_listen(control.folder, control.name, WAITING);
    return fd < 0 ? plumb_fail(err, PLUMB_ERR_IO, "cannot make a control socket: %s", reason(errno))
                  : fd;
}

/* Makes the socket in the first folder that can have it. Returns its descriptor. */
static int make_socket(plumb_error *err)
{
    const char *runtime_dir = plumb_environment_get(plumb_environ(), "XDG_RUNTIME_DIR");
    char path[1024];
    int rc = PLUMB_ERR_IO;
    for (size_t i = 0; plumb_control_folder_path(path, sizeof path, i, runtime_dir, false); i++) {
        rc = control.folder = plumb_control_folder_open(path, true, err);
        if (rc < 0)
            continue;
        rc = listen_in_folder(err);
        if (rc >= 0)
            return rc;
        close(control.folder);
    }
    return rc;
}

static int start_listening(plumb_error *err)
{
    struct stat st;
    uint64_t start;
    int fd, code;
    errno = 0;
    start = plumb_process_start(plumb_rt.pid);
    if (!start)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read /proc/%u/stat: %s", plumb_rt.pid,
                          errno ? reason(errno) : "it describes no process");
    plumb_control_name(control.name, plumb_rt.pid, start);
    fd = make_socket(err);
    if (fd < 0)
        return fd;
    if (fstatat(control.folder, control.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        control.device = (uint64_t)st.st_dev;
        control.inode = (uint64_t)st.st_ino;
    }
    code = plumb_control_listen_start(fd, control.user);
    if (code == 0)
        return PLUMB_OK;
    close(fd);
    unlinkat(control.folder, control.name, 0);
    close(control.folder);
    return plumb_fail(err, PLUMB_ERR_STATE, "cannot start the thread of the control socket: %s",
                      reason(code));
}

/* Under life_lock, which a fork waits for: a child that is forked while a thread is started would
 * keep locks of a sanitizer that are never released. */
static void open_now(void)
{
    plumb_error err = {0, ""};
    int rc;
    do {
        err = (plumb_error){0, ""};
        control.user = geteuid();
        plumb_life_lock();
        rc = start_listening(&err);
        plumb_life_unlock();
        /* The folder of one user is closed to the other. */
    } while (rc < 0 && geteuid() != control.user);
    control.open = rc == PLUMB_OK;
    PLUMB_STORE(control.failed, rc < 0);
    plumb_lock();
    control.rc = rc;
    control.err = err;
    plumb_unlock();
    if (rc < 0)
        plumb_say("plumb: %s; this process cannot be controlled", err.message);
}

static void close_now(void)
{
    /* First, so that no front end finds a socket on which no thread listens. */
    if (is_in_place())
        unlinkat(control.folder, control.name, 0);
    plumb_control_listen_stop(PLUMB_LOAD(control.exits));
    close(control.folder);
    control.open = false;
}

void plumb_control_do(void)
{
    bool wanted = PLUMB_ACQUIRE(is_loaded) && PLUMB_ACQUIRE(plumb_rt.control_wanted);
    if (!plumb_helper_is_me())
        return; /* the program's thread: its descriptors are the program's */
    if (control.open && (!wanted || plumb_control_user_changed()))
        close_now();
    if (wanted && !control.open && !PLUMB_LOAD(control.failed))
        open_now();
    if (control.open)
        plumb_control_listen_serve();
}

/* ---- On the program's threads ---------------------------------------------------------------- */

static void stop_waiting(void)
{
    PLUMB_STORE(plumb_rt.control_waits, 0);
    plumb_lock();
    plumb_points_refresh();
    plumb_unlock();
}

void plumb_control_by_point(void)
{
    if (plumb_may_lock_all("a trace point", NULL) < 0)
        return;
    if (!plumb_helper_start_by_span() && PLUMB_ADD(control.tries, 1) < TRIES)
        return;
    if (!plumb_helper_is_there())
        plumb_helper_warn_control();
    stop_waiting();
}

void plumb_control_loaded(void)
{
    PLUMB_RELEASE(is_loaded, 1);
    if (!plumb_rt.control_wanted)
        return;
    if (plumb_helper_is_there())
        plumb_helper_ask(PLUMB_JOB_CONTROL);
    else if (plumb_rt.settings.helper)
        PLUMB_STORE(plumb_rt.control_waits, 1);
    else
        plumb_helper_warn_control();
}

/* Starts the helper if the process has none. Waits for one that is ending. */
static bool need_helper(void)
{
    plumb_life_lock();
    while (plumb_helper_is_ending()) {
        plumb_life_unlock();
        plumb_helper_pause(1000000);
        plumb_life_lock();
    }
    PLUMB_RELEASE(plumb_rt.control_wanted, 1);
    plumb_helper_start();
    plumb_life_unlock();
    return plumb_helper_is_there();
}

int plumb_control_open_impl(plumb_error *err)
{
    int rc = plumb_may_lock_all("plumb_control_open", err);
    if (rc < 0)
        return rc;
    if (!need_helper()) {
        PLUMB_RELEASE(plumb_rt.control_wanted, 0);
        return plumb_fail(err, PLUMB_ERR_STATE, "plumb_control_open: plumb has no thread: %s",
                          plumb_helper_cure());
    }
    if (PLUMB_LOAD(plumb_rt.control_waits))
        stop_waiting();
    PLUMB_STORE(control.failed, false);
    if (!plumb_helper_do(PLUMB_JOB_CONTROL, OPEN_WAIT_NS))
        return plumb_fail(err, PLUMB_ERR_STATE, "the control socket is still being made");
    plumb_lock();
    rc = control.rc < 0 ? plumb_fail(err, control.rc, "%s", control.err.message) : PLUMB_OK;
    plumb_unlock();
    return rc;
}

static void close_within(uint64_t ns)
{
    PLUMB_RELEASE(plumb_rt.control_wanted, 0);
    if (PLUMB_LOAD(plumb_rt.control_waits))
        stop_waiting();
    if (plumb_helper_is_there())
        plumb_helper_do(PLUMB_JOB_CONTROL, ns);
}

void plumb_control_close_impl(void)
{
    if (plumb_may_lock_all("plumb_control_close", NULL) == PLUMB_OK)
        close_within(CLOSE_WAIT_NS);
}

void plumb_control_exit(void)
{
    PLUMB_STORE(control.exits, true); /* the exit ends the run itself */
    if (PLUMB_LOAD(plumb_rt.control_wanted) && !plumb_is_interrupted())
        close_within(EXIT_WAIT_NS);
}

void plumb_control_forked(void)
{
    plumb_control_listen_forget();
    memset(&control, 0, sizeof control);
    PLUMB_STORE(plumb_rt.control_waits,
                PLUMB_LOAD(plumb_rt.control_wanted) && plumb_rt.settings.helper);
}
