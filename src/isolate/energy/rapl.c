#include "isolate/energy/rapl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"

/* The first line of a file. False: errno says why. */
static bool read_line(char *out, size_t size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    if (n < 0)
        return false;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static bool read_count(uint64_t *out, const char *path)
{
    char text[32], *end;
    if (!read_line(text, sizeof text, path))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (end != text && !*end && errno == 0)
        return true;
    errno = EINVAL;
    return false;
}

/* Cores and the graphics unit are parts of a package; "psys" holds the packages. */
static bool counts(const char *name)
{
    return strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0;
}

enum { PATH = sizeof(((struct plumb_rapl_domain *)0)->path) };

static bool file_of(char out[PATH], const char *folder, const char *entry, const char *name)
{
    int n = snprintf(out, PATH, "%s/%s/%s", folder, entry, name);
    return n > 0 && n < PATH;
}

static void add_domain(struct plumb_rapl *e, const char *folder, const char *entry)
{
    struct plumb_rapl_domain *d = &e->domains[e->count];
    char path[PATH];
    if (e->count == PLUMB_RAPL_DOMAINS || !file_of(path, folder, entry, "name") ||
        !read_line(d->name, sizeof d->name, path) || !counts(d->name) ||
        !file_of(d->path, folder, entry, "energy_uj"))
        return;
    if (!file_of(path, folder, entry, "max_energy_range_uj") || !read_count(&d->range_uj, path))
        d->range_uj = UINT32_MAX;
    if (read_count(&d->last_uj, d->path))
        e->count++;
    else
        snprintf(e->why, sizeof e->why, "energy: %.100s cannot be read (%.20s)%s", d->path,
                 errno == EACCES ? "no permission" : strerror(errno),
                 errno == EACCES ? ": only root may" : "");
}

void plumb_rapl_begin(struct plumb_rapl *energy, const char *folder)
{
    DIR *dir = opendir(folder);
    *energy = (struct plumb_rapl){.count = 0};
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, "intel-rapl:", 11) == 0)
            add_domain(energy, folder, entry->d_name);
    if (dir)
        closedir(dir);
    if (energy->count == 0 && !energy->why[0])
        snprintf(energy->why, sizeof energy->why,
                 "energy: this machine shows no RAPL counters in %.60s (virtual machines do not)",
                 folder);
    energy->begin_ns = plumb_monotonic_ns();
}

double plumb_rapl_read(struct plumb_rapl *energy)
{
    for (size_t i = 0; i < energy->count; i++) {
        struct plumb_rapl_domain *d = &energy->domains[i];
        uint64_t now;
        if (!read_count(&now, d->path)) {
            snprintf(energy->why, sizeof energy->why, "energy: '%s' cannot be read any more",
                     d->path);
            return NAN;
        }
        energy->sum_uj += now >= d->last_uj ? now - d->last_uj : now + d->range_uj - d->last_uj;
        d->last_uj = now;
    }
    return energy->count ? (double)energy->sum_uj / 1e6 : NAN;
}

void plumb_rapl_end(double *joules, double *watts, struct plumb_rapl *energy)
{
    double seconds = (double)(plumb_monotonic_ns() - energy->begin_ns) / 1e9;
    *joules = plumb_rapl_read(energy);
    *watts = seconds > 0 ? *joules / seconds : NAN;
}
