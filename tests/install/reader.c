/* What a user of the reading library writes first: how many nodes did that run see? */
#include <plumb/read.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    plumb_report *report = NULL;
    plumb_error err = {0};

    if (argc != 2 || plumb_report_open(&report, argv[1], &err) < 0) {
        fprintf(stderr, "%s\n", argc == 2 ? err.message : "usage: reader RUN");
        return 2;
    }
    printf("%s: %d nodes\n", plumb_read_version(), (int)plumb_report_nodes(report));
    plumb_report_close(report);
    return 0;
}
