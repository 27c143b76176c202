/* references.c: see references.h. Undefined symbols lie before the hashed ones, so only these are
 * compared; there is no other index of them. */
#include "base/process/references.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct search {
    const char *symbol;
    uintptr_t own;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash, *gnu_hash;
};

/* The loader has relocated most of these addresses; those of the kernel's object it has not. */
static const void *address_of(const struct dl_phdr_info *o, const ElfW(Dyn) * d)
{
    uintptr_t at = (uintptr_t)d->d_un.d_ptr;
    return (const void *)(at < o->dlpi_addr ? at + o->dlpi_addr : at);
}

static struct tables tables_of(const struct dl_phdr_info *o, const ElfW(Dyn) * d)
{
    struct tables t = {NULL, NULL, NULL, NULL};
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t.symbols = address_of(o, d);
        else if (d->d_tag == DT_STRTAB)
            t.names = address_of(o, d);
        else if (d->d_tag == DT_HASH)
            t.hash = address_of(o, d);
        else if (d->d_tag == DT_GNU_HASH)
            t.gnu_hash = address_of(o, d);
    }
    return t;
}

/* Returns how many symbols have to be compared: with GNU's hash table, those that it leaves out. */
static uint32_t count_of(const struct tables *t)
{
    return t->gnu_hash ? t->gnu_hash[1] : t->hash ? t->hash[1] : 0;
}

static bool refers(const struct dl_phdr_info *o, const ElfW(Dyn) * dynamic, const char *symbol)
{
    struct tables t = tables_of(o, dynamic);
    if (!t.symbols || !t.names)
        return false;
    for (uint32_t i = 1, n = count_of(&t); i < n; i++)
        if (t.symbols[i].st_shndx == SHN_UNDEF &&
            strcmp(t.names + t.symbols[i].st_name, symbol) == 0)
            return true;
    return false;
}

static int look(struct dl_phdr_info *o, size_t size, void *arg)
{
    const struct search *s = arg;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];
        uintptr_t at = (uintptr_t)o->dlpi_addr + (uintptr_t)p->p_vaddr;
        if (p->p_type == PT_LOAD && s->own - at < p->p_memsz)
            return 0;
        if (p->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)at;
    }
    return dynamic && refers(o, dynamic, s->symbol);
}

bool plumb_is_referred_to(const char *symbol, const void *own)
{
    struct search s = {symbol, (uintptr_t)own};
    return dl_iterate_phdr(look, &s) != 0;
}
