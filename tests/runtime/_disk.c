/* Fills the disk that it records to: disk FILLER BEFORE AFTER: so many nodes before the disk is
 * full, so many after. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <plumb/plumb.h>

static void nodes(int from, int n)
{
    for (int i = from; i < from + n; i++) {
        char name[32];
        plumb_node node;
        snprintf(name, sizeof name, "node.%d", i);
        node = plumb_node_get(name);
        for (int k = 0; k < 10; k++) {
            PLUMB_SPAN_NODE(node);
        }
    }
}

static int fill(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    size_t n = sizeof zeros;
    if (fd < 0)
        return 0;
    for (; n > 0; n /= 2) {
        while (write(fd, zeros, n) == (ssize_t)n)
            continue;
    }
    close(fd);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 1;
    nodes(0, atoi(argv[2]));
    if (!fill(argv[1]))
        return 1;
    nodes(atoi(argv[2]), atoi(argv[3]));
    puts("done");
    return 5;
}
