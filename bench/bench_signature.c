/* bench_signature.c: what it costs to record the inputs and outputs of a stage: two tensors in, one
 * out and a number, against the same stage without them. Also how fast the values of a tensor are
 * read when they are asked for. */
#include "harness.h"

#include <stdlib.h>

enum { MIB = 1 << 20, VALUES = 16 * MIB / 4 };

/* As DLTensor lies in memory; the library needs no header of it, nor does this. */
struct tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
    uint64_t byte_offset;
};

static const int64_t latents_shape[] = {1, 16, 21, 60, 104};
static const int64_t text_shape[] = {1, 512, 4096};
static const int64_t values_shape[] = {VALUES};
static struct tensor latents = {NULL, 2, 0, 5, 4, 16, 1, latents_shape, NULL, 0};
static struct tensor text = {NULL, 2, 0, 3, 4, 16, 1, text_shape, NULL, 0};
static struct tensor values = {NULL, 1, 0, 1, 2, 32, 1, values_shape, NULL, 0};

static void stage_alone(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        PLUMB_STAGE(stage, "alone");
        bench_barrier();
    }
}

static void stage_that_tells(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        PLUMB_STAGE(stage, "tells");
        plumb_stage_input(stage, "latents", &latents);
        plumb_stage_input(stage, "cond.text", &text);
        plumb_stage_input_value(stage, "step", plumb_value_i64((int64_t)i));
        plumb_stage_output(stage, "latents", &latents);
        bench_barrier();
    }
}

static void stage_with_values(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        PLUMB_STAGE(stage, "values");
        plumb_stage_input(stage, "values", &values);
    }
}

static void measure_shapes(struct bench *b)
{
    struct bench_cell cells[] = {{.name = "stage", .run = stage_alone},
                                 {.name = "stage that tells", .run = stage_that_tells}};
    bench_record_start(b, false);
    bench_interleave(b, cells, 2, 100, b->quick ? 50 : 400);
    bench_record_stop(b);
    bench_print_cells(cells, 2);
    bench_put(b, "signature_us_per_call", (cells[1].ns.median - cells[0].ns.median) * 1e-3);
}

static void measure_values(struct bench *b)
{
    struct bench_cell cell = {.name = "16 MiB of float32", .run = stage_with_values};
    float *data = malloc(VALUES * sizeof *data);
    if (!data) {
        bench_put_null(b, "signature_full_gb_s", "out of memory");
        return;
    }
    for (int i = 0; i < VALUES; i++)
        data[i] = (float)(i % 1000) * 0.001f;
    values.data = data;
    setenv("PLUMB_SIGNATURE", "full", 1);
    bench_record_start(b, false);
    unsetenv("PLUMB_SIGNATURE");
    bench_interleave(b, &cell, 1, 1, b->quick ? 5 : 40);
    bench_record_stop(b);
    bench_print_cells(&cell, 1);
    bench_put(b, "signature_full_gb_s", VALUES * sizeof *data / cell.ns.median);
    free(data);
}

int main(int argc, char **argv)
{
    static struct bench b;
    bench_open(&b, "signature", argc, argv);
    measure_shapes(&b);
    measure_values(&b);
    return bench_close(&b);
}
