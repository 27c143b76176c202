/* relocations.c: see relocations.h. */
#include "inject/count/relocations.h"

#include "inject/count/bare.h"
#include "inject/count/functions.h"
#include "inject/count/leave.h"
#include "inject/count/mapped.h"
#include "inject/count/wanted.h"

enum { PAGE = 4096, READ = 1, WRITE = 2, EXECUTE = 4 };

/* Names of functions whose address is an entry of the program's PLT. Calls through it are counted
 * there. A hash table, half of which is free. */
static struct {
    const char **name; /* [size] NULL: free */
    size_t size;       /* a power of two; 0: there is none */
} own_address;

/* Returns the slot of the name, or the free one where it belongs. */
static const char **own_slot(const char *name)
{
    uint64_t h = 0;
    for (const char *p = name; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(h >> 32) & (own_address.size - 1);
    while (own_address.name[i] && !plumb_bare_equal(own_address.name[i], name))
        i = (i + 1) & (own_address.size - 1);
    return &own_address.name[i];
}

static bool has_own_address(const char *name)
{
    return own_address.size && *own_slot(name);
}

/* Returns the symbol that the relocation refers to if that may be a function. */
static const Elf64_Sym *function_of(const struct plumb_object *o, const Elf64_Rela *r)
{
    const Elf64_Sym *s = &o->symbols[ELF64_R_SYM(r->r_info)];
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (!ELF64_R_SYM(r->r_info))
        return NULL;
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE ? s : NULL;
}

static bool is_address(const Elf64_Rela *r)
{
    unsigned type = ELF64_R_TYPE(r->r_info);
    return type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

static bool is_watched(const char *name)
{
    return plumb_wanted_name(name) || plumb_leave_is_name(name);
}

/* Returns the name of a watched function to whose address the relocation refers, else NULL. */
static const char *watched_name(const struct plumb_object *o, const Elf64_Rela *r)
{
    const Elf64_Sym *s = is_address(r) ? function_of(o, r) : NULL;
    const char *name = s ? o->strings + s->st_name : NULL;
    return name && *name && is_watched(name) && !has_own_address(name) ? name : NULL;
}

/* Returns the references of the PLT, which name every function that has an entry. */
static const Elf64_Rela *plt_of(const struct plumb_object *o, size_t *count)
{
    const Elf64_Rela *plt = NULL;
    size_t bytes = 0;
    for (const Elf64_Dyn *d = o->map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL)
            plt =
                (const Elf64_Rela *)(d->d_un.d_ptr < o->map->l_addr ? o->map->l_addr + d->d_un.d_ptr
                                                                    : d->d_un.d_ptr);
        else if (d->d_tag == DT_PLTRELSZ)
            bytes = d->d_un.d_val;
    }
    *count = plt ? bytes / sizeof *plt : 0;
    return plt;
}

/* Returns the name of a watched function that has an address of its own here, else NULL. */
static const char *own_name(const struct plumb_object *o, const Elf64_Rela *r)
{
    const Elf64_Sym *s = &o->symbols[ELF64_R_SYM(r->r_info)];
    const char *name = o->strings + s->st_name;
    return s->st_shndx == SHN_UNDEF && s->st_value && is_watched(name) ? name : NULL;
}

void plumb_relocations_program(const struct plumb_object *o)
{
    size_t n, own = 0, size = 1;
    const Elf64_Rela *plt = plt_of(o, &n);
    for (size_t i = 0; i < n; i++)
        own += own_name(o, &plt[i]) != NULL;
    while (size < own * 2)
        size *= 2;
    own_address.name = own ? plumb_bare_map(size * sizeof *own_address.name) : NULL;
    own_address.size = own_address.name ? size : 0;
    for (size_t i = 0; own_address.size && i < n; i++) {
        const char *name = own_name(o, &plt[i]);
        if (name)
            *own_slot(name) = name;
    }
}

/* ---- Protection ------------------------------------------------------------------------------ */

/* The page(s) of the relocation: what is around them may be code (objects linked with -z
 * noseparate-code, as all were until 2018) or data (objects that were changed after linking, as
 * those in Python's wheels), and needs the protection that it had. */
static bool protect(const Elf64_Rela *r, int protection)
{
    uintptr_t first = (uintptr_t)r & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)(r + 1) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return plumb_bare_call(SYS_mprotect, (long)first, (long)(end - first), protection, 0, 0, 0) ==
           0;
}

/* Sets what it needs of the relocation's memory. Returns false if nothing is known about it, or it
 * cannot be written to. */
static bool make_writable(struct plumb_mapped *at, const Elf64_Rela *r)
{
    if (((uintptr_t)r < at->begin || (uintptr_t)(r + 1) > at->end) &&
        !plumb_mapped_find(at, (uintptr_t)r, (uintptr_t)(r + 1)))
        return false;
    return at->protection & WRITE || protect(r, at->protection | WRITE) ||
           (at->protection & EXECUTE && protect(r, READ | WRITE));
}

/* ---- Watching -------------------------------------------------------------------------------- */

static void note(const struct plumb_object *o, const char *name, const char *why)
{
    if (plumb_wanted_name(name))
        plumb_note_uncounted(o->file, name, why);
}

static void watch(const struct plumb_object *o, struct plumb_mapped *at, Elf64_Rela *r,
                  const char *name)
{
    const Elf64_Xword symbol = ELF64_R_SYM(r->r_info);
    if (r->r_addend) {
        note(o, name, "a table has an address inside it");
    } else if (!make_writable(at, r)) {
        note(o, name, "calls through a pointer: the relocation cannot be made writable");
    } else {
        r->r_info = ELF64_R_INFO(symbol, R_X86_64_JUMP_SLOT);
        if (!(at->protection & WRITE))
            protect(r, at->protection);
    }
}

void plumb_relocations_watch(const struct plumb_object *o)
{
    struct plumb_mapped at = {0, 0, 0};
    for (size_t i = 0; i < o->relocation_count; i++) {
        const char *name = watched_name(o, &o->relocations[i]);
        if (name)
            watch(o, &at, &o->relocations[i], name);
    }
}
