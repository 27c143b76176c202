/* target.c: reads just enough of an ELF file: class, machine, interpreter, needed libraries. The
 * file may be anything, so every offset is checked against the mapping. Layout: System V ABI,
 * elf.h. */
#include "target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef PLUMB_BIN_TO_LIB
#define PLUMB_BIN_TO_LIB "../lib"
#endif

struct image {
    const unsigned char *data;
    size_t size;
};

/* The bytes [offset, offset + size) of the file, or NULL. */
static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->size || size > image->size - offset)
        return NULL;
    return image->data + offset;
}

static bool contains(const struct image *image, const char *text)
{
    return memmem(image->data, image->size, text, strlen(text)) != NULL;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

struct elf {
    Elf64_Ehdr head;
    const unsigned char *segments;
};

static bool segment(const struct elf *elf, unsigned i, Elf64_Phdr *out)
{
    if (i >= elf->head.e_phnum)
        return false;
    memcpy(out, elf->segments + (size_t)i * sizeof *out, sizeof *out);
    return true;
}

static bool open_elf(const struct image *image, struct elf *elf)
{
    const void *head = at(image, 0, sizeof elf->head);
    if (!head)
        return false;
    memcpy(&elf->head, head, sizeof elf->head);
    if (elf->head.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    elf->segments = at(image, elf->head.e_phoff, (uint64_t)elf->head.e_phnum * sizeof(Elf64_Phdr));
    return elf->segments != NULL;
}

/* Returns the offset of the virtual address in the file, UINT64_MAX if it has none. */
static uint64_t file_offset(const struct elf *elf, uint64_t address)
{
    Elf64_Phdr s;
    for (unsigned i = 0; segment(elf, i, &s); i++)
        if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
            return s.p_offset + (address - s.p_vaddr);
    return UINT64_MAX;
}

static bool find_segment(const struct elf *elf, uint32_t type, Elf64_Phdr *out)
{
    for (unsigned i = 0; segment(elf, i, out); i++)
        if (out->p_type == type)
            return true;
    return false;
}

/* Entry `i` of the dynamic section, false at its end. */
static bool dynamic(const struct image *image, const Elf64_Phdr *s, uint64_t i, Elf64_Dyn *out)
{
    const void *entry = NULL;
    if (i < s->p_filesz / sizeof *out)
        entry = at(image, s->p_offset + i * sizeof *out, sizeof *out);
    if (!entry)
        return false;
    memcpy(out, entry, sizeof *out);
    return out->d_tag != DT_NULL;
}

/* Returns whether the file needs a library whose name begins so. */
static bool needs(const struct image *image, const struct elf *elf, const char *name)
{
    Elf64_Phdr s;
    Elf64_Dyn entry;
    uint64_t strings = UINT64_MAX;
    if (!find_segment(elf, PT_DYNAMIC, &s))
        return false;
    for (uint64_t i = 0; dynamic(image, &s, i, &entry); i++)
        if (entry.d_tag == DT_STRTAB)
            strings = file_offset(elf, entry.d_un.d_ptr);
    for (uint64_t i = 0; strings != UINT64_MAX && dynamic(image, &s, i, &entry); i++) {
        if (entry.d_tag != DT_NEEDED || entry.d_un.d_val > image->size)
            continue;
        const void *text = at(image, strings + entry.d_un.d_val, strlen(name));
        if (text && memcmp(text, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

static bool section(const struct image *image, const struct elf *elf, unsigned i, Elf64_Shdr *out)
{
    const void *s = NULL;
    if (i < elf->head.e_shnum && elf->head.e_shentsize == sizeof *out)
        s = at(image, elf->head.e_shoff + i * sizeof *out, sizeof *out);
    if (s)
        memcpy(out, s, sizeof *out);
    return s != NULL;
}

/* Returns whether the file exports a function of its own of that name. Reads the section of dynamic
 * symbols, which strip(1) does not remove. */
static bool exports(const struct image *image, const struct elf *elf, const char *name)
{
    Elf64_Shdr symbols, strings;
    Elf64_Sym symbol;
    size_t n = strlen(name) + 1;
    for (unsigned i = 0; section(image, elf, i, &symbols); i++) {
        if (symbols.sh_type != SHT_DYNSYM || !section(image, elf, symbols.sh_link, &strings))
            continue;
        for (uint64_t k = 0; k < symbols.sh_size / sizeof symbol; k++) {
            const void *entry = at(image, symbols.sh_offset + k * sizeof symbol, sizeof symbol);
            const char *text;
            if (!entry)
                break;
            memcpy(&symbol, entry, sizeof symbol);
            text = symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.sh_size
                       ? NULL
                       : at(image, strings.sh_offset + symbol.st_name, n);
            if (text && memcmp(text, name, n) == 0)
                return true;
        }
    }
    return false;
}

/* gcc's sanitizers come as libraries, clang's lie inside. */
static bool is_sanitized(const struct image *image, const struct elf *elf)
{
    static const char *const kinds[] = {"asan", "hwasan", "tsan", "msan", "lsan"};
    char library[32];
    char symbol[32];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(library, sizeof library, "lib%s.so", kinds[i]);
        snprintf(symbol, sizeof symbol, "__%s_init", kinds[i]);
        if (needs(image, elf, library) || exports(image, elf, symbol))
            return true;
    }
    return false;
}

/* Sets `out` to the name of the program's dynamic linker, without its folder; "": none. */
static void read_loader(const struct image *image, const struct elf *elf, char *out, size_t size)
{
    Elf64_Phdr s;
    const char *path =
        find_segment(elf, PT_INTERP, &s) && s.p_filesz ? at(image, s.p_offset, s.p_filesz) : NULL;
    const char *slash = path ? memrchr(path, '/', s.p_filesz) : NULL;
    out[0] = '\0';
    if (path)
        snprintf(out, size, "%.*s", (int)(path + s.p_filesz - (slash ? slash + 1 : path)),
                 slash ? slash + 1 : path);
}

struct own {
    uint16_t machine; /* EM_NONE: not known */
    char loader[64];  /* "": none, or not known */
};

static void look_at_ourselves(struct own *out)
{
    struct image image = {NULL, 0};
    struct stat st;
    struct elf elf;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    *out = (struct own){.machine = EM_NONE};
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        image.size = (size_t)st.st_size;
        image.data = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (image.size && image.data != MAP_FAILED) {
        if (open_elf(&image, &elf)) {
            out->machine = elf.head.e_machine;
            read_loader(&image, &elf, out->loader, sizeof out->loader);
        }
        munmap((void *)(uintptr_t)image.data, image.size);
    }
    if (fd >= 0)
        close(fd);
}

static void look_at_elf(struct plumb_cli_target *t, const struct image *image)
{
    struct elf elf;
    struct own own;
    char loader[64];
    Elf64_Phdr s;
    const unsigned char *id = at(image, 0, EI_NIDENT);
    if (!id || memcmp(id, ELFMAG, SELFMAG) != 0)
        return;
    t->known = true;
    if (id[EI_CLASS] != ELFCLASS64 || !open_elf(image, &elf)) {
        t->foreign = true;
        return;
    }
    look_at_ourselves(&own);
    t->foreign = own.machine != EM_NONE && elf.head.e_machine != own.machine;
    t->is_static = !find_segment(&elf, PT_INTERP, &s);
    read_loader(image, &elf, loader, sizeof loader);
    t->other_loader = !t->is_static && own.loader[0] && strcmp(loader, own.loader) != 0;
    t->links_plumb = needs(image, &elf, "libplumb.so");
    t->wants_first = needs(image, &elf, "libasan.so");
    t->sanitized = is_sanitized(image, &elf);
    t->owns_malloc = exports(image, &elf, "malloc");
    /* Only the runtime has the first name; every object with trace points has the second. */
    t->holds_plumb = contains(image, "live.plumb");
    t->is_marked = contains(image, "plumb-runtime-1");
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The interpreter that "#!" names, else false. */
static bool read_interpreter(const struct image *image, char *out, size_t size)
{
    const char *text = at(image, 0, 3);
    if (!text || text[0] != '#' || text[1] != '!')
        return false;
    size_t i = 2;
    size_t n = 0;
    while (i < image->size && (text[i] == ' ' || text[i] == '\t'))
        i++;
    while (i < image->size && n + 1 < size && !strchr(" \t\n", text[i]))
        out[n++] = text[i++];
    out[n] = '\0';
    return n > 0;
}

static bool is_privileged(int fd, const struct stat *st)
{
    bool user = (st->st_mode & S_ISUID) && st->st_uid != getuid();
    bool group = (st->st_mode & S_ISGID) && st->st_gid != getgid();
    bool capable = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
    return user || group || capable;
}

static void look_at(struct plumb_cli_target *t, int depth)
{
    char next[sizeof t->binary];
    struct stat st;
    struct image image = {NULL, 0};
    int fd = open(t->binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        goto out;
    t->privileged = is_privileged(fd, &st);
    image.size = (size_t)st.st_size;
    image.data = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image.data == MAP_FAILED)
        goto out;
    bool script = read_interpreter(&image, next, sizeof next);
    if (!script)
        look_at_elf(t, &image);
    munmap((void *)(uintptr_t)image.data, image.size);
    if (script && depth > 0) {
        snprintf(t->binary, sizeof t->binary, "%s", next);
        look_at(t, depth - 1);
    }
out:
    if (fd >= 0)
        close(fd);
}

static int try_path(struct plumb_cli_target *t, const char *dir, size_t n, const char *name)
{
    struct stat st;
    int length = n ? snprintf(t->path, sizeof t->path, "%.*s/%s", (int)n, dir, name)
                   : snprintf(t->path, sizeof t->path, "%s", name);
    if (length < 0 || length >= (int)sizeof t->path)
        return ENAMETOOLONG;
    if (stat(t->path, &st) < 0)
        return errno == ENOTDIR ? ENOENT : errno;
    if (!S_ISREG(st.st_mode) || access(t->path, X_OK) < 0)
        return EACCES;
    return 0;
}

/* As execvp(): a file that may not be executed is remembered, but a later one is preferred. */
static int search(struct plumb_cli_target *t, const char *name)
{
    const char *dirs = getenv("PATH");
    int error = ENOENT;
    if (strchr(name, '/'))
        return try_path(t, NULL, 0, name);
    for (dirs = dirs ? dirs : "/bin:/usr/bin"; name[0]; dirs++) {
        size_t n = strcspn(dirs, ":");
        int found = n ? try_path(t, dirs, n, name) : try_path(t, ".", 1, name);
        if (found == 0)
            return 0;
        if (found == EACCES)
            error = EACCES;
        dirs += n;
        if (!*dirs)
            break;
    }
    return error;
}

void plumb_cli_target_find(struct plumb_cli_target *out, const char *name)
{
    memset(out, 0, sizeof *out);
    out->error = search(out, name);
    if (out->error != 0)
        return;
    snprintf(out->binary, sizeof out->binary, "%s", out->path);
    look_at(out, 4);
}

const char *plumb_cli_target_obstacle(const struct plumb_cli_target *t)
{
    if (t->foreign)
        return "is built for another processor or word size than this libplumb";
    if (t->known && t->is_static)
        return "is statically linked, so that nothing can be preloaded";
    if (t->other_loader)
        return "has another dynamic linker than this libplumb, that of another C library (musl?)";
    if (t->privileged)
        return "changes the user or gains capabilities, so that the loader ignores LD_PRELOAD";
    if (t->wants_first)
        return "is built with AddressSanitizer, which ends a program when anything is preloaded";
    return NULL;
}

const char *plumb_cli_target_allocator(const struct plumb_cli_target *t)
{
    const char *why = plumb_cli_target_obstacle(t);
    if (why)
        return why;
    if (t->sanitized)
        return "is built with a sanitizer, which allocates for it";
    if (t->owns_malloc)
        return "has an allocator of its own inside, which is found before any other";
    return NULL;
}

/* ---- The library ----------------------------------------------------------------------------- */

static bool library_in(char *out, size_t size, const char *own_dir, const char *below)
{
    char path[2 * PATH_MAX];
    char real[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/libplumb.so.0", own_dir, below);
    if (!realpath(path, real) || strlen(real) >= size)
        return false;
    snprintf(path, sizeof path, "%s/%s", own_dir, below);
    if (!realpath(path, real) || strlen(real) + sizeof "/libplumb.so.0" > size)
        return false;
    snprintf(out, size, "%s/libplumb.so.0", real);
    return true;
}

bool plumb_cli_library(char *out, size_t size)
{
    static const char *const places[] = {PLUMB_BIN_TO_LIB, "../lib", "../lib/x86_64-linux-gnu",
                                         "../lib64",       "../src", "."};
    char self[PATH_MAX];
    const char *own = getenv("PLUMB_LIBRARY");
    if (own && *own) {
        char real[PATH_MAX];
        bool found = realpath(own, real) && strlen(real) < size;
        snprintf(out, size, "%s", found ? real : own);
        return found;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++)
        if (library_in(out, size, self, places[i]))
            return true;
    snprintf(out, size, "%.*s/" PLUMB_BIN_TO_LIB "/libplumb.so.0", (int)(size / 2), self);
    return false;
}

bool plumb_cli_beside(char *out, size_t size, const char *library, const char *name)
{
    const char *slash = strrchr(library, '/');
    int n = snprintf(out, size, "%.*s%s", slash ? (int)(slash + 1 - library) : 0, library, name);
    return n > 0 && (size_t)n < size && access(out, R_OK) == 0;
}

FILE *plumb_cli_libraries(const char *binary, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    *child = fork();
    if (*child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        dup2(nothing, STDIN_FILENO);
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        unsetenv("LD_AUDIT");
        execl(binary, binary, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (*child < 0) {
        close(ends[0]);
        return NULL;
    }
    return fdopen(ends[0], "r");
}
