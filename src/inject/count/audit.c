/* audit.c: what the dynamic linker calls (rtld-audit(7)), and the library's own beginning.
 *
 * la_objopen() comes before an object is relocated, la_symbind64() for each function that is bound:
 * at once, lazily at the first call, or by dlsym(). References from plumb's own libraries are left
 * alone: plumb's calls are not the program's. Any thread. */
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/calls_area.h"
#include "inject/count/bare.h"
#include "inject/count/counts.h"
#include "inject/count/functions.h"
#include "inject/count/leave.h"
#include "inject/count/object.h"
#include "inject/count/relocations.h"
#include "inject/count/trampoline.h"
#include "inject/count/wanted.h"

#define FACE __attribute__((visibility("default")))

enum { AUDIT_SINCE_2_35 = 2, PAGE = 4096 };

static bool active;

/* ---- The page by which libplumb finds the counts --------------------------------------------- */

static struct plumb_calls_area area = {
    .version = PLUMB_CALLS_VERSION,
    .size = sizeof area,
    .functions = plumb_functions,
    .function_count = &plumb_function_count,
    .note_limit = PLUMB_NOTES,
    .notes = plumb_notes,
    .note_count = &plumb_note_count,
    .never_found = plumb_wanted_never_found,
};

/* A file beyond the process's limit would end it (SIGXFSZ). */
static bool may_have_files(void)
{
    enum { FILE_SIZE = 1 };
    return plumb_bare_limit(FILE_SIZE) >= PAGE;
}

/* A mapping has a name if it is a file, or, on newer kernels, if it is given one. */
static uint64_t *named_page(void)
{
    enum { READ_WRITE = 3, PRIVATE = 2, CLOSE_ON_EXEC = 1, NAME_VMA = 0x53564d41 };
    static const char name[] = PLUMB_CALLS_PAGE;
    long page = -1, fd = may_have_files() ? plumb_bare_call(SYS_memfd_create, (long)name,
                                                            CLOSE_ON_EXEC, 0, 0, 0, 0)
                                          : -1;
    if (fd >= 0 && plumb_bare_call(SYS_ftruncate, fd, PAGE, 0, 0, 0, 0) == 0)
        page = plumb_bare_call(SYS_mmap, 0, PAGE, READ_WRITE, PRIVATE, fd, 0);
    if (fd >= 0)
        plumb_bare_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (page > 0 || page <= -PAGE)
        return (uint64_t *)page;
    uint64_t *anonymous = plumb_bare_map(PAGE);
    if (anonymous)
        plumb_bare_call(SYS_prctl, NAME_VMA, 0, (long)anonymous, PAGE, (long)name, 0);
    return anonymous;
}

static bool leave_page(void)
{
    uint64_t *page = named_page();
    if (!page)
        return false;
    page[1] = (uint64_t)(uintptr_t)&area;
    PLUMB_RELEASE(page[0], PLUMB_CALLS_MAGIC);
    plumb_bare_call(SYS_mprotect, (long)page, PAGE, 1, 0, 0, 0);
    return true;
}

/* ---- The beginning --------------------------------------------------------------------------- */

static const char *variable(char **environment, const char *name)
{
    size_t n = plumb_bare_length(name);
    for (; environment && *environment; environment++)
        if (plumb_bare_begins(*environment, name, n) && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

/* Initially the thread-local word that is read is one of this library, which stays 0. */
static __thread const uint64_t *nothing __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    const char *list = variable(environment, PLUMB_CALLS_VARIABLE);
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    plumb_record_at = (int64_t)((uintptr_t)&nothing - self);
    if (argc > 0 && argv[0])
        plumb_object_program(argv[0]);
    if (!list || !plumb_wanted_set(list) || !plumb_functions_init() || !plumb_counts_init())
        return;
    plumb_vectors_init();
    plumb_counts_describe(&area);
    area.attach = plumb_counts_attach;
    active = leave_page();
}

/* ---- The dynamic linker's calls -------------------------------------------------------------- */

/* Never 0, which asks to be unloaded: glibc then ends the process, because this library is marked
 * as one that stays. Without a list, or memory, it watches no object. */
FACE unsigned la_version(unsigned version)
{
    active = active && version >= AUDIT_SINCE_2_35;
    return version < AUDIT_SINCE_2_35 ? version : AUDIT_SINCE_2_35;
}

static bool is_linker(const struct link_map *map)
{
    static const char head[] = "ld-linux";
    return plumb_bare_begins(plumb_bare_base(map->l_name ? map->l_name : ""), head,
                             sizeof head - 1);
}

FACE unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    struct plumb_object o;
    (void)namespace;
    *cookie = (uintptr_t)map;
    if (!active || plumb_object_is_ours(map))
        return 0;
    if (is_linker(map) || !plumb_object_read(&o, map))
        return LA_FLG_BINDTO;
    if (!map->l_name || !*map->l_name)
        plumb_relocations_program(&o);
    plumb_relocations_watch(&o);
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

FACE unsigned la_objclose(uintptr_t *cookie)
{
    plumb_functions_close((const struct link_map *)*cookie);
    return 0;
}

/* Returns the address that the caller is given for a function of the program, or `target`. */
static uintptr_t bind(const struct link_map *in, const char *name, uintptr_t target, bool is_typed)
{
    struct plumb_object o;
    if (!plumb_wanted_name(name) || !plumb_object_read(&o, in) ||
        !plumb_wanted_function(o.soname, o.file, name))
        return target;
    if (is_typed)
        return plumb_function_bind(&o, name, target);
    plumb_note_uncounted(o.soname ? o.soname : o.file, name,
                         "its symbol says neither function nor data (assembly without .type)");
    return target;
}

FACE uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to,
                            unsigned *flags, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    uintptr_t target = symbol->st_value;
    bool is_typed = type == STT_FUNC || type == STT_GNU_IFUNC;
    (void)number;
    (void)flags;
    if ((!is_typed && type != STT_NOTYPE) || symbol->st_shndx == SHN_UNDEF ||
        plumb_object_is_ours((const struct link_map *)*from))
        return target;
    if (is_typed && plumb_leave_is_name(name))
        target = plumb_leave_bind(name, target);
    return bind((const struct link_map *)*to, name, target, is_typed);
}
