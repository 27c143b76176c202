/* symbols.c: see symbols.h. ELF of this machine's kind only: its symbol table, or the dynamic one
 * if there is none. Everything in such a file is checked before it is believed. */
#include "read/trace/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE_KEY "plumb.module."

enum { TABLE_MAX_BYTES = 256 << 20, ID_MAX = 64 };

struct function {
    uint64_t at, size;
    uint32_t name; /* in the module's names */
};

struct module {
    uint64_t from, upto;
    char id[ID_MAX + 1]; /* "-": not known */
    const char *path;    /* the table's */
    bool tried;
    char *names;
    size_t name_bytes;
    struct function *functions; /* by address */
    size_t count;
};

struct plumb_symbols {
    struct module *modules;
    size_t count;
};

/* ---- A module's file ------------------------------------------------------------------------ */

/* Reads `size` bytes of a file and appends a NUL; NULL: the file is shorter. */
static void *read_part(int fd, uint64_t offset, uint64_t size)
{
    struct stat st;
    if (size > TABLE_MAX_BYTES || fstat(fd, &st) != 0 || offset > (uint64_t)st.st_size ||
        size > (uint64_t)st.st_size - offset)
        return NULL;
    char *bytes = malloc((size_t)size + 1);
    size_t done = 0;
    while (bytes && done < size) {
        ssize_t n = pread(fd, bytes + done, (size_t)size - done, (off_t)(offset + done));
        if (n <= 0) {
            free(bytes);
            return NULL;
        }
        done += (size_t)n;
    }
    if (bytes)
        bytes[size] = '\0';
    return bytes;
}

static bool is_ours(const ElfW(Ehdr) * h)
{
    static const uint16_t one = 1;
    bool little = *(const unsigned char *)&one == 1;
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           h->e_ident[EI_DATA] == (little ? ELFDATA2LSB : ELFDATA2MSB) &&
           h->e_shentsize == sizeof(ElfW(Shdr));
}

/* Whether the file has the build id that the trace gives for the module, or both have none. */
static bool is_same_build(int fd, const ElfW(Shdr) * sections, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        ElfW(Nhdr) note;
        char hex[ID_MAX + 1] = "";
        unsigned char *bytes = NULL;
        if (sections[i].sh_type != SHT_NOTE || sections[i].sh_size < sizeof note + 4)
            continue;
        if (!(bytes = read_part(fd, sections[i].sh_offset, sections[i].sh_size)))
            return false;
        memcpy(&note, bytes, sizeof note);
        bool is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                     note.n_descsz <= ID_MAX / 2 &&
                     note.n_descsz <= sections[i].sh_size - sizeof note - 4;
        for (uint32_t k = 0; is_id && k < note.n_descsz; k++)
            snprintf(hex + 2 * (size_t)k, 3, "%02x", bytes[sizeof note + 4 + k]);
        free(bytes);
        if (is_id)
            return strcmp(hex, id) == 0;
    }
    return strcmp(id, "-") == 0;
}

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size;
}

static void take_functions(struct module *m, const ElfW(Sym) * symbols, size_t n)
{
    if (!(m->functions = malloc((n + 1) * sizeof *m->functions)))
        return;
    for (size_t i = 0; i < n; i++) {
        if ((symbols[i].st_info & 15) != STT_FUNC || symbols[i].st_shndx == SHN_UNDEF ||
            symbols[i].st_name >= m->name_bytes)
            continue;
        m->functions[m->count++] =
            (struct function){symbols[i].st_value, symbols[i].st_size, symbols[i].st_name};
    }
    qsort(m->functions, m->count, sizeof *m->functions, by_address);
}

static void read_table(struct module *m, int fd, const ElfW(Shdr) * sections, size_t n,
                       uint32_t type)
{
    for (size_t i = 0; i < n && m->count == 0; i++) {
        const ElfW(Shdr) *s = &sections[i];
        if (s->sh_type != type || s->sh_entsize != sizeof(ElfW(Sym)) || s->sh_link >= n)
            continue;
        ElfW(Sym) *symbols = read_part(fd, s->sh_offset, s->sh_size);
        free(m->names);
        free(m->functions);
        m->functions = NULL;
        m->name_bytes = sections[s->sh_link].sh_size;
        m->names = read_part(fd, sections[s->sh_link].sh_offset, m->name_bytes);
        if (symbols && m->names)
            take_functions(m, symbols, s->sh_size / sizeof *symbols);
        free(symbols);
    }
}

static void read_module(struct module *m)
{
    int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ElfW(Ehdr) *header = NULL;
    ElfW(Shdr) *sections = NULL;
    m->tried = true;
    if (fd < 0)
        return;
    if ((header = read_part(fd, 0, sizeof *header)) && is_ours(header) &&
        (sections = read_part(fd, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections)) &&
        is_same_build(fd, sections, header->e_shnum, m->id)) {
        read_table(m, fd, sections, header->e_shnum, SHT_SYMTAB);
        read_table(m, fd, sections, header->e_shnum, SHT_DYNSYM);
    }
    free(sections);
    free(header);
    close(fd);
}

/* ---- Modules -------------------------------------------------------------------------------- */

static bool parse_module(struct module *m, const char *text)
{
    int at = 0;
    *m = (struct module){.from = 0};
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %64s %n", &m->from, &m->upto, m->id, &at) != 3 ||
        at == 0 || m->upto <= m->from)
        return false;
    m->path = text + at;
    return *m->path == '/';
}

struct plumb_symbols *plumb_symbols_open(const struct plumb_table *t)
{
    struct plumb_symbols *s = calloc(1, sizeof *s);
    if (s)
        s->modules = calloc(t->fact_count + (size_t)1, sizeof *s->modules);
    for (uint32_t i = 0; s && s->modules && i < t->fact_count; i++) {
        const struct plumb_table_fact *f = &t->facts[i];
        const char *key = plumb_table_text(t, f->key);
        if (f->type == PLUMB_ARG_TEXT && strncmp(key, MODULE_KEY, strlen(MODULE_KEY)) == 0 &&
            parse_module(&s->modules[s->count], plumb_table_text(t, (uint32_t)f->value.u64)))
            s->count++;
    }
    if (s && s->count == 0) {
        plumb_symbols_close(s);
        return NULL;
    }
    return s;
}

void plumb_symbols_close(struct plumb_symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->modules[i].names);
        free(s->modules[i].functions);
    }
    free(s->modules);
    free(s);
}

/* The function that holds the address, which is one of the file; one without a size reaches to the
 * next. */
static const struct function *find(const struct module *m, uint64_t at)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->functions[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct function *f = &m->functions[low - 1];
    return f->size == 0 || at - f->at < f->size ? f : NULL;
}

void plumb_symbols_put(struct plumb_buf *out, struct plumb_symbols *s, uint64_t address)
{
    for (size_t i = 0; s && i < s->count; i++) {
        struct module *m = &s->modules[i];
        const char *slash = strrchr(m->path, '/');
        if (address <= m->from || address > m->upto)
            continue;
        if (!m->tried)
            read_module(m);
        const struct function *f = find(m, address - 1 - m->from);
        if (f)
            plumb_buf_printf(out, "%s (%s)", m->names + f->name, slash + 1);
        else
            plumb_buf_printf(out, "%s+0x%" PRIx64, slash + 1, address - m->from);
        return;
    }
    plumb_buf_printf(out, "0x%" PRIx64, address);
}
