/* bench_count.c: what a call of a function costs that `plumb record --count` counts, beyond the
 * same call of one that it does not count: inside one open node, and where each call has a node of
 * its own, so that the open node is looked up for each.
 *
 * The counter is loaded by LD_AUDIT: the program starts itself again with it. Both functions lie in
 * one library and do the same, so calls with and without take turns in one process. */
#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* count_called.c */
void bench_counted(void);
void bench_not_counted(void);

static void calls_without(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        bench_not_counted();
}

static void calls_with(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        bench_counted();
}

PLUMB_POINT(this_node, "this");
PLUMB_POINT(that_node, "that");

static void spans_without(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(i & 1 ? &this_node : &that_node);
        bench_not_counted();
        plumb_end(s);
    }
}

static void spans_with(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(i & 1 ? &this_node : &that_node);
        bench_counted();
        plumb_end(s);
    }
}

/* Returns whether the counter stands before the function: then its address is in another library.
 */
static bool is_counted(void)
{
    Dl_info info;
    void *found = dlsym(RTLD_DEFAULT, "bench_counted");
    return found && (!dladdr(found, &info) || !strstr(info.dli_fname, "count_called"));
}

static void start_again(char **argv)
{
    char path[4096];
    Dl_info info;
    void *api = dlsym(RTLD_DEFAULT, "plumb_api_1");
    const char *slash = api && dladdr(api, &info) ? strrchr(info.dli_fname, '/') : NULL;
    if (!slash || getenv("LD_AUDIT") ||
        snprintf(path, sizeof path, "%.*s/libplumb-count.so", (int)(slash - info.dli_fname),
                 info.dli_fname) >= (int)sizeof path ||
        access(path, R_OK) != 0)
        return;
    setenv("PLUMB_COUNT", "bench_counted", 1);
    setenv("LD_AUDIT", path, 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct bench_cell cells[] = {
        {.name = "a call", .run = calls_without},
        {.name = "a call that is counted", .run = calls_with},
        {.name = "span around a call", .run = spans_without},
        {.name = "span around a counted call", .run = spans_with},
    };
    if (!is_counted())
        start_again(argv);
    bench_open(&b, "count", argc, argv);
    if (!is_counted()) {
        bench_put_null(&b, "audit_ns_per_call", "libplumb-count.so is not next to libplumb.so");
        return bench_close(&b);
    }
    bench_record_start(&b, false);
    {
        PLUMB_SPAN("around");
        bench_interleave(&b, cells, 4, 10000, 400);
    }
    bench_print_cells(cells, 4);
    bench_put_stat(&b, "audit_call_ns", &cells[0].ns);
    bench_put(&b, "audit_ns_per_call", cells[1].ns.median - cells[0].ns.median);
    bench_put(&b, "audit_in_spans_ns_per_call", cells[3].ns.median - cells[2].ns.median);
    bench_record_stop(&b);
    return bench_close(&b);
}
