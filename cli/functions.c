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

/* Returns the file that the function is declared in, NULL if that is not known. In DWARF 5 number 0
 * is the unit's own file, which clang uses and dwarf_decl_file() takes for none. */
static const char *file_of(Dwarf_Die *function)
{
    const char *file = dwarf_decl_file(function);
    Dwarf_Attribute attribute;
    Dwarf_Die unit;
    Dwarf_Half version = 0;
    Dwarf_Word number = 1;
    Dwarf_Files *files;
    size_t count;
    if (file || !dwarf_attr_integrate(function, DW_AT_decl_file, &attribute) ||
        dwarf_formudata(&attribute, &number) < 0 || number != 0 ||
        !dwarf_cu_die(attribute.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) || version < 5 ||
        dwarf_getsrcfiles(&unit, &files, &count) < 0)
        return file;
    return dwarf_filesrc(files, 0, NULL, NULL);
}

/* Follows the references of a function that is defined outside its class, or that is one of several
 * copies, to its declaration, which has a place among the classes and namespaces. */
static Dwarf_Die *declaration_of(Dwarf_Die *function, Dwarf_Die *memory)
{
    enum { REFERENCES = 4 };
    Dwarf_Attribute attribute;
    *memory = *function;
    for (int i = 0; i < REFERENCES; i++)
        if ((!dwarf_attr(memory, DW_AT_abstract_origin, &attribute) &&
             !dwarf_attr(memory, DW_AT_specification, &attribute)) ||
            !dwarf_formref_die(&attribute, memory))
            break;
    return memory;
}

static bool is_class(int tag)
{
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Writes the names of the classes, namespaces and functions around the function, the outermost
 * first; the class of a lambda may have no name. */
static void put_scopes(FILE *out, Dwarf_Die *function)
{
    Dwarf_Die *scopes = NULL, declaration;
    int n = dwarf_getscopes_die(declaration_of(function, &declaration), &scopes);
    for (int i = n - 1; i > 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        if (is_class(tag) || (name && (tag == DW_TAG_namespace || tag == DW_TAG_subprogram)))
            fprintf(out, "%s::", name ? name : "(unnamed)");
    }
    free(scopes);
}

/* Returns the address of the function's first instruction, 0: it has none. One whose unlikely part
 * lies elsewhere has ranges, of which the first is the one that is called. */
static Dwarf_Addr entry_of(Dwarf_Die *function)
{
    Dwarf_Addr base, begin, end, entry;
    if (dwarf_entrypc(function, &entry) == 0)
        return entry;
    return dwarf_ranges(function, 0, &base, &begin, &end) > 0 ? begin : 0;
}

/* Sets where the function is declared. gcc says it of lambdas in the table of lines alone. */
static const char *source_of(Dwarf_Die *function, Dwarf_Addr entry, int *line)
{
    const char *file = file_of(function);
    Dwarf_Die unit;
    Dwarf_Line *at;
    *line = 0;
    if (file) {
        dwarf_decl_line(function, line);
    } else if (dwarf_diecu(function, &unit, NULL, NULL) &&
               (at = dwarf_getsrc_die(&unit, entry)) != NULL) {
        file = dwarf_linesrc(at, NULL, NULL);
        dwarf_lineno(at, line);
    }
    return file;
}

static void put_function(struct listing *l, Dwarf_Die *function)
{
    char memory[2 * PATH_MAX];
    const char *name = dwarf_diename(function);
    Dwarf_Addr entry = entry_of(function);
    int line;
    const char *file = name && entry ? source_of(function, entry, &line) : NULL;
    const char *source = file ? below(l, memory, sizeof memory, function, file) : NULL;
    if (!source || strchr(name, '\n') || strchr(source, '\n'))
        return;
    if (!l->named)
        fprintf(l->out, "object %s\n", l->object);
    l->named = true;
    fprintf(l->out, "%llx ", (unsigned long long)entry);
    put_scopes(l->out, function);
    fprintf(l->out, "%s (%s:%d)\n", name, source, line);
    l->count++;
}

static bool has_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_subprogram ||
           tag == DW_TAG_lexical_block || is_class(tag);
}

/* Not dwarf_getfuncs(), which leaves out those in local classes: lambdas. */
static void put_functions(struct listing *l, Dwarf_Die *around, int depth)
{
    enum { DEEPEST = 100 };
    Dwarf_Die die;
    if (dwarf_child(around, &die) != 0)
        return;
    do {
        if (dwarf_tag(&die) == DW_TAG_subprogram)
            put_function(l, &die);
        if (has_functions(dwarf_tag(&die)) && depth < DEEPEST)
            put_functions(l, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
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
            put_functions(l, &unit, 0);
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
