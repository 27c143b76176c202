/* peaks_measure.c: runs the loops. Each thread of a run begins at a barrier, works through its loop
 * in short pieces until the time is over, and notes when it ended. The rate is all of the work over
 * the time from the first begin to the last end, so a thread that was switched out counts. */
#include "analyze/roofline/peaks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "analyze/roofline/peak_loops.h"
#include "base/error.h"
#include "base/process/resident.h"

enum { ROUNDS = 4096, REPEATS = 5, MOST_REPEATS = 99, MOST_THREADS = 1024 };
enum { PIECE = 1 << 16 /* doubles of an array in a piece of work */ };
#define RUN_NS 20000000u
#define LARGEST_BYTES ((uint64_t)1 << 30)

struct worker;
/* A piece of the work of a thread; returns how many bytes or operations. */
typedef double (*piece_fn)(struct worker *w);

struct crew {
    piece_fn piece;
    const struct plumb_peak_loop *loop;
    const struct plumb_peak_table *table;
    struct worker *workers;
    pthread_barrier_t barrier;
    pthread_mutex_t gate;
    bool give_up; /* not every thread could be created */
    uint64_t run_ns;
    uint32_t threads, repeats;
    double rates[MOST_REPEATS];
};
struct worker {
    struct crew *crew;
    pthread_t thread;
    double *array; /* [3 * part] for the triad, which the sum reads as one */
    size_t part, at;
    uint64_t begin_ns, end_ns;
    double work;
    _Alignas(64) unsigned char sink[PLUMB_PEAK_SINK];
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Pieces of work -------------------------------------------------------------------------- */

static double compute_piece(struct worker *w)
{
    w->crew->loop->run(ROUNDS, w->sink);
    return w->crew->loop->operations * ROUNDS;
}

static size_t next_piece(struct worker *w, size_t n)
{
    size_t at = w->at + PIECE <= n ? w->at : 0;
    w->at = at + PIECE;
    return at;
}

static double sum_piece(struct worker *w)
{
    size_t at = next_piece(w, 3 * w->part);
    w->crew->table->sum(w->array + at, PIECE, w->sink);
    return 8.0 * PIECE;
}

static double triad_piece(struct worker *w)
{
    size_t at = next_piece(w, w->part);
    double *a = w->array + at;
    w->crew->table->triad(a, a + w->part, a + 2 * w->part, PIECE);
    return 24.0 * PIECE;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void work(struct worker *w, uint64_t length_ns)
{
    w->work = 0;
    w->begin_ns = now_ns();
    do {
        w->work += w->crew->piece(w);
        w->end_ns = now_ns();
    } while (w->end_ns - w->begin_ns < length_ns);
}

static double rate_of(const struct crew *c)
{
    uint64_t begin = UINT64_MAX, end = 0;
    double sum = 0;
    for (uint32_t i = 0; i < c->threads; i++) {
        const struct worker *w = &c->workers[i];
        sum += w->work;
        begin = w->begin_ns < begin ? w->begin_ns : begin;
        end = w->end_ns > end ? w->end_ns : end;
    }
    return sum / ((double)(end > begin ? end - begin : 1) * 1e-9);
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    pthread_mutex_lock(&c->gate);
    bool give_up = c->give_up;
    pthread_mutex_unlock(&c->gate);
    if (give_up)
        return NULL;
    /* Pages come from the memory that is nearest to the thread that first writes. */
    if (w->array && w->array[0] == 0)
        for (size_t i = 0; i < 3 * w->part; i++)
            w->array[i] = 1.0;
    work(w, c->run_ns / 2); /* the clock of the processor settles */
    for (uint32_t i = 0; i < c->repeats; i++) {
        pthread_barrier_wait(&c->barrier);
        work(w, c->run_ns);
        pthread_barrier_wait(&c->barrier);
        if (w == c->workers)
            c->rates[i] = rate_of(c);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct plumb_peak peak_of(struct crew *c, const char *how)
{
    struct plumb_peak p = {0};
    qsort(c->rates, c->repeats, sizeof *c->rates, by_value);
    p.rate = c->rates[c->repeats / 2];
    p.spread = (c->rates[c->repeats - 1] - c->rates[0]) / p.rate;
    snprintf(p.how, sizeof p.how, "%s", how);
    return p;
}

static bool give_arrays(struct crew *c, uint64_t bytes)
{
    for (uint32_t i = 0; i < c->threads; i++) {
        struct worker *w = &c->workers[i];
        w->part = (size_t)(bytes / c->threads / sizeof(double) / 3) / PIECE * PIECE;
        w->part = w->part ? w->part : PIECE;
        w->array = mmap(NULL, 3 * w->part * sizeof *w->array, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w->array == MAP_FAILED) {
            w->array = NULL;
            return false;
        }
    }
    return true;
}

static void take_arrays(struct crew *c)
{
    for (uint32_t i = 0; i < c->threads; i++)
        if (c->workers[i].array)
            munmap(c->workers[i].array, 3 * c->workers[i].part * sizeof(double));
}

/* The barrier opens when every thread is there, so the threads first wait until all of them exist:
 * `gate` is held until then. */
static bool run_threads(struct crew *c)
{
    uint32_t begun = 0;
    pthread_mutex_lock(&c->gate);
    while (begun < c->threads &&
           pthread_create(&c->workers[begun].thread, NULL, run_worker, &c->workers[begun]) == 0)
        begun++;
    c->give_up = begun < c->threads;
    pthread_mutex_unlock(&c->gate);
    for (uint32_t i = 0; i < begun; i++)
        pthread_join(c->workers[i].thread, NULL);
    return !c->give_up;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int run_crew(struct plumb_peak *out, struct crew *c, const char *how, plumb_error *err)
{
    if (!run_threads(c))
        return plumb_fail(err, PLUMB_ERR_MEMORY,
                          "cannot measure this machine: no memory for %u threads",
                          (unsigned)c->threads);
    struct plumb_peak p = peak_of(c, how);
    if (p.rate > out->rate)
        *out = p;
    return PLUMB_OK;
}

static int run_compute(struct plumb_peaks *out, struct crew *c, enum plumb_peak_span span,
                       plumb_error *err)
{
    const struct plumb_peak_table *table;
    int rc = PLUMB_OK;
    c->piece = compute_piece;
    for (unsigned i = 0; rc == PLUMB_OK && (table = plumb_peak_table(i)); i++) {
        const struct plumb_peak_loop *loop = table->loops;
        for (; rc == PLUMB_OK && loop->name; loop++) {
            struct plumb_peak *p = &out->compute[loop->type][span];
            /* Plain C is for types that nothing faster was measured for. */
            if ((loop->has && !loop->has()) || (table == &plumb_peak_plain && p->rate > 0))
                continue;
            c->loop = loop;
            rc = run_crew(p, c, loop->name, err);
        }
    }
    return rc;
}

static int run_memory(struct plumb_peaks *out, struct crew *c, enum plumb_peak_span span,
                      plumb_error *err)
{
    int rc;
    c->table = plumb_peak_table(0);
    if (!give_arrays(c, out->array_bytes))
        return plumb_fail(err, PLUMB_ERR_MEMORY,
                          "cannot measure the memory of this machine: no %llu MiB left",
                          (unsigned long long)(out->array_bytes >> 20));
    c->piece = sum_piece;
    rc = run_crew(&out->bandwidth[span], c, "sum", err);
    c->piece = triad_piece;
    return rc < 0 ? rc : run_crew(&out->bandwidth[span], c, "triad", err);
}

static int run_loops(struct plumb_peaks *out, struct crew *c, enum plumb_peak_span span,
                     plumb_error *err)
{
    c->workers = aligned_alloc(64, c->threads * sizeof *c->workers);
    if (!c->workers)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while measuring this machine");
    memset(c->workers, 0, c->threads * sizeof *c->workers);
    for (uint32_t i = 0; i < c->threads; i++)
        c->workers[i].crew = c;
    pthread_barrier_init(&c->barrier, NULL, c->threads);
    pthread_mutex_init(&c->gate, NULL);
    int rc = run_compute(out, c, span, err);
    if (rc == PLUMB_OK)
        rc = run_memory(out, c, span, err);
    take_arrays(c);
    pthread_mutex_destroy(&c->gate);
    pthread_barrier_destroy(&c->barrier);
    free(c->workers);
    return rc;
}

/* Four times the last-level cache, as STREAM asks, within an eighth of the memory. */
static uint64_t array_bytes(uint64_t cache, uint64_t largest)
{
    uint64_t bytes = cache ? 4 * cache : (uint64_t)256 << 20, memory = plumb_resident_total();
    if (memory && bytes > memory / 8)
        bytes = memory / 8;
    return bytes < largest ? bytes : largest;
}

static void put_date(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;
    if (!gmtime_r(&now, &tm) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        out[0] = 0;
}

int plumb_peaks_measure(struct plumb_peaks *out, const struct plumb_peaks_options *options,
                        plumb_error *err)
{
    struct plumb_peaks p = {0};
    struct crew crew = {0};
    long cache = sysconf(_SC_LEVEL4_CACHE_SIZE);
    cache = cache > 0 ? cache : sysconf(_SC_LEVEL3_CACHE_SIZE);
    cache = cache > 0 ? cache : sysconf(_SC_LEVEL2_CACHE_SIZE);
    p.cache_bytes = cache > 0 ? (uint64_t)cache : 0;
    p.array_bytes = array_bytes(
        p.cache_bytes, options && options->largest_bytes ? options->largest_bytes : LARGEST_BYTES);
    p.run_ns = options && options->run_ns ? options->run_ns : RUN_NS;
    p.repeats = options && options->repeats ? options->repeats : REPEATS;
    p.repeats = p.repeats < MOST_REPEATS ? p.repeats : MOST_REPEATS;
    plumb_peaks_machine(p.cpu, &p.cores);
    crew.run_ns = p.run_ns;
    crew.repeats = p.repeats;
    for (int span = 0; span < PLUMB_PEAK_SPANS; span++) {
        crew.threads = span == PLUMB_PEAK_ONE ? 1 : p.cores;
        int rc = run_loops(&p, &crew, (enum plumb_peak_span)span, err);
        if (rc < 0)
            return rc;
    }
    put_date(p.date, sizeof p.date);
    *out = p;
    return PLUMB_OK;
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void read_cpu(char cpu[128])
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    cpu[0] = 0;
    while (file && !cpu[0] && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (!value || (strncmp(line, "model name", 10) != 0 && strncmp(line, "CPU part", 8) != 0))
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(cpu, 128, "%.*s", (int)strcspn(value, "\n"), value);
    }
    if (file)
        fclose(file);
    if (!cpu[0])
        snprintf(cpu, 128, "unknown processor");
}

void plumb_peaks_machine(char cpu[128], uint32_t *cores)
{
    cpu_set_t sets[MOST_THREADS / CPU_SETSIZE + 1];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    *cores = online > 0 ? (uint32_t)online : 1;
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        *cores = (uint32_t)CPU_COUNT_S(sizeof sets, sets);
    if (*cores > MOST_THREADS)
        *cores = MOST_THREADS;
    read_cpu(cpu);
}
