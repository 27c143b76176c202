/* table.c: see table.h. A hash table of addresses, filled to a half at most, and never changed: a
 * look-up is a few loads. Its memory is mapped, because the program's allocator may be built with
 * -finstrument-functions too. */
#include "inject/calls/table.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct function {
    uintptr_t address;
    plumb_node node;
};

static struct function *functions;
static size_t mask;

static size_t place_of(uintptr_t address)
{
    uint64_t h = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 32) & mask;
}

plumb_node plumb_function_node(const void *function)
{
    uintptr_t address = (uintptr_t)function;
    size_t i = place_of(address);
    while (functions[i].address && functions[i].address != address)
        i = (i + 1) & mask;
    return functions[i].node;
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Returns the text of the file, which ends with a zero byte, and may be written to. */
static char *read_text(const char *path)
{
    struct stat st;
    char *text = NULL;
    size_t done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        text = map((size_t)st.st_size + 1);
    while (text && done < (size_t)st.st_size) {
        ssize_t n = read(fd, text + done, (size_t)st.st_size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

struct search {
    const char *path; /* NULL: the program */
    uintptr_t base;
    bool found;
};

/* A large frame: a path. Once, in the constructor. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
/* The first object is the program, whose name is empty. */
static int compare(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    char real[PATH_MAX];
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    (void)size;
    s->found = realpath(name, real) && strcmp(real, s->path) == 0;
    s->base = info->dlpi_addr;
    return s->found;
}

#pragma GCC diagnostic pop

static void add(uintptr_t address, const char *name, const struct plumb_api *api)
{
    size_t i = place_of(address);
    while (functions[i].address && functions[i].address != address)
        i = (i + 1) & mask;
    functions[i].address = address;
    functions[i].node = api->node_get(name);
}

/* Takes the lines of the text, which it cuts up. Returns how many functions there are. */
static size_t take(char *text, const struct plumb_api *api)
{
    static const char object[] = "object ";
    struct search s = {.found = false};
    size_t n = 0;
    for (char *line = text, *next; *line; line = next) {
        char *end = strchr(line, '\n'), *name;
        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        if (strncmp(line, object, sizeof object - 1) == 0) {
            s = (struct search){.path = line + sizeof object - 1};
            dl_iterate_phdr(compare, &s);
            continue;
        }
        uintptr_t address = (uintptr_t)strtoull(line, &name, 16);
        if (!s.found || name == line || *name != ' ' || !name[1])
            continue;
        add(s.base + address, name + 1, api);
        n++;
    }
    return n;
}

bool plumb_functions_read(const char *path, const struct plumb_api *api)
{
    char *text = read_text(path);
    size_t lines = 1, cap = 64, n;
    for (const char *p = text; p && *p; p++)
        lines += *p == '\n';
    while (cap < 2 * lines)
        cap *= 2;
    functions = text ? map(cap * sizeof *functions) : NULL;
    mask = cap - 1;
    n = functions ? take(text, api) : 0;
    return n > 0;
}
