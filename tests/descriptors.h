/* descriptors.h: which files a process has open: in its own table of descriptors, and in those of
 * threads that have one for themselves. */
#ifndef PLUMB_TESTS_DESCRIPTORS_H
#define PLUMB_TESTS_DESCRIPTORS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether a descriptor of the folder `table` leads to a path that has `part` in it. */
static inline bool descriptor_in(const char *table, const char *part)
{
    DIR *dir = opendir(table);
    char path[600], to[4096];
    bool found = false;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%.300s/%.250s", table, e->d_name);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        found |= strstr(to, part) != NULL;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* In the program's own table. */
static inline bool descriptor_of_program(const char *part)
{
    return descriptor_in("/proc/self/fd", part);
}

/* In that of any thread. */
static inline bool descriptor_of_process(const char *part)
{
    DIR *dir = opendir("/proc/self/task");
    bool found = false;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char table[300];
        snprintf(table, sizeof table, "/proc/self/task/%.200s/fd", e->d_name);
        found |= e->d_name[0] != '.' && descriptor_in(table, part);
    }
    if (dir)
        closedir(dir);
    return found;
}

#endif
