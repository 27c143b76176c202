/* Fuzz target: any bytes as the file of a module whose functions are asked for by address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "read/trace/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_fact(struct plumb_table *t, const char *key, const char *text)
{
    union plumb_table_number v = {.u64 = plumb_table_string(t, text, strlen(text))};
    plumb_table_add_fact(t, plumb_table_string(t, key, strlen(key)), PLUMB_ARG_TEXT, v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_table t;
    plumb_error err;
    char text[100];
    struct plumb_buf out = {0};
    int fd = memfd_create("module", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || plumb_table_init(&t, &err) < 0)
        abort();
    snprintf(text, sizeof text, "1000-100000000 - /proc/self/fd/%d", fd);
    add_fact(&t, "plumb.module.0", text);
    add_fact(&t, "plumb.module.1", "5-4 - /nowhere");
    if (plumb_table_finish(&t, &err) < 0)
        abort();
    struct plumb_symbols *s = plumb_symbols_open(&t);
    for (uint64_t address = 0xff0; address < 0x1100; address++)
        plumb_symbols_put(&out, s, address);
    plumb_symbols_put(&out, s, UINT64_MAX);
    plumb_symbols_close(s);
    plumb_buf_fini(&out);
    plumb_table_fini(&t);
    close(fd);
    return 0;
}
