/* tensor_diff.c: see tensor_diff.h.
 *
 * Both files are walked in the row-major order of the shape, a piece of each at a time. A tensor
 * that lies in column-major order on both sides is walked in memory order; on one side only, it is
 * another layout, which the statistics have compared already. */
#include "analyze/diverge/tensor_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/value_load.h"

enum { PIECE = 1 << 16, MOST_KEPT = 1 << 22 };

struct source {
    const struct plumb_activations *t;
    const struct plumb_activation_ref *ref;
    const char *path;
    int file;
    plumb_load_fn *load;
    uint64_t bytes_each;
    unsigned char *raw; /* [PIECE * bytes_each] */
    double *values;     /* [PIECE] */
};

struct sums {
    double difference, magnitude, square_a, square_b, product;
    float *kept; /* differences, one every `stride` */
    uint64_t kept_count, stride, numbers;
};

static int open_source(struct source *s, plumb_error *err)
{
    struct plumb_dtype type;
    const char *name = plumb_activations_text(s->t, s->ref->dtype);
    s->path = plumb_activations_text(s->t, s->ref->file);
    if (plumb_dtype_parse(&type, name, err) < 0 || !(s->load = plumb_load_of(type, err)))
        return PLUMB_ERR_ARG;
    s->bytes_each = plumb_dtype_element_bits(type) / 8;
    s->raw = malloc(PIECE * s->bytes_each);
    s->values = malloc(PIECE * sizeof *s->values);
    if (!s->raw || !s->values)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a piece of '%s'", s->path);
    s->file = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->file < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", s->path, strerror(errno));
    return PLUMB_OK;
}

static void close_source(struct source *s)
{
    if (s->file >= 0)
        close(s->file);
    free(s->raw);
    free(s->values);
}

static int read_piece(struct source *s, uint64_t at, uint64_t n, plumb_error *err)
{
    uint64_t size = n * s->bytes_each;
    uint64_t from = s->ref->offset + at * s->bytes_each;
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(s->file, s->raw + done, size - done, (off_t)(from + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return plumb_fail(err, PLUMB_ERR_IO, "cannot read the tensor at byte %llu of '%s': %s",
                              (unsigned long long)s->ref->offset, s->path,
                              got < 0 ? strerror(errno) : "the file ends before it");
        done += (uint64_t)got;
    }
    s->load(s->values, s->raw, n, s->bytes_each);
    return PLUMB_OK;
}

/* ---- The walk -------------------------------------------------------------------------------- */

static void keep_first(struct plumb_tensor_diff *out, const struct source *s, uint64_t at, double a,
                       double b)
{
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(s->t, s->ref->shape, &ndim);
    out->ndim = (int)ndim;
    out->first_a = a;
    out->first_b = b;
    for (size_t k = 0; k < ndim; k++) {
        size_t i = s->ref->fortran ? k : ndim - 1 - k;
        out->first[i] = (int64_t)(at % (uint64_t)sizes[i]);
        at /= (uint64_t)sizes[i];
    }
}

static void add_numbers(struct plumb_tensor_diff *out, struct sums *s, double a, double b)
{
    double difference = fabs(a - b);
    out->max = difference > out->max ? difference : out->max;
    s->difference += difference;
    s->magnitude += fabs(a);
    s->square_a += a * a;
    s->square_b += b * b;
    s->product += a * b;
    if (s->numbers++ % s->stride == 0 && s->kept_count < MOST_KEPT)
        s->kept[s->kept_count++] = (float)difference;
}

static void add_piece(struct plumb_tensor_diff *out, struct sums *sums, const struct source *a,
                      const struct source *b, uint64_t at, uint64_t n,
                      const struct plumb_tolerance *t)
{
    for (uint64_t i = 0; i < n; i++) {
        double x = a->values[i];
        double y = b->values[i];
        bool numbers = isfinite(x) && isfinite(y);
        if (numbers)
            add_numbers(out, sums, x, y);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        bool beyond =
            !numbers || fabs(x - y) > t->absolute + t->relative * PLUMB_TOLERANCE_EXTREME * fabs(x);
        if ((beyond && out->beyond == 0) || out->unequal == 0)
            keep_first(out, a, at + i, x, y);
        out->unequal++;
        out->odd += !numbers;
        out->beyond += beyond;
    }
}

static int by_size(const void *x, const void *y)
{
    float a = *(const float *)x;
    float b = *(const float *)y;
    return a < b ? -1 : a > b;
}

static void finish(struct plumb_tensor_diff *out, struct sums *s)
{
    double n = (double)s->numbers;
    double length = sqrt(s->square_a) * sqrt(s->square_b);
    out->mean = n > 0 ? s->difference / n : 0;
    out->relative = s->magnitude > 0 ? s->difference / s->magnitude : 0;
    out->cosine = length > 0 ? s->product / length : (double)NAN;
    out->sampled = s->stride > 1;
    qsort(s->kept, s->kept_count, sizeof *s->kept, by_size);
    uint64_t half = s->kept_count / 2;
    if (s->kept_count > 0)
        out->median = s->kept_count % 2 ? (double)s->kept[half]
                                        : ((double)s->kept[half - 1] + (double)s->kept[half]) / 2;
}

static int check(const struct source *a, const struct source *b, plumb_error *err)
{
    size_t na;
    size_t nb;
    const int64_t *sa = plumb_activations_shape(a->t, a->ref->shape, &na);
    const int64_t *sb = plumb_activations_shape(b->t, b->ref->shape, &nb);
    if (na != nb || na > PLUMB_TENSOR_DIMS || (na > 0 && memcmp(sa, sb, na * sizeof *sa) != 0))
        return plumb_fail(err, PLUMB_ERR_ARG, "their shapes differ");
    if (a->ref->fortran != b->ref->fortran && na > 1)
        return plumb_fail(err, PLUMB_ERR_ARG, "one lies row by row, the other column by column");
    return PLUMB_OK;
}

int plumb_tensor_diff(struct plumb_tensor_diff *out, const struct plumb_activations *ta,
                      const struct plumb_activation_ref *a, const struct plumb_activations *tb,
                      const struct plumb_activation_ref *b, struct plumb_tolerance tolerance,
                      plumb_error *err)
{
    struct source sa = {.t = ta, .ref = a, .file = -1};
    struct source sb = {.t = tb, .ref = b, .file = -1};
    struct plumb_tensor_diff diff = {.count = plumb_activations_elements(ta, a->shape)};
    struct sums sums = {.stride = (diff.count + MOST_KEPT - 1) / MOST_KEPT};
    uint64_t kept = diff.count < MOST_KEPT ? diff.count : MOST_KEPT;
    int rc;
    if (sums.stride == 0)
        sums.stride = 1;
    if ((rc = check(&sa, &sb, err)) < 0 || (rc = open_source(&sa, err)) < 0 ||
        (rc = open_source(&sb, err)) < 0)
        goto out;
    if (!(sums.kept = malloc((kept + 1) * sizeof *sums.kept))) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the differences of a tensor");
        goto out;
    }
    for (uint64_t at = 0; at < diff.count; at += PIECE) {
        uint64_t n = diff.count - at < PIECE ? diff.count - at : PIECE;
        if ((rc = read_piece(&sa, at, n, err)) < 0 || (rc = read_piece(&sb, at, n, err)) < 0)
            goto out;
        add_piece(&diff, &sums, &sa, &sb, at, n, &tolerance);
    }
    finish(&diff, &sums);
    *out = diff;
out:
    free(sums.kept);
    close_source(&sa);
    close_source(&sb);
    return rc;
}
