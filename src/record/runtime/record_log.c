/* record_log.c: see record_log.h. A line is one write to the file that PLUMB_RECORD_LOG names. */
#include "record/runtime/record_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quiet_write.h"
#include "record/runtime/runtime.h"

void plumb_run_report_line(const char *kind, const char *dir, uint64_t nodes, uint64_t samples)
{
    const char *path = plumb_rt.settings.record_log;
    char line[1300];
    struct stat st;
    int fd, n;
    if (!path[0])
        return;
    /* `plumb record` has made the file. A pipe would not be ours, and could block the program. */
    fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return;
    }
    n = snprintf(line, sizeof line, "%s %u %llu %llu %s\n", kind, plumb_rt.pid,
                 (unsigned long long)nodes, (unsigned long long)samples, dir);
    plumb_write_quietly(fd, line, (size_t)n);
    close(fd);
}

void plumb_run_loaded(void)
{
    plumb_run_report_line("load", "-", 0, 0);
}
