/* functions.c: see functions.h.
 *
 * The command reads debug information, not the recorded process: it takes a library for that
 * (elfutils), and may take seconds for a large program. The libraries are those that the dynamic
 * linker itself lists (LD_TRACE_LOADED_OBJECTS), in the environment of the program. */
#include "functions.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "launch.h"

#if PLUMB_HAVE_DW
#include <dwarf.h>
#include <elfutils/libdw.h>

struct listing {
    FILE *out;
    const char *root;
    size_t root_bytes;
    const char *object;
    bool named; /* its line has been written */
    size_t count;
};

/* Copies a path without ".", ".." and double slashes; it need not exist. */
static void tidy(char *out, size_t size, const char *path)
{
    size_t n = 0;
    for (const char *p = path; *p && n + 1 < size;) {
        size_t bytes = strcspn(p, "/");
        bool dot = bytes == 1 && p[0] == '.';
        bool up = bytes == 2 && p[0] == '.' && p[1] == '.';
        while (up && n && out[n - 1] != '/')
            n--;
        n -= up && n;
        if (bytes && !dot && !up && n + bytes + 2 < size) {
            out[n++] = '/';
            memcpy(out + n, p, bytes);
            n += bytes;
        }
        p += bytes + (p[bytes] == '/');
    }
    out[n] = '\0';
}

/* Returns the path of the function's source, relative to the root; NULL: it is not below. */
static const char *below(const struct listing *l, char *memory, size_t size, Dwarf_Die *function,
                         const char *file)
{
    char whole[2 * PATH_MAX];
    Dwarf_Attribute attribute;
    Dwarf_Die unit;
    const char *folder = NULL;
    if (file[0] != '/' && dwarf_diecu(function, &unit, NULL, NULL))
        folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    snprintf(whole, sizeof whole, "%s%s%s", folder ? folder : "", folder ? "/" : "", file);
    tidy(memory, size, whole);
    return strncmp(memory, l->root, l->root_bytes) == 0 && memory[l->root_bytes] == '/'
               ? memory + l->root_bytes + 1
               : NULL;
}

/* Writes the names of the classes and namespaces around the function, the outermost first. */
static void put_scopes(FILE *out, Dwarf_Die *function)
{
    Dwarf_Die *scopes = NULL, origin;
    Dwarf_Attribute attribute;
    /* A function that is defined outside its class refers to its declaration inside. */
    if (dwarf_attr(function, DW_AT_specification, &attribute) &&
        dwarf_formref_die(&attribute, &origin))
        function = &origin;
    int n = dwarf_getscopes_die(function, &scopes);
    for (int i = n - 1; i > 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        if (name &&
            (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type))
            fprintf(out, "%s::", name);
    }
    free(scopes);
}

static int put_function(Dwarf_Die *function, void *arg)
{
    struct listing *l = arg;
    char memory[2 * PATH_MAX];
    Dwarf_Addr entry;
    const char *name = dwarf_diename(function), *file = dwarf_decl_file(function);
    int line = 0;
    const char *source = NULL;
    if (!name || !file || dwarf_entrypc(function, &entry) < 0 || entry == 0)
        return DWARF_CB_OK;
    source = below(l, memory, sizeof memory, function, file);
    if (!source || strchr(name, '\n') || strchr(source, '\n'))
        return DWARF_CB_OK;
    dwarf_decl_line(function, &line);
    if (!l->named)
        fprintf(l->out, "object %s\n", l->object);
    l->named = true;
    fprintf(l->out, "%llx ", (unsigned long long)entry);
    put_scopes(l->out, function);
    fprintf(l->out, "%s (%s:%d)\n", name, source, line);
    l->count++;
    return DWARF_CB_OK;
}

static void put_object(struct listing *l, const char *object)
{
    char path[PATH_MAX];
    int fd = open(object, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    Dwarf_Off at = 0, next;
    size_t header;
    l->object = realpath(object, path) ? path : object;
    l->named = false;
    while (dwarf && dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0) {
        Dwarf_Die unit;
        if (dwarf_offdie(dwarf, at + header, &unit))
            dwarf_getfuncs(&unit, put_function, l, 0);
        at = next;
    }
    dwarf_end(dwarf);
    if (fd >= 0)
        close(fd);
}

/* "libx.so.1 => /usr/lib/libx.so.1 (0x...)", or "/lib64/ld-linux-x86-64.so.2 (0x...)" */
static void put_libraries(struct listing *l, const char *binary)
{
    pid_t child;
    char *line = NULL;
    size_t cap = 0;
    FILE *list = plumb_cli_libraries(binary, &child);
    while (list && getline(&line, &cap, list) > 0) {
        char *path = strchr(line, '/'), *end = path ? strstr(path, " (0x") : NULL;
        if (!end)
            continue;
        *end = '\0';
        put_object(l, path);
    }
    free(line);
    if (list) {
        fclose(list);
        waitpid(child, NULL, 0);
    }
}

static bool open_table(char *path, size_t size, FILE **out)
{
    int fd = plumb_cli_temporary(path, size, "plumb-functions") ? mkstemp(path) : -1;
    *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!*out)
        plumb_cli_say(&plumb_cmd_record, "--calls: no temporary file: %s", strerror(errno));
    return *out != NULL;
}

/* Returns whether there is a function. */
static bool write_table(const char *path, FILE *out, const char *binary, const char *root)
{
    struct listing l = {.out = out, .root = root};
    l.root_bytes = strcmp(root, "/") == 0 ? 0 : strlen(root);
    put_object(&l, binary);
    put_libraries(&l, binary);
    bool failed = ferror(out) != 0;
    failed |= fclose(out) != 0;
    if (failed)
        plumb_cli_say(&plumb_cmd_record, "--calls: cannot write '%s': %s", path, strerror(errno));
    else if (l.count == 0)
        plumb_cli_say(&plumb_cmd_record,
                      "--calls: no function of '%s' or its libraries has its source below '%s': "
                      "build with -g -finstrument-functions, and name the folder of the sources as "
                      "it was then",
                      binary, root);
    return !failed && l.count > 0;
}

bool plumb_cli_functions_prepare(char *path, size_t size, const struct plumb_cli_target *target,
                                 const char *root)
{
    char real[PATH_MAX];
    FILE *out;
    const char *why = plumb_cli_target_obstacle(target);
    path[0] = '\0';
    if (why) {
        plumb_cli_say(&plumb_cmd_record, "--calls: '%s' %s", target->binary, why);
        return false;
    }
    if (!realpath(root, real)) {
        plumb_cli_say(&plumb_cmd_record, "--calls: '%s': %s", root, strerror(errno));
        return false;
    }
    if (open_table(path, size, &out)) {
        if (write_table(path, out, target->binary, real))
            return setenv("PLUMB_CALLS_TABLE", path, 1) == 0;
        unlink(path);
    }
    path[0] = '\0';
    return false;
}

#else

bool plumb_cli_functions_prepare(char *path, size_t size, const struct plumb_cli_target *target,
                                 const char *root)
{
    (void)target;
    (void)root;
    if (size)
        path[0] = '\0';
    plumb_cli_say(&plumb_cmd_record, "--calls: this plumb was built without libdw (libdw-dev of "
                                     "elfutils), which reads debug information");
    return false;
}

#endif
