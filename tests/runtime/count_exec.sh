#!/bin/sh
# labels: plain
# plumb record --count: a process that becomes another program keeps all counts, in whatever way it does, and goes on
# counting if that fails; what was seen there, or in a process that was killed, is not said to be unseen.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"
cat >becomes.c <<'END_C'
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int plain(int x);
enum { WAYS = 9 };

/* The arguments of the variable ones are on the stack too. */
static int become(int way)
{
    char *const arguments[] = {"sh", "-c", "exit $V", NULL};
    switch (way) {
    case 0:
        return execve("/bin/sh", arguments, environ);
    case 1:
        return execv("/bin/sh", arguments);
    case 2:
        return execvp("sh", arguments);
    case 3:
        return execvpe("sh", arguments, environ);
    case 4:
        return execl("/bin/sh", "sh", "-c", "exit $(($1 + $2 + $3 + $4 + $5))", "x", "1", "1", "1", "1", "1", NULL);
    case 5:
        return execlp("sh", "sh", "-c", "exit $(($1 + $2 + $3 + $4 + $5))", "x", "1", "1", "1", "1", "1", NULL);
    case 6:
        return execle("/bin/sh", "sh", "-c", "exit $(($1 + $2 + $3 + $4 + $5))", "x", "1", "1", "1", "1", "1", NULL, environ);
    case 7:
        return fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), arguments, environ);
    default:
        return execveat(AT_FDCWD, "/bin/sh", arguments, environ, 0);
    }
}

static void child(int way)
{
    char *const none[] = {NULL};
    for (int i = 0; i < 10 * (way + 1); i++)
        plain(i);
    if (execve("/no/such/program", none, environ) != -1 || errno != ENOENT)
        _exit(1);
    plain(0);
    become(way);
    _exit(2);
}

int main(int argc, char **argv)
{
    setenv("V", "5", 1);
    for (int way = 0; argc > 1 && way < WAYS; way++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            child(way);
        if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 5)
            return 1;
    }
    plain(0);
    setenv("V", "7", 1);
    return argv[0] ? become(0) : 1;
}
END_C
for flags in -Wl,-z,lazy '-fno-plt -Wl,-z,now'; do
    # shellcheck disable=SC2086 # words
    cc $flags -D_GNU_SOURCE becomes.c -o becomes libcounted.so.1 -Wl,-rpath,"$PWD"
    rm -rf runs
    expect "exec, $flags" 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain,nowhere' -- ./becomes all
    has err.txt "no call of 'nowhere'"
    lacks err.txt "'libcounted.so:plain'"
    for run in runs/becomes/*; do
        [ -L "$run" ] || "$PLUMB_BIN" report counts --format json "$run" 2>/dev/null | jq '[.counts[].value] | add'
    done | sort -n | tr '\n' ' ' >counts.txt
    same "exec, $flags" '1 11 21 31 41 51 61 71 81 91 ' "$(cat counts.txt)"
done

compiled host.o -DPLUMB_LINKED
linked lazy host.o -Wl,-z,lazy
rm -rf runs
expect 'killed below a shell' 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain,nowhere' -- \
    sh -c './lazy killed; exit 7'
has err.txt "no call of 'nowhere'"
lacks err.txt "'libcounted.so:plain'" 'counted in no process'
exit $((failures > 0))
