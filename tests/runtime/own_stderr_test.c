/* Messages of plumb go to the program's stderr, and never to another file that has got its number.
 * Every role passes spans and ends the run, which prints the end block. */
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/child.h"

static int record(void)
{
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("work");
    }
    return plumb_stop(NULL) == PLUMB_OK ? 3 : 4;
}

/* Makes `fd` the descriptor 2 as a program that closed it would. */
static void becomes_two(int fd)
{
    ROLE_NEEDS(fd > STDERR_FILENO && dup2(fd, STDERR_FILENO) == STDERR_FILENO && close(fd) == 0);
}

static void holds_only(const char *path, const char *text)
{
    char bytes[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, bytes, sizeof bytes);
    ROLE_NEEDS(n == (ssize_t)strlen(text) && memcmp(bytes, text, strlen(text)) == 0);
    close(fd);
}

/* Nothing is there to be read. */
static void nothing_from(int fd)
{
    char byte;
    ROLE_NEEDS(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    ROLE_NEEDS(read(fd, &byte, 1) < 0 && errno == EAGAIN);
}

static int role_plain(void)
{
    return record();
}

/* As daemons do that do not open /dev/null. */
static int role_daemon(void)
{
    static const char *const names[] = {"first.dat", "second.dat", "third.dat"};
    int status;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (int fd = 0; fd < 3; fd++) {
        if (open(names[fd], O_RDWR | O_CREAT | O_TRUNC, 0600) != fd || write(fd, "data", 4) != 4)
            _exit(5);
    }
    plumb_set_log(PLUMB_LOG_INFO, NULL, NULL);
    status = record();
    for (int fd = 0; fd < 3; fd++)
        holds_only(names[fd], "data");
    return status;
}

static int role_pipe(void)
{
    int ends[2], status;
    ROLE_NEEDS(pipe(ends) == 0);
    becomes_two(ends[1]);
    status = record();
    nothing_from(ends[0]);
    return status;
}

static int role_socket(void)
{
    int ends[2], status;
    ROLE_NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    becomes_two(ends[1]);
    status = record();
    nothing_from(ends[0]);
    return status;
}

/* Bytes that are written to the master of a terminal are typed at the shell on its slave. */
static int role_terminal_of_others(void)
{
    int master, slave, status;
    ROLE_NEEDS(openpty(&master, &slave, NULL, NULL, NULL) == 0);
    becomes_two(master);
    status = record();
    nothing_from(slave);
    return status;
}

/* On a terminal of its own from some time after it was started. */
static int role_own_terminal(void)
{
    char said[256] = "";
    int master, slave, status;
    ROLE_NEEDS(setsid() >= 0 && openpty(&master, &slave, NULL, NULL, NULL) == 0);
    ROLE_NEEDS(ioctl(slave, TIOCSCTTY, 0) == 0);
    becomes_two(slave);
    status = record();
    ROLE_NEEDS(read(master, said, sizeof said - 1) > 0 && strncmp(said, "plumb: ", 7) == 0);
    return status;
}

static int role_and_back(void)
{
    int before = dup(STDERR_FILENO), file = open("other.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int status;
    becomes_two(file);
    status = record();
    holds_only("other.dat", "");
    becomes_two(before);
    /* The first run is in the directory. */
    ROLE_NEEDS(unsetenv("PLUMB_RUN_DIR") == 0 && plumb_start(NULL, NULL) == PLUMB_OK);
    return record() == status ? status : 5;
}

/* Its stderr was removed; the next file may have the same inode. */
static int role_removed(void)
{
    char path[1200];
    ssize_t n = readlink("/proc/self/fd/2", path, sizeof path - 1);
    ROLE_NEEDS(n > 0);
    path[n] = '\0';
    ROLE_NEEDS(unlink(path) == 0 && close(STDERR_FILENO) == 0);
    if (open("next.dat", O_RDWR | O_CREAT | O_EXCL, 0600) != STDERR_FILENO)
        _exit(5);
    int status = record();
    holds_only("next.dat", "");
    return status;
}

/* A journal of its own, in a place where it is seen by no other process. */
static int role_journal(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/stdout"};
    const struct sockaddr *where = (const struct sockaddr *)(const void *)&at;
    char said[256] = "";
    int journal, ours, theirs, status;
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/run", "tmpfs", 0, NULL) < 0)
        return 77;
    ROLE_NEEDS(mkdir("/run/systemd", 0755) == 0 && mkdir("/run/systemd/journal", 0755) == 0);
    ROLE_NEEDS((journal = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    ROLE_NEEDS(bind(journal, where, sizeof at) == 0 && listen(journal, 1) == 0);
    ROLE_NEEDS((ours = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    ROLE_NEEDS(connect(ours, where, sizeof at) == 0 && (theirs = accept(journal, NULL, NULL)) >= 0);
    becomes_two(ours);
    status = record();
    ROLE_NEEDS(read(theirs, said, sizeof said - 1) > 0 && strncmp(said, "plumb: ", 7) == 0);
    return status;
}

static const struct role roles[] = {{"plain", role_plain},
                                    {"daemon", role_daemon},
                                    {"pipe", role_pipe},
                                    {"socket", role_socket},
                                    {"terminal_of_others", role_terminal_of_others},
                                    {"own_terminal", role_own_terminal},
                                    {"and_back", role_and_back},
                                    {"removed", role_removed},
                                    {"journal", role_journal},
                                    {NULL, NULL}};

static int plays(struct child *c, const char *role)
{
    static const char *const settings[] = {"PLUMB=1", NULL};
    int status = child_run(c, role, role, settings);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return 77;
    assert_exited(c, status, 3);
    return 3;
}

static int ends_told(const struct child *c)
{
    int n = 0;
    for (const char *at = child_errors(c); (at = strstr(at, "plumb: 1 node, 10 spans")); at++)
        n++;
    return n;
}

static void it_speaks_on_stderr(void **state)
{
    struct child c;
    (void)state;
    plays(&c, "plain");
    assert_int_equal(ends_told(&c), 1);
}

static void files_of_a_daemon_get_none_of_its_words(void **state)
{
    struct child c;
    (void)state;
    plays(&c, "daemon");
    assert_string_equal(child_errors(&c), "");
}

static void nor_do_pipes_sockets_and_terminals_of_the_program(void **state)
{
    static const char *const what[] = {"pipe", "socket", "terminal_of_others"};
    (void)state;
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        struct child c;
        plays(&c, what[i]);
        assert_string_equal(child_errors(&c), "");
    }
}

static void nor_does_a_file_with_the_inode_of_a_removed_stderr(void **state)
{
    struct child c;
    (void)state;
    plays(&c, "removed");
}

static void it_speaks_on_the_controlling_terminal(void **state)
{
    struct child c;
    (void)state;
    plays(&c, "own_terminal");
}

static void it_speaks_again_when_stderr_is_back(void **state)
{
    struct child c;
    (void)state;
    plays(&c, "and_back");
    assert_int_equal(ends_told(&c), 1);
}

static void it_speaks_to_the_journal(void **state)
{
    struct child c;
    (void)state;
    if (plays(&c, "journal") == 77) {
        print_message("skipped: no mount namespace for a journal of its own\n");
        skip();
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_speaks_on_stderr),
        cmocka_unit_test(files_of_a_daemon_get_none_of_its_words),
        cmocka_unit_test(nor_do_pipes_sockets_and_terminals_of_the_program),
        cmocka_unit_test(nor_does_a_file_with_the_inode_of_a_removed_stderr),
        cmocka_unit_test(it_speaks_on_the_controlling_terminal),
        cmocka_unit_test(it_speaks_again_when_stderr_is_back),
        cmocka_unit_test(it_speaks_to_the_journal),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
