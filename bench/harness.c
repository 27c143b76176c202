/* harness.c: pinning, interleaving, medians, and the JSON object. See harness.h for the method. */
#include "harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- Clocks and numbers
 * --------------------------------------------------------------------------- */

uint64_t bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double bench_tick_ns(void)
{
    uint64_t t0 = bench_ticks(), n0 = plumb_now_ns(), t1, n1;
    do {
        t1 = bench_ticks();
        n1 = plumb_now_ns();
    } while (n1 - n0 < 50000000);
    return (double)(n1 - n0) / (double)(t1 - t0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

struct bench_stat bench_stat_of(double *samples, size_t n)
{
    struct bench_stat s = {0};
    if (n == 0)
        return s;
    qsort(samples, n, sizeof *samples, by_value);
    s.median = bench_quantile(samples, n, 0.5);
    s.q1 = bench_quantile(samples, n, 0.25);
    s.q3 = bench_quantile(samples, n, 0.75);
    s.min = samples[0];
    s.max = samples[n - 1];
    s.samples = n;
    return s;
}

uint64_t bench_rss_kb(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%llu %llu", &size, &resident) != 2) {
        fprintf(stderr, "bench: /proc/self/statm cannot be read\n");
        exit(1);
    }
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- Processors
 * ----------------------------------------------------------------------------------- */

bool bench_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static cpu_set_t allowed; /* before anything was pinned */

int bench_other_cpu(int cpu)
{
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (i != cpu && CPU_ISSET(i, &allowed))
            return i;
    }
    return -1;
}

/* The last one: the first takes most interrupts. */
static int default_cpu(void)
{
    int cpu = 0;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &allowed))
            cpu = i;
    }
    return cpu;
}

/* ---- Opening and closing
 * --------------------------------------------------------------------------- */

static void wrong(const struct bench *b, const char *argument)
{
    fprintf(stderr,
            "bench_%s: wrong argument '%s'\n"
            "usage: bench_%s [--json FILE] [--tmp DIR] [--cpu N] [--quick]\n",
            b->name, argument, b->name);
    exit(2);
}

static void parse(struct bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            b->quick = true;
            continue;
        }
        if (!value)
            wrong(b, argv[i]);
        if (strcmp(argv[i], "--json") == 0)
            b->json_path = value;
        else if (strcmp(argv[i], "--tmp") == 0)
            b->tmp_path = value;
        else if (strcmp(argv[i], "--cpu") == 0)
            b->cpu = atoi(value);
        else
            wrong(b, argv[i]);
        i++;
    }
}

void bench_open(struct bench *b, const char *name, int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    /* Lines appear at once, also through a pipe, so that a crash does not lose the figures before
     * it. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(b, 0, sizeof *b);
    b->name = name;
    b->tmp_path = tmp && *tmp ? tmp : "/tmp";
    sched_getaffinity(0, sizeof allowed, &allowed);
    b->cpu = default_cpu();
    parse(b, argc, argv);
    if (!bench_pin(b->cpu)) {
        fprintf(stderr, "bench_%s: cannot run on processor %d: %s\n", name, b->cpu,
                strerror(errno));
        exit(1);
    }
    /* Not permitted is not an error: CPU time is what counts. */
    setpriority(PRIO_PROCESS, 0, -15);
    b->nice = getpriority(PRIO_PROCESS, 0);
    printf("bench_%s: processor %d, nice %d\n", name, b->cpu, b->nice);
}

int bench_close(struct bench *b)
{
    FILE *f = b->json_path ? fopen(b->json_path, "w") : NULL;
    if (!b->json_path)
        return 0;
    if (!f) {
        fprintf(stderr, "bench_%s: cannot write '%s': %s\n", b->name, b->json_path,
                strerror(errno));
        return 1;
    }
    for (size_t i = 0; i < b->key_count; i++)
        fprintf(f, "%s\n  \"%s\": %s", i ? "," : "{", b->keys[i].name, b->keys[i].value);
    fprintf(f, b->key_count ? "\n}\n" : "{}\n");
    if (fclose(f) != 0) {
        fprintf(stderr, "bench_%s: cannot write '%s': %s\n", b->name, b->json_path,
                strerror(errno));
        return 1;
    }
    return 0;
}

/* ---- Keys
 * ------------------------------------------------------------------------------------------ */

static struct bench_key *key_add(struct bench *b, const char *key, const char *suffix)
{
    struct bench_key *k = &b->keys[b->key_count];
    if (b->key_count == BENCH_KEYS_MAX) {
        fprintf(stderr, "bench_%s: more than %d keys\n", b->name, BENCH_KEYS_MAX);
        exit(1);
    }
    b->key_count++;
    snprintf(k->name, sizeof k->name, "%s%s", key, suffix);
    return k;
}

static void put(struct bench *b, const char *key, const char *suffix, double value)
{
    struct bench_key *k = key_add(b, key, suffix);
    snprintf(k->value, sizeof k->value, "%.6g", value);
}

void bench_put(struct bench *b, const char *key, double value)
{
    put(b, key, "", value);
    printf("  %-34s %.4g\n", key, value);
}

static void put_quoted(struct bench_key *k, const char *text)
{
    size_t n = 0;
    k->value[n++] = '"';
    for (; *text && n + 3 < sizeof k->value; text++) {
        if (*text == '"' || *text == '\\')
            k->value[n++] = '\\';
        k->value[n++] = (unsigned char)*text < 32 ? ' ' : *text;
    }
    k->value[n++] = '"';
    k->value[n] = '\0';
}

void bench_put_text(struct bench *b, const char *key, const char *text)
{
    put_quoted(key_add(b, key, ""), text);
    printf("  %-34s %s\n", key, text);
}

void bench_put_null(struct bench *b, const char *key, const char *reason)
{
    snprintf(key_add(b, key, "")->value, sizeof b->keys[0].value, "null");
    put_quoted(key_add(b, key, "_reason"), reason);
    printf("  %-34s none: %s\n", key, reason);
}

void bench_put_stat(struct bench *b, const char *key, const struct bench_stat *s)
{
    put(b, key, "", s->median);
    put(b, key, "_q1", s->q1);
    put(b, key, "_q3", s->q3);
    printf("  %-34s %.4g  (quartiles %.4g to %.4g of %zu)\n", key, s->median, s->q1, s->q3,
           s->samples);
}

/* ---- Interleaving
 * ---------------------------------------------------------------------------------- */

/* The blocks of one thread: value of cell c in round r at [c * rounds + r]. */
struct turns {
    struct bench_cell *cells;
    size_t count, rounds;
    uint64_t n;
    double *values;
    pthread_barrier_t *together; /* NULL: one thread */
    int cpu;
};

static double *values_new(size_t n)
{
    double *v = calloc(n, sizeof *v);
    if (!v) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return v;
}

static void take_turns(struct turns *t)
{
    for (size_t r = 0; r < t->rounds; r++) {
        for (size_t i = 0; i < t->count; i++) {
            /* Another cell goes first each round, so that none always follows the same one. */
            size_t c = (i + r) % t->count;
            uint64_t from;
            if (t->cells[c].prepare)
                t->cells[c].prepare(t->cells[c].arg);
            if (t->together)
                pthread_barrier_wait(t->together);
            from = bench_cpu_ns();
            t->cells[c].run(t->cells[c].arg, t->n);
            t->values[c * t->rounds + r] = (double)(bench_cpu_ns() - from) / (double)t->n;
        }
    }
}

/* `values` holds `rounds` blocks of each cell, and neighbours of one round lie at the same index.
 */
static void summarise(struct bench_cell *cells, size_t count, double *values, size_t rounds)
{
    double *x = values_new(rounds), *copy = values_new(rounds);
    for (size_t c = 0; c < count; c++) {
        for (size_t r = 0; r < rounds; r++)
            x[r] = values[c * rounds + r] / values[r];
        memcpy(copy, &values[c * rounds], rounds * sizeof *copy);
        cells[c].ns = bench_stat_of(copy, rounds);
        cells[c].x = bench_stat_of(x, rounds);
    }
    free(x);
    free(copy);
}

static size_t rounds_of(const struct bench *b, size_t rounds)
{
    if (b->quick)
        rounds = rounds / 8 + 8;
    return rounds > BENCH_ROUNDS_MAX ? BENCH_ROUNDS_MAX : rounds;
}

void bench_interleave(struct bench *b, struct bench_cell *cells, size_t count, uint64_t n,
                      size_t rounds)
{
    struct turns t = {cells, count, 4, n, NULL, NULL, b->cpu};
    rounds = rounds_of(b, rounds);
    t.values = values_new(count * rounds);
    take_turns(&t); /* warm-up */
    t.rounds = rounds;
    take_turns(&t);
    summarise(cells, count, t.values, rounds);
    free(t.values);
}

static void *turns_main(void *arg)
{
    struct turns *t = arg;
    size_t rounds = t->rounds;
    bench_pin(t->cpu);
    t->rounds = 4;
    take_turns(t); /* warm-up */
    t->rounds = rounds;
    take_turns(t);
    return NULL;
}

bool bench_interleave_two(struct bench *b, struct bench_cell *cells, size_t count, uint64_t n,
                          size_t rounds)
{
    int other = bench_other_cpu(b->cpu);
    pthread_barrier_t together;
    struct turns t[2];
    pthread_t thread[2];
    double *all;
    if (other < 0)
        return false;
    rounds = rounds_of(b, rounds);
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 2; i++) {
        t[i] = (struct turns){
            cells, count, rounds, n, values_new(count * rounds), &together, i ? other : b->cpu};
        if (pthread_create(&thread[i], NULL, turns_main, &t[i]) != 0) {
            fprintf(stderr, "bench: cannot make a thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    all = values_new(count * rounds * 2);
    for (size_t c = 0; c < count; c++) {
        for (int i = 0; i < 2; i++)
            memcpy(&all[(c * 2 + (size_t)i) * rounds], &t[i].values[c * rounds],
                   rounds * sizeof *all);
    }
    summarise(cells, count, all, rounds * 2);
    free(all);
    free(t[0].values);
    free(t[1].values);
    pthread_barrier_destroy(&together);
    return true;
}

void bench_print_cells(const struct bench_cell *cells, size_t count)
{
    printf("  %-34s %9s %21s %8s %17s\n", "loop", "median ns", "quartiles", "x first", "quartiles");
    for (size_t i = 0; i < count; i++)
        printf("  %-34s %9.3f %9.3f to %8.3f %8.3f %7.3f to %6.3f\n", cells[i].name,
               cells[i].ns.median, cells[i].ns.q1, cells[i].ns.q3, cells[i].x.median, cells[i].x.q1,
               cells[i].x.q3);
}

/* ---- Recording
 * -------------------------------------------------------------------------------------- */

static void fail(const struct bench *b, const char *what, const char *why)
{
    fprintf(stderr, "bench_%s: %s: %s\n", b->name, what, why);
    exit(1);
}

void bench_record_start(struct bench *b, bool median_p2)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    char dir[1024];
    /* The environment wins over the struct; a forgotten variable must not change what is measured.
     */
    unsetenv("PLUMB");
    unsetenv("PLUMB_MEDIAN");
    unsetenv("PLUMB_SYNC");
    unsetenv("PLUMB_RUN_DIR");
    if ((size_t)snprintf(b->run_dir, sizeof b->run_dir, "%s/plumb-bench-XXXXXX", b->tmp_path) >=
            sizeof b->run_dir ||
        !mkdtemp(b->run_dir))
        fail(b, "cannot make a directory for the run", strerror(errno));
    o.dir = b->run_dir;
    o.quiet = PLUMB_ON;
    o.median_p2 = median_p2 ? PLUMB_ON : PLUMB_OFF;
    if (plumb_start(&o, &err) < 0)
        fail(b, "plumb_start", err.message);
    /* A run that could only be opened in memory would be another thing to measure. */
    if (!plumb_is_recording() || plumb_run_dir(dir, sizeof dir, &err) < 0)
        fail(b, "the run has no directory", err.message);
}

static void remove_tree(const char *path)
{
    char name[1024];
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if ((size_t)snprintf(name, sizeof name, "%s/%s", path, e->d_name) < sizeof name &&
            unlink(name) < 0)
            remove_tree(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

void bench_record_stop(struct bench *b)
{
    plumb_error err = {0, ""};
    if (plumb_stop(&err) < 0)
        fail(b, "plumb_stop", err.message);
    remove_tree(b->run_dir);
    b->run_dir[0] = '\0';
}

void bench_start_again_with(const char *library, char **argv)
{
    char path[4096];
    Dl_info info;
    void *api = dlsym(RTLD_DEFAULT, "plumb_api_1");
    const char *slash;
    if (!api || !dladdr(api, &info) || !info.dli_fname || getenv("LD_PRELOAD"))
        return;
    slash = strrchr(info.dli_fname, '/');
    if (!slash || snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname),
                           info.dli_fname, library) >= (int)sizeof path)
        return;
    if (access(path, R_OK) == 0 && setenv("LD_PRELOAD", path, 1) == 0)
        execv("/proc/self/exe", argv);
}
