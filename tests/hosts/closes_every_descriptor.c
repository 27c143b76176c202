/* labels: notsan
 *
 * (ThreadSanitizer takes equal numbers of two tables of descriptors for one.)
 *
 * A daemon closes every descriptor that it finds, again and again, and opens files of its own under
 * the same numbers: they stay what they are, and hold what it wrote. */
#include "hosts/host.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { OWN = 16, LAST = 1024 };

static int own[OWN];
static struct stat was[OWN];

static void open_own(void)
{
    for (int i = 0; i < OWN; i++) {
        char name[32];
        snprintf(name, sizeof name, "own.%d", i);
        own[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        HOST_NEEDS(own[i] == i + 3); /* the lowest free, as ever */
        HOST_NEEDS(write(own[i], "mine", 4) == 4);
        HOST_NEEDS(fstat(own[i], &was[i]) == 0);
    }
}

static void work(void)
{
    for (int i = 0; i < 100; i++) {
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN("span");
    }
}

static void look_at_own(void)
{
    for (int i = 0; i < OWN; i++) {
        char text[8];
        struct stat is;
        HOST_NEEDS(fstat(own[i], &is) == 0);
        HOST_NEEDS(is.st_dev == was[i].st_dev && is.st_ino == was[i].st_ino && is.st_size == 4);
        HOST_NEEDS(lseek(own[i], 0, SEEK_CUR) == 4);
        HOST_NEEDS(pread(own[i], text, sizeof text, 0) == 4 && memcmp(text, "mine", 4) == 0);
    }
}

int main(void)
{
    uint64_t rounds = (uint64_t)host_rounds(30);
    work();
    for (uint64_t i = 0; i < rounds; i++) {
        for (int fd = 3; fd < LAST; fd++)
            close(fd);
        open_own();
        work();
        usleep(2000);
        look_at_own();
    }
    host_expect("span", 100 * (rounds + 1));
    host_expect("stage", 100 * (rounds + 1));
    return 0;
}
