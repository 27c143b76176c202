/* Front ends that are hostile, slow, silent or many, and files that were exchanged: the host works
 * on, others are answered, and descriptors and memory are as before. */
#include <dirent.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/process/process.h"
#include "codec/protobuf.h"
#include "control/message.h"
#include "control/place.h"
#include "runtime/control.h"

static const char *const on[] = {"PLUMB_CONTROL=1", NULL};
static const char *const on_and_recording[] = {"PLUMB_CONTROL=1", "PLUMB=1", "PLUMB_QUIET=1", NULL};

/* ---- The host -------------------------------------------------------------------------------- */

static int role_works(void)
{
    child_ready();
    do {
        PLUMB_SPAN("work");
    } while (!child_may_go());
    return 3;
}

/* ---- A front end that speaks by itself ------------------------------------------------------- */

static int raw_connect(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[1400];
    int at, fd;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(at >= 0);
    for (int i = 0; (fd = plumb_control_dial(at, slash + 1)) < 0 && i < CONTROL_WAIT_MS; i++)
        nap_ms(1);
    close(at);
    assert_true(fd >= 0);
    return fd;
}

static bool send_bytes(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    struct pollfd wait = {fd, POLLOUT, 0};
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0)
            poll(&wait, 1, CONTROL_WAIT_MS);
        else
            p += sent, n -= (size_t)sent;
    }
    return true;
}

/* Waits until the process closes the connection. Returns the bytes that it sent before. */
static size_t await_end(int fd)
{
    struct pollfd wait = {fd, POLLIN, 0};
    size_t all = 0;
    char bytes[4096];
    for (;;) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return all;
        all += n > 0 ? (size_t)n : 0;
        if (n < 0)
            assert_true(poll(&wait, 1, CONTROL_WAIT_MS) > 0);
    }
}

static void assert_answers(const struct child *c)
{
    plumb_control *control = control_of(c, c->pid);
    assert_int_equal(status_of(control)->pid, c->pid);
    plumb_control_disconnect(control);
}

/* ---- What a process has ---------------------------------------------------------------------- */

/* The helper's table is that of its thread, so those of all threads are counted. */
static size_t descriptors_of(pid_t pid)
{
    char pattern[64];
    glob_t found = {0};
    size_t n;
    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/fd/*", (int)pid);
    n = glob(pattern, GLOB_NOSORT, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

/* The fewest of some looks: the host drops a connection a moment after its end. */
static size_t settled_descriptors(pid_t pid)
{
    size_t least = descriptors_of(pid);
    for (int i = 0; i < 20; i++) {
        size_t n;
        nap_ms(5);
        n = descriptors_of(pid);
        least = n < least ? n : least;
    }
    return least;
}

static void await_descriptors(pid_t pid, size_t want)
{
    for (int i = 0; i < CONTROL_WAIT_MS && descriptors_of(pid) > want; i++)
        nap_ms(1);
    assert_true(descriptors_of(pid) <= want);
}

static uint64_t mapped_kib(pid_t pid)
{
    unsigned long long kib = 0, one;
    char path[64], line[256];
    FILE *f;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %llu kB", &one) == 1)
            kib = one;
    if (f)
        fclose(f);
    return kib;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void half_a_message_random_bytes_and_a_gigabyte_are_dropped(void **state)
{
    struct child c = child_start("works", NULL, on);
    static const unsigned char half[] = {20, 0, 0, 0, 8, 1}, gigabyte[] = {0, 0, 0, 0x40, 8, 1},
                               empty[] = {0, 0, 0, 0};
    unsigned char noise[4096];
    uint64_t seed = 17;
    size_t before;
    int fd;
    (void)state;
    assert_answers(&c);
    before = settled_descriptors(c.pid);
    fd = raw_connect(socket_of(c.pid));
    assert_true(send_bytes(fd, half, sizeof half));
    assert_answers(&c);
    assert_int_equal(await_end(fd), 0);
    close(fd);
    fd = raw_connect(socket_of(c.pid));
    assert_true(send_bytes(fd, gigabyte, sizeof gigabyte));
    assert_int_equal(await_end(fd), 0);
    close(fd);
    /* A message without a command has a response: that there is none. */
    fd = raw_connect(socket_of(c.pid));
    assert_true(send_bytes(fd, empty, sizeof empty));
    shutdown(fd, SHUT_WR);
    assert_true(await_end(fd) > 0);
    close(fd);
    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] =
                (unsigned char)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
        if (i % 2) /* of a length that is allowed */
            plumb_control_put_length(noise, (uint32_t)sizeof noise - 4);
        fd = raw_connect(socket_of(c.pid));
        send_bytes(fd, noise, sizeof noise);
        close(fd);
    }
    /* Until it has read their ends, the last of them may be as many as it allows. */
    await_descriptors(c.pid, before);
    assert_answers(&c);
    await_descriptors(c.pid, before);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* Asks for the status by a request that a field without a meaning makes `n` bytes long. Returns 1
 * if there is a response, otherwise 0. */
static size_t answer_to_bytes(const char *path, uint32_t n)
{
    unsigned char *bytes = calloc(n + PLUMB_CONTROL_HEAD_BYTES, 1), *p = bytes;
    /* 2 of the command; of the field, 2 of its number and 3 of its length */
    uint32_t filler = n - 7;
    struct pollfd wait;
    char byte;
    size_t got = 0;
    int fd = raw_connect(path);
    assert_non_null(bytes);
    plumb_control_put_length(p, n);
    p += PLUMB_CONTROL_HEAD_BYTES;
    *p++ = 8;
    *p++ = PLUMB_CONTROL_STATUS;
    *p++ = 0xfa; /* field 127, bytes */
    *p++ = 0x07;
    for (int i = 0; i < 3; i++, filler >>= 7)
        *p++ = (unsigned char)((filler & 127) | (i < 2 ? 128 : 0));
    if (send_bytes(fd, bytes, n + PLUMB_CONTROL_HEAD_BYTES)) {
        wait = (struct pollfd){fd, POLLIN, 0};
        assert_true(poll(&wait, 1, CONTROL_WAIT_MS) > 0);
        got = recv(fd, &byte, 1, 0) > 0;
    }
    free(bytes);
    close(fd);
    return got;
}

static void a_request_that_is_a_byte_too_long_is_dropped(void **state)
{
    struct child c = child_start("works", NULL, on);
    (void)state;
    assert_answers(&c);
    assert_int_equal(answer_to_bytes(socket_of(c.pid), PLUMB_CONTROL_REQUEST_MAX), 1);
    assert_int_equal(answer_to_bytes(socket_of(c.pid), PLUMB_CONTROL_REQUEST_MAX + 1), 0);
    assert_answers(&c);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

static int status_of_raw_command(const char *path, uint32_t command)
{
    unsigned char request[6] = {2, 0, 0, 0, 8, (unsigned char)command}, bytes[4096];
    struct plumb_control_response response = {.status = 1};
    struct plumb_arena arena = {NULL, false};
    int fd = raw_connect(path), status;
    size_t n = 0;
    ssize_t got;
    struct pollfd wait = {fd, POLLIN, 0};
    assert_true(send_bytes(fd, request, sizeof request));
    while (n < 4 || n < 4 + plumb_control_length(bytes)) {
        assert_true(poll(&wait, 1, CONTROL_WAIT_MS) > 0);
        got = recv(fd, bytes + n, sizeof bytes - n, 0);
        assert_true(got > 0);
        n += (size_t)got;
    }
    assert_int_equal(plumb_control_get_response(&response, &arena, bytes + 4, n - 4, NULL), 0);
    status = response.status;
    plumb_arena_fini(&arena);
    close(fd);
    return status;
}

static void an_unknown_command_is_answered_with_that(void **state)
{
    struct child c = child_start("works", NULL, on);
    (void)state;
    assert_answers(&c);
    assert_int_equal(status_of_raw_command(socket_of(c.pid), 99), PLUMB_ERR_ABSENT);
    assert_int_equal(status_of_raw_command(socket_of(c.pid), 0), PLUMB_ERR_ABSENT);
    assert_int_equal(status_of_raw_command(socket_of(c.pid), PLUMB_CONTROL_STATUS), PLUMB_OK);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* ---- Many, and slow -------------------------------------------------------------------------- */

struct flood {
    pthread_t thread;
    const char *who;
    uint32_t *stop;
    uint64_t answers;
};

static void *flood_main(void *arg)
{
    struct flood *f = arg;
    plumb_control *c = NULL;
    plumb_control_rows *rows;
    while (!PLUMB_ACQUIRE(*f->stop)) {
        if (!c && plumb_control_connect(&c, f->who, CONTROL_WAIT_MS, NULL) < 0)
            continue;
        if (plumb_control_summary(&rows, c, NULL, NULL, NULL) == 0) {
            plumb_control_rows_free(rows);
            f->answers++;
        } else {
            plumb_control_disconnect(c);
            c = NULL;
        }
    }
    plumb_control_disconnect(c);
    return NULL;
}

static void eight_front_ends_that_flood_leave_others_their_answers(void **state)
{
    struct child c = child_start("works", NULL, on);
    struct flood floods[8];
    char setting[1200];
    const char *settings[] = {setting, NULL};
    uint32_t stop = 0;
    plumb_control *control;
    size_t before;
    uint64_t spans;
    char who[16];
    (void)state;
    assert_answers(&c);
    /* While it does not record: a run opens its file again when it grows. */
    before = settled_descriptors(c.pid);
    snprintf(who, sizeof who, "%d", (int)c.pid);
    snprintf(setting, sizeof setting, "dir=%s", in_place("flooded"));
    control = control_of(&c, c.pid);
    assert_ok(plumb_control_start(control, settings, &err));
    for (size_t i = 0; i < 8; i++) {
        floods[i] = (struct flood){.who = who, .stop = &stop};
        assert_int_equal(pthread_create(&floods[i].thread, NULL, flood_main, &floods[i]), 0);
    }
    spans = status_of(control)->spans;
    for (int i = 0; i < 100; i++)
        status_of(control);
    while (status_of(control)->spans <= spans)
        nap_ms(1);
    PLUMB_RELEASE(stop, 1);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(floods[i].thread, NULL);
        assert_true(floods[i].answers > 0);
    }
    assert_ok(plumb_control_stop(control, &err));
    plumb_control_disconnect(control);
    await_descriptors(c.pid, before);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
    remove_tree(in_place("flooded"));
}

/* Sixteen silent ones: the seventeenth takes the place of one of them. */
static void silent_connections_make_way_and_busy_ones_do_not(void **state)
{
    struct child c = child_start("works", NULL, on);
    static const unsigned char half[] = {20, 0, 0, 0};
    int fds[16];
    plumb_control *control = NULL;
    plumb_error err = {0, ""};
    const plumb_process *p;
    char who[16];
    size_t before;
    int rc = PLUMB_ERR_STATE, refused = 0;
    (void)state;
    assert_answers(&c);
    before = settled_descriptors(c.pid);
    snprintf(who, sizeof who, "%d", (int)c.pid);
    for (size_t i = 0; i < 16; i++)
        fds[i] = raw_connect(socket_of(c.pid));
    while (rc < 0) {
        assert_int_equal(plumb_control_connect(&control, who, CONTROL_WAIT_MS, &err), 0);
        rc = plumb_control_status(&p, control, &err);
        if (rc < 0) {
            /* They have not been silent for long. */
            assert_int_equal(rc, PLUMB_ERR_STATE);
            assert_non_null(strstr(err.message, "16"));
            plumb_control_disconnect(control);
            refused++;
            nap_ms(20);
        }
    }
    plumb_control_disconnect(control);
    assert_true(refused > 0);
    for (size_t i = 0; i < 16; i++) {
        send_bytes(fds[i], half, sizeof half);
        close(fds[i]);
    }
    await_descriptors(c.pid, before);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* It asks, is stopped, and never reads: its responses are dropped after a while. */
static void a_front_end_that_does_not_read_is_dropped(void **state)
{
    const char *const settings[] = {"PLUMB_CONTROL=1", NULL};
    struct child c = child_start("works", NULL, settings);
    unsigned char request[6] = {2, 0, 0, 0, 8, PLUMB_CONTROL_STATUS};
    size_t before;
    int fd, small = 1;
    (void)state;
    assert_answers(&c);
    before = settled_descriptors(c.pid);
    fd = raw_connect(socket_of(c.pid));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 2000; i++)
        if (send(fd, request, sizeof request, MSG_NOSIGNAL) < 0)
            break;
    assert_answers(&c);
    await_descriptors(c.pid, before);
    close(fd);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

static void stop_host(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

static void a_stopped_host_is_a_time_limit_and_nothing_else(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control = control_of(&c, c.pid), *short_one = NULL;
    const plumb_process *p;
    char who[16];
    (void)state;
    snprintf(who, sizeof who, "%d", (int)c.pid);
    assert_ok(plumb_control_connect(&short_one, who, 100, &err));
    stop_host(c.pid);
    assert_fails(PLUMB_ERR_STATE, "not answered", plumb_control_status(&p, short_one, &err));
    assert_fails(PLUMB_ERR_IO, "broken", plumb_control_status(&p, short_one, &err));
    plumb_control_disconnect(short_one);
    kill(c.pid, SIGCONT);
    assert_int_equal(status_of(control)->pid, c.pid);
    plumb_control_disconnect(control);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* Kills a process after a while, in which the test has sent its request. */
/* ---- Many that do not answer ----------------------------------------------------------------- */

enum { LISTENERS = 6, LISTS = 50 };

/* How many requests the listeners have of the list that is being made. */
static uint32_t *asked;

/* Makes a socket as a controlled process does. It answers when all listeners have a request. */
static int listener(pid_t *pid)
{
    char name[PLUMB_CONTROL_NAME];
    int folder, fd, ready[2];
    assert_int_equal(pipe(ready), 0);
    if ((*pid = fork()) > 0) {
        close(ready[1]);
        return ready[0];
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also after a failed test */
    folder = plumb_control_folder_open(in_place("runtime/plumb"), true, NULL);
    plumb_control_name(name, (uint32_t)getpid(), plumb_process_start((uint32_t)getpid()));
    fd = plumb_control_listen(folder, name, 8);
    if (fd < 0 || write(ready[1], "", 1) != 1)
        _exit(1);
    for (;;) {
        const plumb_process self = {.size = sizeof self, .pid = (uint32_t)getpid()};
        const struct plumb_control_response response = {.process = &self};
        unsigned char bytes[1024];
        struct plumb_pb w = {bytes + PLUMB_CONTROL_HEAD_BYTES, bytes + sizeof bytes, false};
        struct pollfd wait = {fd, POLLIN, 0};
        int c = poll(&wait, 1, -1) > 0 ? accept(fd, NULL, NULL) : -1;
        if (c < 0 || recv(c, bytes, sizeof bytes, 0) <= 0) {
            close(c);
            continue;
        }
        __atomic_fetch_add(asked, 1, __ATOMIC_ACQ_REL);
        wait.fd = c;
        wait.events = POLLRDHUP;
        while (__atomic_load_n(asked, __ATOMIC_ACQUIRE) < LISTENERS && poll(&wait, 1, 1) == 0)
            continue;
        plumb_control_put_response(&w, &response);
        plumb_control_put_length(bytes, (uint32_t)(w.p - bytes - PLUMB_CONTROL_HEAD_BYTES));
        send(c, bytes, (size_t)(w.p - bytes), MSG_NOSIGNAL);
        close(c);
    }
}

/* Asked one after the other, the first would never answer: not in any list. */
static void a_list_asks_all_processes_before_it_waits(void **state)
{
    uint32_t answers = 0;
    pid_t pid[LISTENERS];
    (void)state;
    asked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(asked != MAP_FAILED);
    for (int i = 0; i < LISTENERS; i++) {
        char byte;
        int ready = listener(&pid[i]);
        assert_int_equal(read(ready, &byte, 1), 1);
        close(ready);
    }
    for (int i = 0; answers < LISTENERS && i < LISTS; i++) { /* a busy machine may be late */
        plumb_process_list *list = NULL;
        answers = 0;
        __atomic_store_n(asked, 0, __ATOMIC_RELEASE);
        assert_ok(plumb_process_list_open(&list, &err));
        assert_int_equal(plumb_process_list_count(list), LISTENERS);
        for (size_t k = 0; k < LISTENERS; k++)
            answers += plumb_process_list_get(list, k)->answers;
        plumb_process_list_close(list);
    }
    assert_int_equal(answers, LISTENERS);
    for (int i = 0; i < LISTENERS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

static void *kill_later(void *arg)
{
    nap_ms(100);
    kill(*(pid_t *)arg, SIGKILL);
    return NULL;
}

static void a_host_that_is_killed_during_a_command_is_an_error(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control = control_of(&c, c.pid);
    const plumb_process *p;
    pthread_t killer;
    (void)state;
    stop_host(c.pid);
    assert_int_equal(pthread_create(&killer, NULL, kill_later, &c.pid), 0);
    assert_fails(PLUMB_ERR_IO, "ended", plumb_control_status(&p, control, &err));
    pthread_join(killer, NULL);
    assert_fails(PLUMB_ERR_IO, "broken", plumb_control_stop(control, &err));
    plumb_control_disconnect(control);
    child_end(&c);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A socket of this process in the place of the host's, with its name. */
static int impostor(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "./impostor");
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(rename("impostor", path), 0);
    return fd;
}

static void a_socket_that_was_exchanged_is_refused(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control;
    char path[1400], aside[1400], who[16];
    int fd;
    (void)state;
    assert_answers(&c);
    snprintf(who, sizeof who, "%d", (int)c.pid);
    snprintf(path, sizeof path, "%s", socket_of(c.pid));
    snprintf(aside, sizeof aside, "%s", in_place("aside"));
    assert_int_equal(rename(path, aside), 0);
    /* A link, although it leads to the very socket. */
    assert_int_equal(symlink(aside, path), 0);
    assert_fails(PLUMB_ERR_STATE, "not a socket", plumb_control_connect(&control, who, 0, &err));
    assert_int_equal(unlink(path), 0);
    /* A file. */
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_fails(PLUMB_ERR_STATE, "not a socket", plumb_control_connect(&control, who, 0, &err));
    /* A socket of another process. */
    fd = impostor(path);
    assert_fails(PLUMB_ERR_STATE, "belongs to process",
                 plumb_control_connect(&control, who, 0, &err));
    close(fd);
    /* The host removes its own socket alone. */
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
    assert_true(exists(path));
    unlink(path);
    unlink(aside);
}

static void a_folder_that_is_not_safe_is_not_used(void **state)
{
    char folder[1400], elsewhere[1400];
    plumb_process_list *list;
    struct child c;
    (void)state;
    snprintf(folder, sizeof folder, "%s", in_place("runtime/plumb"));
    snprintf(elsewhere, sizeof elsewhere, "%s", in_place("elsewhere"));
    assert_int_equal(rename(folder, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, folder), 0);
    assert_fails(PLUMB_ERR_STATE, "not a directory", plumb_process_list_open(&list, &err));
    unlink(folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_fails(PLUMB_ERR_STATE, "others have rights", plumb_process_list_open(&list, &err));
    /* The host makes its socket in the other folder, and works on. */
    c = child_start("works", NULL, on);
    child_await_ready(&c);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
    assert_string_equal(socket_of(c.pid), "");
    assert_int_equal(chmod(folder, 0700), 0);
}

static void await_tracing(plumb_control *control, uint32_t tracing)
{
    for (int ms = 0; ms < CONTROL_WAIT_MS && status_of(control)->tracing != tracing; ms++)
        nap_ms(1);
    assert_int_equal(status_of(control)->tracing, tracing);
}

/* It has asked for a trace that ends with it, and waits for the end of it. */
static void a_front_end_that_is_killed_while_it_waits_ends_its_trace(void **state)
{
    struct child c = child_start("works", "waits", on_and_recording);
    plumb_control *control = control_of(&c, c.pid), *own;
    const plumb_process *p;
    char path[1400];
    pid_t waits;
    (void)state;
    await_tracing(control, 0);
    if ((waits = fork()) == 0) {
        if (plumb_control_connect(&own, socket_of(c.pid), CONTROL_WAIT_MS, NULL) < 0)
            _exit(1);
        plumb_control_while_connected(own, 1);
        if (plumb_control_trace_on(path, sizeof path, own, NULL, NULL) == 0)
            while (plumb_control_wait(&p, own, 1000, NULL) == 0)
                ;
        _exit(2);
    }
    await_tracing(control, 2);
    kill(waits, SIGKILL);
    waitpid(waits, NULL, 0);
    await_tracing(control, 0);
    plumb_control_disconnect(control);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* Anyone can make a folder in /tmp that has the name of another user's. Root alone can be two
 * users. */
static void a_folder_of_another_user_hides_no_process(void **state)
{
    char folder[1400], elsewhere[1400];
    plumb_process_list *list;
    struct child c;
    bool found = false;
    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(folder, sizeof folder, "%s", in_place("runtime/plumb"));
    snprintf(elsewhere, sizeof elsewhere, "%s", in_place("elsewhere-2"));
    assert_int_equal(rename(folder, elsewhere), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chown(folder, 65534, 65534), 0);
    c = child_start("works", NULL, on);
    child_await_ready(&c);
    /* Until its socket is there, nothing may be found at all. */
    for (int ms = 0; ms < CONTROL_WAIT_MS && !found; ms++) {
        nap_ms(1);
        if (plumb_process_list_open(&list, NULL) < 0)
            continue;
        for (size_t i = 0; i < plumb_process_list_count(list); i++)
            found |= plumb_process_list_get(list, i)->pid == (uint32_t)c.pid;
        plumb_process_list_close(list);
    }
    assert_true(found);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
    rmdir(folder);
    assert_int_equal(rename(elsewhere, folder), 0);
}

/* As another user, with a folder and a socket that let it through. Returns the exit status: 0: it
 * got no byte. */
static int ask_as_nobody(const char *path)
{
    const unsigned char request[6] = {2, 0, 0, 0, 8, PLUMB_CONTROL_STATUS};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int at = open(in_place("runtime/plumb"), O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
    struct pollfd wait;
    char byte;
    snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", at, strrchr(path, '/') + 1);
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        return 3;
    send(fd, request, sizeof request, MSG_NOSIGNAL);
    wait = (struct pollfd){fd, POLLIN, 0};
    poll(&wait, 1, CONTROL_WAIT_MS);
    return recv(fd, &byte, 1, 0) > 0 ? 4 : 0;
}

/* Root alone can be two users. */
static void another_user_is_refused(void **state)
{
    struct child c;
    char path[1400];
    pid_t other;
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    c = child_start("works", NULL, on);
    assert_answers(&c);
    snprintf(path, sizeof path, "%s", socket_of(c.pid));
    assert_int_equal(chmod(in_place("runtime/plumb"), 0711), 0);
    assert_int_equal(chmod(path, 0777), 0);
    fflush(NULL);
    other = fork();
    if (other == 0)
        _exit(ask_as_nobody(path));
    assert_int_equal(child_status_of(other), 0);
    assert_int_equal(chmod(in_place("runtime/plumb"), 0700), 0);
    assert_answers(&c);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
}

/* ---- What is left of many commands ----------------------------------------------------------- */

static void rounds_of_runs_leave_the_host_as_it_was(void **state)
{
    struct child c = child_start("works", NULL, on);
    plumb_control *control;
    char setting[1200];
    const char *settings[] = {setting, "trace=1", NULL};
    size_t before = 0;
    uint64_t kib = 0;
    (void)state;
    snprintf(setting, sizeof setting, "dir=%s", in_place("rounds"));
    for (int i = 0; i < 30; i++) {
        control = control_of(&c, c.pid);
        assert_ok(plumb_control_start(control, settings, &err));
        while (status_of(control)->spans == 0)
            nap_ms(1);
        assert_ok(plumb_control_stop(control, &err));
        plumb_control_disconnect(control);
        if (i == 9) {
            nap_ms(1);
            before = settled_descriptors(c.pid);
            kib = mapped_kib(c.pid);
        }
    }
    await_descriptors(c.pid, before);
    /* Ten runs take it to its size; twenty more may not add half of that. */
    assert_true(mapped_kib(c.pid) < kib + kib / 2);
    child_go(&c);
    assert_exited(&c, child_end(&c), 3);
    assert_string_equal(child_errors(&c), "");
    remove_tree(in_place("rounds"));
}

static const struct role roles[] = {{"works", role_works}, {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_message_random_bytes_and_a_gigabyte_are_dropped),
        cmocka_unit_test(a_request_that_is_a_byte_too_long_is_dropped),
        cmocka_unit_test(an_unknown_command_is_answered_with_that),
        cmocka_unit_test(eight_front_ends_that_flood_leave_others_their_answers),
        cmocka_unit_test(silent_connections_make_way_and_busy_ones_do_not),
        cmocka_unit_test(a_front_end_that_does_not_read_is_dropped),
        cmocka_unit_test(a_stopped_host_is_a_time_limit_and_nothing_else),
        cmocka_unit_test(a_list_asks_all_processes_before_it_waits),
        cmocka_unit_test(a_host_that_is_killed_during_a_command_is_an_error),
        cmocka_unit_test(a_socket_that_was_exchanged_is_refused),
        cmocka_unit_test(a_folder_that_is_not_safe_is_not_used),
        cmocka_unit_test(a_front_end_that_is_killed_while_it_waits_ends_its_trace),
        cmocka_unit_test(a_folder_of_another_user_hides_no_process),
        cmocka_unit_test(another_user_is_refused),
        cmocka_unit_test(rounds_of_runs_leave_the_host_as_it_was),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, control_place, NULL);
}
