/* modules.c: the addresses of the process's modules, for the addresses of call stacks. Each module
 * is a fact `plumb.module.<n>`: "<from>-<upto> <build id or -> <path>", in hexadecimal; the address
 * of a symbol in the file is the address minus `from`. */
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/trace/trace.h"

struct modules {
    struct plumb_trace_file *file;
    uint32_t count, told; /* earlier ones are in the file */
};

static const unsigned char *build_id(const struct dl_phdr_info *info, uint32_t *bytes)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const unsigned char *at = (const unsigned char *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
        const unsigned char *end = at + p->p_filesz;
        while (p->p_type == PT_NOTE && (size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            size_t name, desc;
            memcpy(&note, at, sizeof note);
            name = (note.n_namesz + 3u) & ~(size_t)3;
            desc = (note.n_descsz + 3u) & ~(size_t)3;
            if (name + desc > (size_t)(end - at) - sizeof note)
                break;
            at += sizeof note;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
                *bytes = note.n_descsz < 32 ? note.n_descsz : 32;
                return at + name;
            }
            at += name + desc;
        }
    }
    *bytes = 0;
    return NULL;
}

/* The frame holds two paths: 8 KiB. Only the writer of the trace calls this function. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct modules *m = arg;
    char key[40], text[PATH_MAX + 160], path[PATH_MAX] = "", id[80] = "-";
    const unsigned char *bytes;
    uint64_t upto = 0;
    uint32_t n;
    (void)size;
    if (m->count++ < m->told)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz > upto)
            upto = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    bytes = build_id(info, &n);
    for (uint32_t i = 0; i < n; i++)
        snprintf(id + 2 * (size_t)i, 3, "%02x", bytes[i]);
    if (info->dlpi_name && info->dlpi_name[0])
        snprintf(path, sizeof path, "%s", info->dlpi_name);
    else if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        snprintf(path, sizeof path, "?");
    snprintf(key, sizeof key, "plumb.module.%u", m->count - 1);
    snprintf(text, sizeof text, "%" PRIx64 "-%" PRIx64 " %s %s", (uint64_t)info->dlpi_addr,
             (uint64_t)info->dlpi_addr + upto, id, path);
    plumb_trace_file_fact(m->file, key, text);
    return 0;
}
#pragma GCC diagnostic pop

uint32_t plumb_trace_modules(struct plumb_trace_file *f, uint32_t told)
{
    struct modules m = {f, 0, told};
    if (f->source.h->trace.what & PLUMB_TRACE_HAS_STACK)
        dl_iterate_phdr(each, &m);
    return m.count > told ? m.count : told;
}
