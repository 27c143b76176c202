/* labels: notsan
 *
 * (ThreadSanitizer takes equal numbers of two tables of descriptors for one.)
 *
 * A shell: single-threaded in its own eyes, it closes a descriptor and counts on getting that
 * number again, and puts others in place of numbers that it knows. In between it runs stages and
 * spans. */
#include "hosts/host.h"

#include <fcntl.h>

static void reopens(int number)
{
    close(number);
    HOST_NEEDS(open("/dev/null", O_RDONLY | O_CLOEXEC) == number);
}

static void redirects(int end, int number, char byte)
{
    char seen = 0;
    HOST_NEEDS(dup2(end, number) == number);
    HOST_NEEDS(read(number, &seen, 1) == 1 && seen == byte);
    HOST_NEEDS(close(number) == 0);
}

int main(void)
{
    long rounds = host_rounds(60000), stages = 0;
    int pipes[2], low;
    HOST_NEEDS(pipe2(pipes, O_CLOEXEC) == 0);
    HOST_NEEDS((low = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    for (long i = 0; i < rounds; i++) {
        char byte = (char)i;
        if (i % 100 == 0) {
            PLUMB_STAGE(stage, "stage");
            stages++;
        }
        HOST_NEEDS(write(pipes[1], &byte, 1) == 1);
        reopens(low);
        redirects(pipes[0], low + 1, byte);
    }
    host_expect("stage", (uint64_t)stages);
    return 0;
}
