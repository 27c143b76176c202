/* object.h: facts about a loaded object, from its dynamic section in memory. The dynamic linker has
 * checked that it is there. */
#ifndef PLUMB_INJECT_COUNT_OBJECT_H
#define PLUMB_INJECT_COUNT_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

struct plumb_object {
    const struct link_map *map;
    const Elf64_Sym *symbols;
    const char *strings;
    const char *soname;      /* NULL: none */
    const char *file;        /* without folders; of the program, the name it was started by */
    Elf64_Rela *relocations; /* those that are not of the PLT */
    size_t relocation_count;
};

/* Sets the name of the program's file; it must stay. */
void plumb_object_program(const char *path);
/* Returns false if the object has no dynamic symbols. */
bool plumb_object_read(struct plumb_object *out, const struct link_map *map);
/* Returns whether the object is a library of plumb. */
bool plumb_object_is_ours(const struct link_map *map);

#endif
