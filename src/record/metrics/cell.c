/* cell.c: the values of metrics. Nothing here waits, allocates or takes a lock, so a signal handler
 * may interrupt it anywhere.
 *
 * Values are looked at as bits: comparing or converting a NaN or a huge number would raise
 * floating-point exceptions, for which a program may have traps. Only sums that are not whole are
 * computed as doubles, in plumb's own floating-point environment. */
#include <string.h>

#include "base/float_env.h"
#include "base/scratch.h"
#include "record/metrics/metrics.h"
#include "record/runtime/lock.h"

enum { EXPONENT_BIAS = 1023, FRACTION_BITS = 52 };

static bool is_finite(uint64_t bits)
{
    return (bits >> FRACTION_BITS & 0x7ff) != 0x7ff;
}

/* Returns whether a double that is not negative is a whole number below 2^63. */
static bool is_whole(uint64_t *out, uint64_t bits)
{
    int32_t e = (int32_t)(bits >> FRACTION_BITS) - EXPONENT_BIAS;
    uint64_t fraction = (bits & ((UINT64_C(1) << FRACTION_BITS) - 1)) | UINT64_C(1)
                                                                            << FRACTION_BITS;
    if (bits == 0) {
        *out = 0;
        return true;
    }
    if (e < 0 || e > 62)
        return false;
    if (e >= FRACTION_BITS) {
        *out = fraction << (e - FRACTION_BITS);
        return true;
    }
    *out = fraction >> (FRACTION_BITS - e);
    return (*out << (FRACTION_BITS - e)) == fraction;
}

/* Adds to the bits of a double. Not inlined: its arithmetic stays between the two calls. */
static __attribute__((noinline)) void add_bits(uint64_t *word, double v)
{
    uint64_t before = PLUMB_LOAD(*word), after;
    do
        after = plumb_metric_bits(plumb_metric_real(before) + v);
    while (!__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
}

static void add_real(uint64_t *word, double v)
{
    struct plumb_float_env env;
    plumb_float_env_hold(&env);
    add_bits(word, v);
    plumb_float_env_restore(&env);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Returns the series' cell in the run, or NULL. */
static uint64_t *cell_in(const struct plumb_metric_series *m, struct plumb_run *run)
{
    uint64_t place = PLUMB_ACQUIRE(m->place);
    return place >> 32 == run->generation && place & UINT32_MAX
               ? PLUMB_AT(run, uint64_t, (place & UINT32_MAX) << 6)
               : NULL;
}

/* Returns the shard of the calling thread. */
static uint64_t *shard_of(const struct plumb_metric_series *m, uint64_t *cell,
                          const struct plumb_thread *th)
{
    return cell + (size_t)(th->tid & (plumb_metric_shards(m->type) - 1)) * m->stride;
}

static void add_amount(const struct plumb_metric_series *m, uint64_t *shard, double amount,
                       uint64_t whole, bool is_a_whole)
{
    (void)m;
    if (is_a_whole)
        PLUMB_ADD(shard[0], whole);
    else
        add_real(&shard[1], amount);
}

/* Copies a gauge to the mapping. The last of several threads to come here leaves the newest value:
 * each looks at it again after its own store. */
static void publish(uint64_t *cell, const uint64_t *own)
{
    uint64_t bits;
    do {
        bits = PLUMB_LOAD_ORDERED(own[1]);
        __atomic_exchange_n(&cell[1], bits, __ATOMIC_SEQ_CST);
    } while (PLUMB_LOAD_ORDERED(own[1]) != bits);
}

static uint32_t bucket_of(const struct plumb_metric_series *m, uint64_t bits)
{
    int64_t key = plumb_metric_key(bits);
    uint32_t low = 0, high = m->bounds;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (m->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void observe(const struct plumb_metric_series *m, uint64_t *shard, double value,
                    uint64_t bits, uint32_t bucket)
{
    if (m->type == PLUMB_METRIC_HISTOGRAM) {
        PLUMB_ADD(shard[PLUMB_METRIC_FIRST_BUCKET + bucket], 1);
    } else {
        uint64_t n = PLUMB_ADD(shard[0], 1);
        PLUMB_STORE(shard[PLUMB_METRIC_FIRST_SAMPLE + n % PLUMB_METRIC_SAMPLES], ~bits);
    }
    add_real(&shard[1], value);
}

/* One writer at a time; another one leaves its own out. */
static void note_exemplar(const struct plumb_metric_series *m, uint64_t *cell, uint32_t bucket,
                          uint64_t bits, uint64_t request, uint32_t clock)
{
    struct plumb_live_exemplar *e =
        (struct plumb_live_exemplar *)(void *)(cell +
                                               (size_t)m->stride * PLUMB_METRIC_HISTOGRAM_SHARDS) +
        bucket;
    uint64_t turn = PLUMB_LOAD(e->done);
    if (!__atomic_compare_exchange_n(&e->began, &turn, turn + 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    PLUMB_STORE(e->request, request);
    PLUMB_STORE(e->value_bits, bits);
    PLUMB_STORE(e->ticks, plumb_ticks_from((enum plumb_clock_source)clock));
    PLUMB_RELEASE(e->done, turn + 1);
}

/* ---- Calls inside ---------------------------------------------------------------------------- */

static void add_to(struct plumb_in in, struct plumb_metric_series *m, double amount, uint64_t whole,
                   bool is_a_whole)
{
    uint64_t *cell = cell_in(m, in.run);
    if (m->type == PLUMB_METRIC_GAUGE) {
        add_real(&m->own[1], amount);
        if (cell)
            publish(cell, m->own);
        return;
    }
    add_amount(m, cell ? shard_of(m, cell, in.th) : m->own, amount, whole, is_a_whole);
}

static void observe_to(struct plumb_in in, struct plumb_metric_series *m, double value,
                       uint64_t bits, uint64_t request)
{
    uint64_t *cell = cell_in(m, in.run);
    uint32_t bucket = m->type == PLUMB_METRIC_HISTOGRAM ? bucket_of(m, bits) : 0;
    observe(m, cell ? shard_of(m, cell, in.th) : m->own, value, bits, bucket);
    if (cell && request && m->type == PLUMB_METRIC_HISTOGRAM)
        note_exemplar(m, cell, bucket, bits, request, in.th->clock);
}

void plumb_metric_add_in(struct plumb_in in, plumb_metric_series *m, double amount)
{
    uint64_t whole = 0;
    bool is_a_whole = is_whole(&whole, plumb_metric_bits(amount));
    if (m)
        add_to(in, m, amount, whole, is_a_whole);
}

void plumb_metric_observe_in(struct plumb_in in, plumb_metric_series *m, double value,
                             uint64_t request)
{
    if (m)
        observe_to(in, m, value, plumb_metric_bits(value), request);
}

/* ---- Calls of the program -------------------------------------------------------------------- */

static PLUMB_COLD int refuse(void)
{
    plumb_metric_refuse();
    return PLUMB_ERR_ARG;
}

int plumb_metric_add_impl(plumb_metric_series *m, double amount)
{
    uint64_t bits = plumb_metric_bits(amount), whole = 0;
    bool is_counter = m->type == PLUMB_METRIC_COUNTER, is_a_whole;
    struct plumb_in in;
    bits = bits << 1 ? bits : 0; /* -0 is 0 */
    if (!is_finite(bits) || m->type > PLUMB_METRIC_GAUGE || (is_counter && bits >> 63))
        return refuse();
    is_a_whole = is_counter && is_whole(&whole, bits);
    if (PLUMB_LIKELY(plumb_enter(&in, true))) {
        add_to(in, m, amount, whole, is_a_whole);
        plumb_leave(in);
    } else if (is_counter) {
        add_amount(m, m->own, amount, whole, is_a_whole);
    } else {
        add_real(&m->own[1], amount);
    }
    return PLUMB_OK;
}

int plumb_metric_set_impl(plumb_metric_series *m, double value)
{
    uint64_t bits = plumb_metric_bits(value), *cell;
    struct plumb_in in;
    if (!is_finite(bits) || m->type != PLUMB_METRIC_GAUGE)
        return refuse();
    __atomic_store_n(&m->own[1], bits, __ATOMIC_SEQ_CST);
    if (plumb_enter(&in, true)) {
        if ((cell = cell_in(m, in.run)) != NULL)
            publish(cell, m->own);
        plumb_leave(in);
    }
    return PLUMB_OK;
}

int plumb_metric_observe_impl(plumb_metric_series *m, double value)
{
    uint64_t bits = plumb_metric_bits(value);
    struct plumb_in in;
    bits = bits << 1 ? bits : 0;
    if (!is_finite(bits) || m->type < PLUMB_METRIC_HISTOGRAM)
        return refuse();
    if (PLUMB_LIKELY(plumb_enter(&in, true))) {
        observe_to(in, m, value, bits, in.th->request);
        plumb_leave(in);
    } else {
        observe(m, m->own, value, bits, bucket_of(m, bits));
    }
    return PLUMB_OK;
}

/* ---- Between runs ---------------------------------------------------------------------------- */

static void move_samples(uint64_t *cell, uint64_t *own)
{
    /* A sample whose number was taken last time may come now: it has been counted then. */
    uint64_t n = __atomic_exchange_n(&own[0], 0, __ATOMIC_RELAXED);
    uint64_t at = PLUMB_ADD(cell[0], n);
    for (uint32_t i = 0; i < PLUMB_METRIC_SAMPLES; i++) {
        /* From the oldest: the place that the next sample would take. */
        uint64_t from = PLUMB_METRIC_FIRST_SAMPLE + (n + i) % PLUMB_METRIC_SAMPLES;
        uint64_t word =
            PLUMB_LOAD(own[from]) ? __atomic_exchange_n(&own[from], 0, __ATOMIC_RELAXED) : 0;
        if (word)
            PLUMB_STORE(cell[PLUMB_METRIC_FIRST_SAMPLE + at++ % PLUMB_METRIC_SAMPLES], word);
    }
}

/* A killed process loses at most what lies between the two, which is there for some ns. */
static void move_word(uint64_t *to, uint64_t *from)
{
    uint64_t n = PLUMB_LOAD(*from) ? __atomic_exchange_n(from, 0, __ATOMIC_RELAXED) : 0;
    if (n)
        PLUMB_ADD(*to, n);
}

static void move_real(uint64_t *to, uint64_t *from)
{
    uint64_t bits = PLUMB_LOAD(*from) ? __atomic_exchange_n(from, 0, __ATOMIC_RELAXED) : 0;
    if (bits)
        add_real(to, plumb_metric_real(bits));
}

void plumb_metric_move(struct plumb_metric_series *m, uint64_t *cell)
{
    if (m->type == PLUMB_METRIC_GAUGE) {
        publish(cell, m->own);
        return;
    }
    if (m->type == PLUMB_METRIC_SUMMARY)
        move_samples(cell, m->own);
    else
        move_word(&cell[0], &m->own[0]);
    move_real(&cell[1], &m->own[1]);
    for (uint32_t b = 0; m->type == PLUMB_METRIC_HISTOGRAM && b <= m->bounds; b++)
        move_word(&cell[PLUMB_METRIC_FIRST_BUCKET + b], &m->own[PLUMB_METRIC_FIRST_BUCKET + b]);
}

static void take_back_shard(struct plumb_metric_series *m, const uint64_t *shard)
{
    double part = plumb_metric_real(shard[1]);
    uint64_t n = shard[0];
    if (shard[1] << 1)
        add_real(&m->own[1], part);
    if (m->type != PLUMB_METRIC_SUMMARY) {
        PLUMB_ADD(m->own[0], n);
        for (uint32_t b = 0; m->type == PLUMB_METRIC_HISTOGRAM && b <= m->bounds; b++)
            PLUMB_ADD(m->own[PLUMB_METRIC_FIRST_BUCKET + b], shard[PLUMB_METRIC_FIRST_BUCKET + b]);
        return;
    }
    for (uint64_t i = n > PLUMB_METRIC_SAMPLES ? n - PLUMB_METRIC_SAMPLES : 0; i < n; i++) {
        uint64_t word = shard[PLUMB_METRIC_FIRST_SAMPLE + i % PLUMB_METRIC_SAMPLES];
        uint64_t at = PLUMB_ADD(m->own[0], 1);
        if (word)
            PLUMB_STORE(m->own[PLUMB_METRIC_FIRST_SAMPLE + at % PLUMB_METRIC_SAMPLES], word);
    }
    if (n > PLUMB_METRIC_SAMPLES)
        PLUMB_ADD(m->own[0], n - PLUMB_METRIC_SAMPLES);
}

void plumb_metric_take_back(struct plumb_metric_series *m, const uint64_t *cell)
{
    for (uint32_t s = 0; m->type != PLUMB_METRIC_GAUGE && s < plumb_metric_shards(m->type); s++)
        take_back_shard(m, cell + (size_t)s * m->stride);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static __attribute__((noinline)) void read_cells(plumb_metric_value *out,
                                                 const struct plumb_metric_series *m,
                                                 const uint64_t *cell, double *samples)
{
    uint32_t n = 0;
    plumb_metric_sum(out, m->own, 1);
    if (cell && m->type != PLUMB_METRIC_GAUGE)
        plumb_metric_sum(out, cell, plumb_metric_shards(m->type));
    if (m->type != PLUMB_METRIC_SUMMARY || !samples)
        return;
    n = plumb_metric_samples(samples, m->own);
    if (cell)
        n += plumb_metric_samples(samples + n, cell);
    plumb_metric_quantiles(out, samples, n);
}

int plumb_metric_read_impl(plumb_metric_value *out, plumb_metric_series *m)
{
    struct plumb_float_env env;
    struct plumb_in in;
    double *samples;
    bool inside;
    int rc = out->size < sizeof *out ? PLUMB_ERR_ARG : plumb_may_lock("plumb_metric_read", NULL);
    if (rc < 0)
        return rc;
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->type = m->type;
    out->bound_count = m->bounds;
    if (m->bounds)
        memcpy(out->bound, m->family->bound, m->bounds * sizeof *out->bound);
    samples = m->type == PLUMB_METRIC_SUMMARY ? plumb_scratch_take() : NULL;
    inside = plumb_enter(&in, true);
    /* Under the lock, so that nothing is on its way from one cell to the other. */
    plumb_lock();
    plumb_float_env_hold(&env);
    read_cells(out, m, inside ? cell_in(m, in.run) : NULL, samples);
    plumb_float_env_restore(&env);
    plumb_unlock();
    if (inside)
        plumb_leave(in);
    plumb_scratch_give(samples);
    return PLUMB_OK;
}
