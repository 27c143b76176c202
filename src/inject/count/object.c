/* object.c: see object.h. */
#include "inject/count/object.h"

#include <stdint.h>

#include "inject/count/bare.h"

static const char *program = "program";

void plumb_object_program(const char *path)
{
    program = plumb_bare_base(path);
}

/* The linker adds the load address to some addresses in place, and leaves those of a dynamic
 * section that it cannot write (the kernel's vDSO). */
static uintptr_t address(const struct link_map *map, Elf64_Addr value)
{
    return value < map->l_addr ? map->l_addr + value : value;
}

bool plumb_object_read(struct plumb_object *out, const struct link_map *map)
{
    Elf64_Xword soname = 0, rela_bytes = 0;
    bool named = false;
    *out = (struct plumb_object){.map = map};
    for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            out->symbols = (const Elf64_Sym *)address(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            out->strings = (const char *)address(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_RELA)
            out->relocations = (Elf64_Rela *)address(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_RELASZ)
            rela_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_SONAME) {
            soname = d->d_un.d_val;
            named = true;
        }
    }
    if (!out->symbols || !out->strings)
        return false;
    out->soname = named ? out->strings + soname : NULL;
    out->file = map->l_name && *map->l_name ? plumb_bare_base(map->l_name) : program;
    out->relocation_count = out->relocations ? rela_bytes / sizeof(Elf64_Rela) : 0;
    return true;
}

/* Not by the beginning alone: a program may have a libplumbing.so. */
bool plumb_object_is_ours(const struct link_map *map)
{
    static const char *const ours[] = {
        "libplumb.so",        "libplumb-calls.so",  "libplumb-count.so", "libplumb-malloc.so",
        "libplumb-onednn.so", "libplumb-opencl.so", "libplumb-read.so"};
    const char *file = plumb_bare_base(map->l_name ? map->l_name : "");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        size_t n = plumb_bare_length(ours[i]);
        if (plumb_bare_begins(file, ours[i], n) && (!file[n] || file[n] == '.'))
            return true;
    }
    return false;
}
