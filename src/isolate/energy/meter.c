/* meter.c: see meter.h. The meter's thread alone touches counters, devices and points until the
 * stop has joined it. Signals are blocked in it: they are the program's. */
#include "isolate/energy/meter.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/monotonic.h"

static const uint64_t TICK_NS = 10000000, POWER_NS = 100000000;

struct plumb_meter {
    struct plumb_rapl rapl;
    struct plumb_gpu_power gpu;
    struct plumb_power_sum power;
    struct plumb_meter_series cpu_series, gpu_series;
    uint64_t begin_ns, end_ns; /* monotonic */
    uint64_t unix_offset_ns;   /* of the monotonic clock's zero */
    uint64_t next_power_ns;
    bool cpu_failed;                /* at the last reading: a reading in between may fail */
    char begin_why[PLUMB_RAPL_WHY]; /* of the RAPL counters that were unreadable from the start */
    bool running;                   /* there is a thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop; /* under the lock */
};

/* ---- Points ---------------------------------------------------------------------------------- */

static void halve(struct plumb_meter_series *s)
{
    size_t kept = 1;
    for (size_t i = 2; i < s->count; i += 2)
        s->points[kept++] = s->points[i];
    s->count = kept;
}

void plumb_meter_add(struct plumb_meter_series *s, uint64_t ns, double joules)
{
    const struct plumb_meter_point point = {ns, joules};
    if (s->count >= 2 && ns - s->points[s->count - 2].ns < s->apart_ns) {
        s->points[s->count - 1] = point;
        return;
    }
    if (s->count == PLUMB_METER_POINTS) {
        uint64_t apart = (s->points[s->count - 1].ns - s->points[0].ns) / (s->count - 1);
        halve(s);
        s->apart_ns = 2 * apart;
    }
    s->points[s->count++] = point;
}

static double at(const struct plumb_meter_series *s, uint64_t ns)
{
    size_t low = 0, high = s->count - 1;
    if (ns <= s->points[low].ns)
        return s->points[low].joules;
    if (ns >= s->points[high].ns)
        return s->points[high].joules;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (s->points[middle].ns <= ns)
            low = middle;
        else
            high = middle;
    }
    const struct plumb_meter_point *a = &s->points[low], *b = &s->points[high];
    return a->joules + (b->joules - a->joules) * (double)(ns - a->ns) / (double)(b->ns - a->ns);
}

double plumb_meter_between(const struct plumb_meter_series *s, uint64_t from_ns, uint64_t to_ns)
{
    return s->count && to_ns > from_ns ? at(s, to_ns) - at(s, from_ns) : 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_cpu(struct plumb_meter *m)
{
    double joules;
    if (m->rapl.count == 0)
        return;
    joules = plumb_rapl_read(&m->rapl);
    m->cpu_failed = isnan(joules);
    if (m->cpu_failed)
        return;
    plumb_meter_add(&m->cpu_series, plumb_monotonic_ns(), joules);
    memcpy(m->rapl.why, m->begin_why, sizeof m->begin_why);
}

static void read_gpu(struct plumb_meter *m)
{
    double watts = m->gpu.count ? plumb_gpu_power_watts(&m->gpu) : NAN;
    uint64_t now = plumb_monotonic_ns();
    if (isnan(watts))
        return;
    plumb_power_add(&m->power, now, watts);
    plumb_meter_add(&m->gpu_series, now, m->power.joules);
}

static void add_ns(struct timespec *t, uint64_t ns)
{
    uint64_t sum = (uint64_t)t->tv_nsec + ns;
    t->tv_sec += (time_t)(sum / 1000000000u);
    t->tv_nsec = (long)(sum % 1000000000u);
}

static void *watch(void *arg)
{
    struct plumb_meter *m = arg;
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        add_ns(&until, TICK_NS);
        pthread_cond_timedwait(&m->changed, &m->lock, &until);
        if (m->stop)
            break;
        pthread_mutex_unlock(&m->lock);
        read_cpu(m);
        if (plumb_monotonic_ns() >= m->next_power_ns) {
            read_gpu(m);
            m->next_power_ns += POWER_NS;
        }
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static bool start_thread(struct plumb_meter *m)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    m->running = pthread_create(&m->thread, NULL, watch, m) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return m->running;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static bool make_points(struct plumb_meter *m)
{
    m->cpu_series.points = malloc(PLUMB_METER_POINTS * sizeof *m->cpu_series.points);
    m->gpu_series.points = malloc(PLUMB_METER_POINTS * sizeof *m->gpu_series.points);
    return m->cpu_series.points && m->gpu_series.points;
}

int plumb_meter_open(struct plumb_meter **out, const char *powercap, const char *nvml,
                     plumb_error *err)
{
    struct plumb_meter *m = calloc(1, sizeof *m);
    struct timespec now;
    if (!m || !make_points(m)) {
        plumb_meter_close(m);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a meter of energy");
    }
    plumb_gpu_power_open(&m->gpu, nvml ? nvml : PLUMB_GPU_POWER_LIBRARY);
    plumb_rapl_begin(&m->rapl, powercap ? powercap : PLUMB_RAPL_FOLDER);
    memcpy(m->begin_why, m->rapl.why, sizeof m->begin_why);
    clock_gettime(CLOCK_REALTIME, &now);
    m->begin_ns = plumb_monotonic_ns();
    m->unix_offset_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - m->begin_ns;
    if (m->rapl.count)
        plumb_meter_add(&m->cpu_series, m->begin_ns, 0);
    read_gpu(m);
    m->next_power_ns = m->begin_ns + POWER_NS;
    if ((m->rapl.count || m->gpu.count) && !start_thread(m)) {
        plumb_meter_close(m);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no thread for a meter of energy");
    }
    *out = m;
    return PLUMB_OK;
}

void plumb_meter_stop(struct plumb_meter *m)
{
    if (m->end_ns)
        return;
    if (m->running) {
        pthread_mutex_lock(&m->lock);
        m->stop = true;
        pthread_cond_signal(&m->changed);
        pthread_mutex_unlock(&m->lock);
        pthread_join(m->thread, NULL);
        m->running = false;
    }
    read_cpu(m);
    read_gpu(m);
    m->end_ns = plumb_monotonic_ns();
    plumb_gpu_power_close(&m->gpu);
}

void plumb_meter_sums(struct plumb_meter_sums *out, const struct plumb_meter *m)
{
    bool cpu = m->rapl.count && !m->cpu_failed;
    *out = (struct plumb_meter_sums){
        .seconds = (double)(m->end_ns - m->begin_ns) / 1e9,
        .cpu_joules = cpu ? (double)m->rapl.sum_uj / 1e6 : NAN,
        .gpu_joules = m->power.samples ? m->power.joules : NAN,
        .gpu_peak_w = m->power.peak_w,
        .gpu_samples = m->power.samples,
        .rapl = &m->rapl,
        .gpu_why = m->power.samples ? "" : m->gpu.why,
    };
}

double plumb_meter_cpu_between(const struct plumb_meter *m, uint64_t from_ns, uint64_t to_ns)
{
    return m->cpu_failed ? 0
                         : plumb_meter_between(&m->cpu_series, from_ns - m->unix_offset_ns,
                                               to_ns - m->unix_offset_ns);
}

double plumb_meter_gpu_between(const struct plumb_meter *m, uint64_t from_ns, uint64_t to_ns)
{
    return plumb_meter_between(&m->gpu_series, from_ns - m->unix_offset_ns,
                               to_ns - m->unix_offset_ns);
}

void plumb_meter_close(struct plumb_meter *m)
{
    if (!m)
        return;
    if (m->running)
        plumb_meter_stop(m);
    plumb_gpu_power_close(&m->gpu);
    free(m->cpu_series.points);
    free(m->gpu_series.points);
    free(m);
}
