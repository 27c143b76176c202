/* The program of the rows about activations: a model of two layers over steps, or what its first
 * argument names. */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlpack/dlpack.h>
#include <plumb/plumb.h>

static float values[6] = {1, -2, 3, 0, 5, 6};
static int64_t shape[2] = {2, 3};

static DLTensor tensor_of(void *data, uint8_t code, uint8_t bits)
{
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = 2;
    t.dtype.code = code;
    t.dtype.bits = bits;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

static void layer(const char *name, DLTensor *t)
{
    plumb_node node = plumb_node_get(name), mlp = plumb_node_get("mlp");
    PLUMB_SPAN_NODE(node);
    for (int i = 0; i < 100; i++) { /* so that what is open was folded at some calls */
        PLUMB_SPAN("work");
    }
    {
        PLUMB_SPAN_NODE(mlp);
        plumb_activation(mlp, "out", t);
    }
    plumb_activation(node, NULL, t);
}

static void model(int steps, DLTensor *t)
{
    PLUMB_STAGE(stage, "denoise");
    PLUMB_REGION("inference_denoising"); /* no part of a module's path */
    plumb_stage_input(stage, "latents", t);
    for (PLUMB_STEPS (step, steps)) {
        layer("block.layers.0", t);
        layer("block.layers.1", t);
    }
    plumb_stage_output(stage, "latents", t);
}

/* Two calls of the second layer in each step; the last may give out its values in another order. */
static void twice(DLTensor *t, bool swap)
{
    float other[6] = {-2, 1, 3, 0, 5, 6};
    DLTensor swapped = tensor_of(other, kDLFloat, 32);
    for (PLUMB_STEPS (step, 2)) {
        layer("block.layers.0", t);
        for (int call = 0; call < 2; call++)
            layer("block.layers.1", swap && step == 1 && call == 1 ? &swapped : t);
    }
}

/* A module more in each step. */
static void late(DLTensor *t)
{
    char name[16];
    for (PLUMB_STEPS (step, 3)) {
        for (int i = 0; i <= step; i++) {
            snprintf(name, sizeof name, "m.%d", i);
            plumb_activation(plumb_node_get(name), NULL, t);
        }
    }
}

/* One name by two paths. */
static void collide(DLTensor *t)
{
    for (PLUMB_STEPS (step, 2)) {
        plumb_activation(plumb_node_get("block.0"), NULL, t);
        PLUMB_SPAN("block");
        plumb_activation(plumb_node_get("0"), NULL, t);
    }
}

static void *outside_of_steps(void *t)
{
    plumb_activation(plumb_node_get("worker"), NULL, t);
    return NULL;
}

/* Steps on this thread, layers on others. */
static void other_thread(DLTensor *t)
{
    pthread_t thread;
    for (PLUMB_STEPS (step, 2)) {
        pthread_create(&thread, NULL, outside_of_steps, t);
        pthread_join(thread, NULL);
    }
}

/* More of module and step than plumb remembers the calls of, and the first of them again. */
enum { MANY_MODULES = 3, MANY_STEPS = 44000 };
static uint32_t many_lines, many_wrong;

static void check_line(const char *line, size_t bytes, void *arg)
{
    uint32_t i = many_lines++, a_step = 2 * MANY_MODULES;
    int64_t step = i / a_step, call = i % a_step / MANY_MODULES;
    char want[64];
    (void)bytes, (void)arg;
    if (step == MANY_STEPS) {
        step = 0;
        call = 2;
    }
    snprintf(want, sizeof want, "{\"module\":\"m.%u\",\"tensor\":\"out\",\"step\":%lld,",
             i % MANY_MODULES, (long long)step);
    many_wrong += strncmp(line, want, strlen(want)) != 0;
    snprintf(want, sizeof want, ",\"call\":%lld,", (long long)call);
    many_wrong += strstr(line, want) == NULL;
}

static void many(DLTensor *t)
{
    plumb_node node[MANY_MODULES];
    char name[16];
    if (plumb_activation_sink(check_line, NULL, NULL) < 0)
        exit(1);
    for (int i = 0; i < MANY_MODULES; i++) {
        snprintf(name, sizeof name, "m.%d", i);
        node[i] = plumb_node_get(name);
    }
    for (PLUMB_STEPS (step, MANY_STEPS + 1)) {
        PLUMB_STEP(step % MANY_STEPS);
        for (int i = 0; i < (step == MANY_STEPS ? 1 : 2) * MANY_MODULES; i++)
            plumb_activation(node[i % MANY_MODULES], NULL, t);
    }
    plumb_stop(NULL);
    if (many_wrong || many_lines != (2 * MANY_STEPS + 1) * MANY_MODULES) {
        fprintf(stderr, "%u of %u lines are wrong\n", many_wrong, many_lines);
        exit(4);
    }
}

static void no_steps(DLTensor *t)
{
    PLUMB_STAGE(stage, "denoise");
    layer("block.layers.0", t);
}

static void labels(DLTensor *t)
{
    plumb_node node = plumb_node_get("attn");
    plumb_value pair[] = {plumb_value_tensor(t), plumb_value_i64(7), plumb_value_tensor(t)};
    plumb_field fields[] = {{"k", plumb_value_tensor(t)},
                            {"name", plumb_value_str("no tensor")},
                            {"x", plumb_value_list(pair, 3)}};
    plumb_value nested[] = {plumb_value_fields(fields, 3)};
    plumb_activation(node, NULL, t);
    plumb_activation_value(node, "out", plumb_value_list(pair, 3));
    plumb_activation_value(node, "out", plumb_value_fields(fields, 3));
    plumb_activation_value(node, "out", plumb_value_list(nested, 1));
    plumb_activation_value(node, "out", plumb_value_i64(1));
    plumb_activation(node, "in", t);
    plumb_activation(node, "in[0]", t);
    plumb_activation(node, "grad.w", t);
    plumb_activation(node, "inner", t);
    PLUMB_STAGE(stage, "stage");
    plumb_stage_input_value(stage, "cond", plumb_value_fields(fields, 3));
}

static int answer(double *out, const void *tensor, char *why, size_t size, void *arg)
{
    (void)tensor;
    if (arg)
        snprintf(why, size, "no answer \"%s\"", (const char *)arg);
    *out = 42.5;
    return arg ? -1 : 0;
}

static int silent(double *out, const void *tensor, char *why, size_t size, void *arg)
{
    (void)tensor, (void)out, (void)why, (void)size, (void)arg;
    return 1;
}

static int copy(void *to, const void *from, size_t bytes, int32_t device, void *arg)
{
    (void)arg;
    if (device == 1)
        return 5;
    memcpy(to, from, bytes);
    return 0;
}

static void failures(DLTensor *t)
{
    plumb_node node = plumb_node_get("odd");
    plumb_error err;
    static char today[] = "today", never[] = "never";
    int64_t strides[2] = {1, -2};
    DLTensor u = *t;
    if (plumb_activation_stat("answer", answer, NULL, &err) < 0 ||
        plumb_activation_stat("broken", answer, today, &err) < 0 ||
        plumb_activation_stat("broken_too", answer, never, &err) < 0 ||
        plumb_activation_stat("silent", silent, NULL, &err) < 0 ||
        plumb_activation_stat("answer", answer, NULL, &err) != PLUMB_ERR_ARG ||
        plumb_activation_stat("sum", answer, NULL, &err) != PLUMB_ERR_ARG ||
        plumb_activation_stat("a b", answer, NULL, &err) != PLUMB_ERR_ARG ||
        plumb_activation_copy(kDLCUDA, copy, NULL, &err) < 0)
        exit(1);
    plumb_activation(node, "good", t);
    u.data = NULL;
    plumb_activation(node, "null", &u);
    u = *t;
    u.dtype.code = 99;
    plumb_activation(node, "dtype", &u);
    u = *t;
    u.ndim = -1;
    plumb_activation(node, "ndim", &u);
    u = *t;
    u.device.device_type = kDLVulkan;
    plumb_activation(node, "device", &u);
    u.device.device_type = kDLCUDA;
    plumb_activation(node, "copied", &u);
    u.strides = strides;
    u.data = values + 4; /* columns backwards: 5, 3, 1 and 6, 0, -2 */
    plumb_activation(node, "copied strides", &u);
    u.device.device_id = 1;
    plumb_activation(node, "not copied", &u);
}

static void special(void)
{
    plumb_node node = plumb_node_get("odd");
    float nan[6] = {NAN, 1, 2, 3, 4, 5};
    float inf[6] = {INFINITY, 1, 2, 3, 4, 5};
    float both[6] = {INFINITY, -INFINITY, 2, 3, 4, 5};
    DLTensor t = tensor_of(nan, kDLFloat, 32);
    plumb_activation(node, "nan", &t);
    t = tensor_of(inf, kDLFloat, 32);
    plumb_activation(node, "inf", &t);
    t = tensor_of(both, kDLFloat, 32);
    plumb_activation(node, "both", &t);
    plumb_activation(plumb_node_get("quote\"\\\n\xff"), "tab\t", &t);
}

static void kinds(void)
{
    static const uint16_t bf16[6] = {0x3f80, 0xc000, 0x4040, 0, 0x40a0, 0x40c0};
    static const uint16_t f16[6] = {0x3c00, 0xc000, 0x4200, 0, 0x4500, 0x4600};
    static double f64[6] = {1, -2, 3, 0, 5, 6};
    static int32_t i32[6] = {1, -2, 3, 0, 5, 6};
    static int64_t i64[6] = {1, -2, 3, 0, 5, 6};
    static int8_t i8[6] = {1, -2, 3, 0, 5, 6};
    static const struct {
        const char *label;
        const void *data;
        uint8_t code, bits;
    } all[] = {{"float32", values, kDLFloat, 32},
               {"bfloat16", bf16, kDLBfloat, 16},
               {"float16", f16, kDLFloat, 16},
               {"float64", f64, kDLFloat, 64},
               {"int32", i32, kDLInt, 32},
               {"int64", i64, kDLInt, 64},
               {"int8", i8, kDLInt, 8}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        DLTensor t = tensor_of((void *)(uintptr_t)all[i].data, all[i].code, all[i].bits);
        plumb_activation(plumb_node_get("kinds"), all[i].label, &t);
    }
}

/* file FILE CODE BITS N: the values of a file, as one dimension. */
static int from_file(char **argv)
{
    size_t n = strtoul(argv[5], NULL, 10);
    size_t bytes = n * strtoul(argv[4], NULL, 10) / 8;
    void *data = malloc(bytes ? bytes : 1);
    FILE *f = fopen(argv[2], "rb");
    DLTensor t = tensor_of(data, (uint8_t)atoi(argv[3]), (uint8_t)atoi(argv[4]));
    int64_t one[1] = {(int64_t)n};
    if (!f || !data || fread(data, 1, bytes, f) != bytes)
        return 1;
    fclose(f);
    t.ndim = 1;
    t.shape = one;
    plumb_activation(plumb_node_get("file"), argv[2], &t);
    free(data);
    return 0;
}

/* Until it is killed; says when it has begun. */
static void endless(DLTensor *t)
{
    for (int64_t i = 0;; i++) {
        PLUMB_STEP(i);
        for (int k = 0; k < 50; k++)
            layer("block.layers.0", t);
        if (i == 3 && write(1, "go\n", 3) != 3)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "4";
    DLTensor t = tensor_of(values, kDLFloat, 32);
    float before[6];
    memcpy(before, values, sizeof values);
    if (strcmp(what, "register") == 0) {
        plumb_error err;
        if (plumb_start(NULL, &err) < 0 || plumb_activation_stat("answer", answer, NULL, &err) < 0)
            return 1;
        model(4, &t);
    } else if (strcmp(what, "no_steps") == 0)
        no_steps(&t);
    else if (strcmp(what, "twice") == 0 || strcmp(what, "swapped") == 0)
        twice(&t, *what == 's');
    else if (strcmp(what, "late") == 0)
        late(&t);
    else if (strcmp(what, "collide") == 0)
        collide(&t);
    else if (strcmp(what, "other_thread") == 0)
        other_thread(&t);
    else if (strcmp(what, "many") == 0)
        many(&t);
    else if (strcmp(what, "labels") == 0)
        labels(&t);
    else if (strcmp(what, "failures") == 0)
        failures(&t);
    else if (strcmp(what, "special") == 0)
        special();
    else if (strcmp(what, "kinds") == 0)
        kinds();
    else if (strcmp(what, "endless") == 0)
        endless(&t);
    else if (strcmp(what, "nothing") == 0) {
        PLUMB_SPAN("alone");
    } else if (strcmp(what, "file") == 0 && argc == 6) {
        if (from_file(argv))
            return 1;
    } else
        model(atoi(what), &t);
    return memcmp(before, values, sizeof values) == 0 ? 0 : 3;
}
