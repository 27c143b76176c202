/* relocations.h: the references of an object to functions that do not go through its PLT.
 *
 * The dynamic linker reports the PLT's references to auditors (la_symbind64), not the others:
 * addresses that code loads from the GOT (R_X86_64_GLOB_DAT: -fno-plt, a function's address taken)
 * and addresses in tables (R_X86_64_64). Before the object is relocated, those whose function may
 * be wanted become references of the PLT's kind (R_X86_64_JUMP_SLOT). The linker stores the same
 * value for them, by its own rules of search, scope and version, and asks the auditor. It does so
 * before the first constructor and before it write-protects the slots (RELRO), in objects that
 * dlopen() loads as well. Patching slots after relocation could do neither: nothing calls an
 * auditor between the relocation of such an object and its constructors. */
#ifndef PLUMB_INJECT_COUNT_RELOCATIONS_H
#define PLUMB_INJECT_COUNT_RELOCATIONS_H

#include "inject/count/object.h"

/* For an object that has just been mapped. A reference that cannot be changed is noted as not
 * counted. */
void plumb_relocations_watch(const struct plumb_object *o);
/* For the program, before any other object. An executable that is not position-independent may
 * have given a function an address of its own, an entry of its PLT, which all objects must see. */
void plumb_relocations_program(const struct plumb_object *o);

#endif
