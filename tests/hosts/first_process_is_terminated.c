/* The first process of a container gets SIGTERM, which the kernel ignores there: the process goes
 * on, and so does its recording. Outside of a namespace of its own the host creates one. If that is
 * not allowed, it checks nothing. */
#include "hosts/host.h"

#include <sched.h>

static int first_process(void)
{
    uint64_t made = 0;
    for (int i = 0; i < 2000; i++) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
        made++;
        if (i % 20 == 0)
            HOST_NEEDS(kill(getpid(), i % 40 ? SIGTERM : SIGINT) == 0);
    }
    host_expect("span", made);
    return 4;
}

int main(void)
{
    uid_t uid = getuid();
    pid_t pid = fork(), first;
    if (pid == 0) {
        /* A program with several threads may not have a user namespace of its own. */
        if (unshare(uid == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(4);
        first = fork();
        if (first == 0)
            exit(first_process());
        HOST_NEEDS(first > 0);
        _exit(host_status_of(first));
    }
    HOST_NEEDS(pid > 0 && host_status_of(pid) == 4);
    return 0;
}
