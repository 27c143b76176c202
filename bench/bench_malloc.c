/* bench_malloc.c: what it costs to follow memory: an allocation under the interposer, an event of
 * the allocator interface, a reading of the resident set around a stage.
 *
 * The interposer is preloaded: the program starts itself again with it. The allocator that the
 * interposer calls is found by its own address, so that calls with and without the interposer take
 * turns in one process. */
#include "harness.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64, STAGE_ROUNDS = 24, STAGES = 2000 };

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);

/* Called through pointers, so that the compiler does not remove pairs whose result is unused. */
static void *(*volatile seen_malloc)(size_t) = malloc;
static void (*volatile seen_free)(void *) = free;

static void pairs_without(void *unused, uint64_t n)
{
    void *(*volatile * m)(size_t) = (void *(*volatile *)(size_t)) & real_malloc;
    void (*volatile * f)(void *) = (void (*volatile *)(void *)) & real_free;
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        (*f)((*m)(BYTES));
}

static void pairs_with(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        seen_free(seen_malloc(BYTES));
}

/* The same, each pair in a short node that is not the last one: the sums of the thread are then
 * passed on for each pair. */
PLUMB_POINT(this_node, "this");
PLUMB_POINT(that_node, "that");

static void spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(i & 1 ? &this_node : &that_node);
        bench_barrier();
        plumb_end(s);
    }
}

static void spans_with_pair(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(i & 1 ? &this_node : &that_node);
        seen_free(seen_malloc(BYTES));
        plumb_end(s);
    }
}

static void events(void *unused, uint64_t n)
{
    static char blocks[64];
    (void)unused;
    for (uint64_t i = 0; i < n; i += 2) {
        const char *block = &blocks[i / 2 % sizeof blocks];
        plumb_mem_alloc("cpu", "frames", block, BYTES);
        plumb_mem_free("cpu", "frames", block, BYTES);
    }
}

static void nothing(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        bench_barrier();
}

/* ---- The interposer -------------------------------------------------------------------------- */

static bool interposed(void)
{
    Dl_info info;
    void *first = dlsym(RTLD_DEFAULT, "malloc");
    return first && dladdr(first, &info) && info.dli_fname &&
           strstr(info.dli_fname, "libplumb-malloc");
}

static bool find_real(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    *(void **)(void *)&real_malloc = libc ? dlsym(libc, "malloc") : NULL;
    *(void **)(void *)&real_free = libc ? dlsym(libc, "free") : NULL;
    return real_malloc && real_free;
}

static void put_difference(struct bench *b, const char *key, const struct bench_cell *with,
                           const struct bench_cell *without)
{
    bench_put(b, key, with->ns.median - without->ns.median);
}

static void measure_interposer(struct bench *b)
{
    static const char reason[] = "libplumb-malloc.so is not beside libplumb.so";
    struct bench_cell cells[] = {
        {.name = "malloc + free", .run = pairs_without},
        {.name = "the same, interposed", .run = pairs_with},
        {.name = "span", .run = spans},
        {.name = "span around the interposed pair", .run = spans_with_pair},
    };
    struct bench_cell two[2] = {cells[0], cells[1]};
    if (!interposed() || !find_real()) {
        bench_put_null(b, "malloc_interposer_ns", reason);
        bench_put_null(b, "malloc_interposer_2t_ns", reason);
        return;
    }
    bench_record_start(b, false);
    bench_interleave(b, cells, 4, 10000, 400);
    bench_print_cells(cells, 4);
    bench_put_stat(b, "malloc_pair_ns", &cells[0].ns);
    put_difference(b, "malloc_interposer_ns", &cells[1], &cells[0]);
    bench_put(b, "malloc_interposer_in_spans_ns",
              cells[3].ns.median - cells[2].ns.median - cells[0].ns.median);
    if (bench_interleave_two(b, two, 2, 10000, 400)) {
        bench_print_cells(two, 2);
        put_difference(b, "malloc_interposer_2t_ns", &two[1], &two[0]);
    } else {
        bench_put_null(b, "malloc_interposer_2t_ns", "this process may use one processor only");
    }
    bench_record_stop(b);
}

/* ---- Events and samples ---------------------------------------------------------------------- */

static void measure_events(struct bench *b)
{
    struct bench_cell cells[] = {{.name = "empty loop", .run = nothing},
                                 {.name = "alloc or free event", .run = events}};
    struct bench_cell two[2] = {cells[0], cells[1]};
    bench_record_start(b, false);
    bench_interleave(b, cells, 2, 5000, 400);
    bench_print_cells(cells, 2);
    put_difference(b, "alloc_event_ns", &cells[1], &cells[0]);
    if (bench_interleave_two(b, two, 2, 5000, 200))
        put_difference(b, "alloc_event_2t_ns", &two[1], &two[0]);
    bench_record_stop(b);
}

/* One run's worth of empty stages; CPU time a stage. */
static double stage_ns(struct bench *b, const char *memory)
{
    uint64_t from;
    double ns;
    setenv("PLUMB_MEMORY", memory, 1);
    bench_record_start(b, false);
    for (int i = 0; i < 100; i++) {
        PLUMB_STAGE(stage, "stage");
    }
    from = bench_cpu_ns();
    for (int i = 0; i < STAGES; i++) {
        PLUMB_STAGE(stage, "stage");
    }
    ns = (double)(bench_cpu_ns() - from) / STAGES;
    bench_record_stop(b);
    unsetenv("PLUMB_MEMORY");
    return ns;
}

/* The setting holds for a run, so runs take turns. A stage takes two samples. */
static void measure_samples(struct bench *b)
{
    double with[STAGE_ROUNDS], without[STAGE_ROUNDS], sample[STAGE_ROUNDS];
    size_t rounds = b->quick ? STAGE_ROUNDS / 4 : STAGE_ROUNDS;
    struct bench_stat s;
    for (size_t i = 0; i < rounds; i++) {
        with[i] = stage_ns(b, "stages");
        without[i] = stage_ns(b, "off");
        sample[i] = (with[i] - without[i]) / 2;
    }
    s = bench_stat_of(without, rounds);
    bench_put_stat(b, "stage_ns", &s);
    s = bench_stat_of(sample, rounds);
    bench_put_stat(b, "rss_sample_ns", &s);
}

int main(int argc, char **argv)
{
    static struct bench b;
    if (!interposed())
        bench_start_again_with("libplumb-malloc.so", argv);
    bench_open(&b, "malloc", argc, argv);
    measure_interposer(&b);
    measure_events(&b);
    measure_samples(&b);
    return bench_close(&b);
}
