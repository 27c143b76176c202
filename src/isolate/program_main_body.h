/* ---- Command line ---------------------------------------------------------------------------- */

static long number(const char *text, const char *option)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0)
        fail("a whole number of 0 or more is needed", option);
    return value;
}

static void help(void)
{
    printf("usage: profile_" STAGE_FILE " [options]\n\n"
           "Runs the stage '%s' alone and prints its times as JSON.\n\n"
           "  --warmup N      runs before the measured ones (1)\n"
           "  --steps N       steps of its loop in each run (%d)\n"
           "  --first-step N  the first of them (%d)\n"
           "  --runs N        measured runs (5)\n"
           "  --seed N        of random inputs (%llu)\n"
           "  --inputs FILE   captured inputs, or 'random' (%s)\n"
           "  --library FILE  the stage library (%s)\n"
           "  --config TEXT   configuration of its model (%s)\n",
           STAGE_NAME, STAGE_STEPS, STAGE_FIRST_STEP, (unsigned long long)STAGE_SEED,
           *options.inputs ? options.inputs : "random", options.library, options.config);
    exit(0);
}

static void take_option(const char *name, const char *value)
{
    if (strcmp(name, "--warmup") == 0)
        options.warmup = number(value, name);
    else if (strcmp(name, "--steps") == 0)
        options.steps = number(value, name);
    else if (strcmp(name, "--first-step") == 0)
        options.first = number(value, name);
    else if (strcmp(name, "--runs") == 0)
        options.runs = number(value, name);
    else if (strcmp(name, "--seed") == 0)
        options.seed = (uint64_t)number(value, name);
    else if (strcmp(name, "--inputs") == 0)
        options.inputs = strcmp(value, "random") == 0 ? "" : value;
    else if (strcmp(name, "--library") == 0)
        options.library = value;
    else if (strcmp(name, "--config") == 0)
        options.config = value;
    else
        fail("unknown option, see --help", name);
}

static void take_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            help();
        if (i + 1 == argc)
            fail("an unknown option, or one without a value; see --help", argv[i]);
        take_option(argv[i], argv[i + 1]);
    }
    if (options.steps < 1 || options.runs < 1)
        fail("at least one step and one run are needed", "--steps, --runs");
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static const struct plumb_stage_ops *ops;
static void *instance;
static struct plumb_field taken[STAGE_INPUTS + 1];
static size_t taken_count;
static uint64_t output_hash, output_ns;
static uint32_t outputs;
static int hashing;
static struct plumb_loop_limit limit;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void open_stage(void)
{
    struct plumb_error err = {0, ""};
    const struct plumb_stage_library *library;
    void *object = dlopen(options.library, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        fail("cannot load the stage library", dlerror());
    library = dlsym(object, "plumb_stage_library");
    if (!library || library->version != 1)
        fail("not a stage library of version 1", options.library);
    for (size_t i = 0; library->stages[i]; i++)
        if (strcmp(library->stages[i]->name, STAGE_NAME) == 0)
            ops = library->stages[i];
    if (!ops)
        fail("the library does not have the stage", STAGE_NAME);
    if (ops->open(&instance, options.config, &err) < 0)
        fail("the stage cannot be opened", err.message);
}

/* The inputs that the stage takes. */
static void choose_inputs(void)
{
    for (size_t i = 0; i < input_count; i++) {
        int wanted = !ops->inputs;
        for (size_t k = 0; ops->inputs && ops->inputs[k]; k++)
            wanted |= strcmp(ops->inputs[k], inputs[i].name) == 0;
        if (wanted)
            taken[taken_count++] = inputs[i];
    }
}

static void take_output(struct plumb_stage_call *call, const char *name,
                        const struct plumb_value *value)
{
    uint64_t begin = now_ns(), unread = 0;
    (void)call;
    if (!hashing)
        return;
    output_hash = hash_value(hash_text(output_hash, name), value, &unread);
    outputs++;
    output_ns += now_ns() - begin;
}

static int call_stage(struct plumb_error *err)
{
    struct plumb_stage_call call = {sizeof call, taken, taken_count, take_output, NULL};
    int rc = 0;
    if (ops->step) {
        for (long i = 0; i < options.steps && rc >= 0; i++)
            rc = ops->step(instance, &call, options.first + i, err);
        return rc;
    }
    limit.size = sizeof limit;
    limit.first = options.first;
    limit.count = options.steps;
    if (ops->limit)
        ops->limit(&limit);
    rc = ops->run(instance, &call, err);
    if (ops->limit)
        ops->limit(NULL);
    return rc;
}

static uint64_t run_once(void)
{
    struct plumb_error err = {0, ""};
    uint64_t begin, end;
    int rc;
    output_hash = output_ns = 0;
    outputs = 0;
    memset(&limit, 0, sizeof limit);
    rc = ops->sync ? ops->sync(instance, &err) : 0;
    begin = now_ns();
    if (rc >= 0 && (rc = call_stage(&err)) >= 0 && ops->sync)
        rc = ops->sync(instance, &err);
    end = now_ns();
    if (rc < 0)
        fail("the stage failed", err.message);
    if (limit.loops && limit.ran != limit.count * (int64_t)limit.loops)
        fail("the stage's loop does not have these steps", "--first-step, --steps");
    return end - begin - output_ns;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_result(const uint64_t *ns, const uint64_t *sorted)
{
    double middle = (double)(sorted[(options.runs - 1) / 2] + sorted[options.runs / 2]) / 2e6;
    int loops = limit.loops || ops->step;
    printf("{\"stage\": ");
    print_text(STAGE_NAME);
    printf(", \"warmup\": %ld, \"runs\": %ld,\n \"run_ms\": [", options.warmup, options.runs);
    for (long i = 0; i < options.runs; i++)
        printf("%s%.6f", i ? ", " : "", (double)ns[i] / 1e6);
    printf("],\n \"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f,\n", middle,
           (double)sorted[0] / 1e6, (double)sorted[options.runs - 1] / 1e6);
    printf(" \"first_step\": %lld, \"steps\": %ld, \"loop_steps\": %lld,\n",
           loops ? (long long)options.first : -1LL, loops ? options.steps : 1L,
           limit.loops ? (long long)limit.steps : -1LL);
    printf(" \"inputs\": \"%s\", \"seed\": %llu, \"outputs\": %u, \"output_hash\": ",
           *options.inputs ? "captured" : "random", (unsigned long long)options.seed, outputs);
    if (outputs)
        printf("\"%016llx\"}\n", (unsigned long long)hash_word(output_hash, outputs));
    else
        puts("null}");
}

int main(int argc, char **argv)
{
    uint64_t *ns, *sorted;
    take_options(argc, argv);
    ns = calloc(2 * (size_t)options.runs, sizeof *ns);
    if (!ns)
        fail("no memory for the times of the runs", "--runs");
    sorted = ns + options.runs;
    make_inputs(options.inputs, options.seed);
    open_stage();
    choose_inputs();
    for (long i = 0; i < options.warmup; i++)
        run_once();
    for (long i = 0; i < options.runs; i++) {
        hashing = i + 1 == options.runs;
        ns[i] = sorted[i] = run_once();
    }
    qsort(sorted, (size_t)options.runs, sizeof *sorted, ascending);
    print_result(ns, sorted);
    if (ops->close)
        ops->close(instance);
    free(ns);
    return fflush(stdout) == 0 ? 0 : 2;
}
