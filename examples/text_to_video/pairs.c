/* Plants random faults in the whole pipeline, and checks that plumb finds each where it was planted
 * and finds nothing in sound runs.
 *
 *     pairs COUNT [SEED [JSON]]
 *
 * Runs the smallest configuration (--tiny: 6 blocks, 4 steps) COUNT times as a reference. Each
 * reference is compared with a sound run, which differs only in settings that must not matter, and
 * with a run with a fault. All runs are in this process, so that oneDNN compiles its kernels once.
 * Exit status: 0 all verdicts were right, 1 some were wrong, 2 the test could not run. JSON gets
 * the figures.
 *
 * The size of a fault, 1e-3 and more, is relative to the tensor that is recorded at its place.
 * Faults that cannot be seen in the numbers are not planted:
 *   - scores times a little: softmax cancels a constant that is added to all keys. With random
 *     weights the scores differ little, so a change of a thousandth is one of millionths in the
 *     result. So scores grow by half at least, as with a forgotten 1 / sqrt(width).
 *   - weights whose product is added to a residual, by a thousandth: the sum hides it. The sum is
 *     what is recorded, so the sum is what is scaled.
 *   - in the second pass of a step, whose text is one row: softmax over one key is 1 whatever the
 *     scores. The first pass, whose prompt is never empty here, shows the fault.
 *   - symmetric changes: a transposed weight must be square, and heads that are swapped twice are
 *     as before. Neither is a kind of fault.
 *   - outside of the denoise steps a fault has no step, and in a step all places run.
 *
 * The prompt's weight is 1 to 2. With 4, the usual one, guidance multiplies the rounding of both
 * passes by five. Two of 500 pairs of float32 and bfloat16 or float16 then gave another picture, 3
 * % off in the mean of its three channels, and plumb was right to report them. */
#include "fault.h"
#include "options.h"
#include "pipeline.h"

#include <plumb/plumb.h>
#include <plumb/read.h>

#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void omp_set_num_threads(int threads);

enum { PROMPT_MOST = 40, TEXT = 256, MOST = 100000 };

/* A run to be made: what differs between those of a pair. */
struct trial {
    struct options options;
    char prompt[PROMPT_MOST + 1];
    const char *stats;
    char module[TEXT]; /* where its fault shows; "": it has no fault */
    int step;          /* when; -1: outside of steps */
};

struct tally {
    uint64_t faults, sound, missed, blamed; /* missed: not found, or elsewhere */
    double *ms;                             /* processor time of each run */
    uint64_t runs;
};

/* 31 bits of a linear congruence (Knuth, MMIX); `state` is the seed at first. */
static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* ---- Random faults --------------------------------------------------------------------------- */

static const char *const text_leaves[] = {"embedding", "text_norm"};
static const char *const dit_leaves[] = {"time_in",
                                         "time_hidden",
                                         "text_in",
                                         "patch_in",
                                         "euler",
                                         "project_out",
                                         "project_out.norm",
                                         "project_out.modulation_out",
                                         "project_out.patch_out"};
static const char *const vae_leaves[] = {"vae.in", "vae.out"};
static const char *const text_parts[] = {
    "",     ".attention", ".attention.norm", ".attention.qkv", ".attention.heads",
    ".mlp", ".mlp.norm",  ".mlp.up"};
static const char *const block_parts[] = {"",
                                          ".modulation",
                                          ".self_attention",
                                          ".self_attention.norm",
                                          ".self_attention.qkv",
                                          ".self_attention.heads",
                                          ".cross_attention",
                                          ".cross_attention.norm",
                                          ".cross_attention.q",
                                          ".cross_attention.kv",
                                          ".cross_attention.heads",
                                          ".mlp",
                                          ".mlp.norm",
                                          ".mlp.up"};
static const char *const vae_parts[] = {"", ".residual.0", ".residual.1", ".up"};
static const char *const residual_parts[] = {".self_attention", ".cross_attention", ".mlp"};

#define PICK(seed, names) ((names)[random_next(seed) % (sizeof(names) / sizeof((names)[0]))])

/* Draws any module that has an output. */
static void any_place(uint64_t *seed, char *out)
{
    int block = (int)(random_next(seed) % 6);

    switch (random_next(seed) % 10) {
    case 0:
        snprintf(out, FAULT_PLACE_BYTES, "%s", PICK(seed, text_leaves));
        break;
    case 1:
        snprintf(out, FAULT_PLACE_BYTES, "text.%d%s", block % 2, PICK(seed, text_parts));
        break;
    case 2:
        snprintf(out, FAULT_PLACE_BYTES, "%s", PICK(seed, dit_leaves));
        break;
    case 3:
        snprintf(out, FAULT_PLACE_BYTES, "%s", PICK(seed, vae_leaves));
        break;
    case 4:
        snprintf(out, FAULT_PLACE_BYTES, "vae.%d%s", block % 3, PICK(seed, vae_parts));
        break;
    default:
        snprintf(out, FAULT_PLACE_BYTES, "block.%d%s", block, PICK(seed, block_parts));
    }
}

/* An attention or an MLP of the text encoder or of the transformer. */
static void any_residual(uint64_t *seed, bool attention, char *out)
{
    int block = (int)(random_next(seed) % 6);

    if (random_next(seed) % 4 == 0)
        snprintf(out, FAULT_PLACE_BYTES, "text.%d%s", block % 2,
                 attention || random_next(seed) % 2 ? ".attention" : ".mlp");
    else
        snprintf(out, FAULT_PLACE_BYTES, "block.%d%s", block,
                 residual_parts[random_next(seed) % (attention ? 2 : 3)]);
}

/* Weights as wide as high; `shows` is the module whose result has them in it. */
static void any_square(uint64_t *seed, char *out, char *shows)
{
    static const char *const leaves[] = {"text_in", "time_hidden"};
    char place[FAULT_PLACE_BYTES];

    switch (random_next(seed) % 3) {
    case 0:
        snprintf(out, FAULT_PLACE_BYTES, "%s", PICK(seed, leaves));
        snprintf(shows, FAULT_PLACE_BYTES, "%s", out);
        break;
    case 1:
        snprintf(out, FAULT_PLACE_BYTES, "block.%d.cross_attention.q",
                 (int)(random_next(seed) % 6));
        snprintf(shows, FAULT_PLACE_BYTES, "%s", out);
        break;
    default:
        any_residual(seed, true, place);
        snprintf(out, FAULT_PLACE_BYTES, "%.*s.out", FAULT_PLACE_BYTES - 5, place);
        snprintf(shows, FAULT_PLACE_BYTES, "%s", place);
    }
}

static bool is_denoised(const char *place)
{
    return strncmp(place, "text.", 5) != 0 && strncmp(place, "vae.", 4) != 0 &&
           strcmp(place, "embedding") != 0 && strcmp(place, "text_norm") != 0;
}

/* From 1e-3 to 1, each power of ten as often. */
static double any_size(uint64_t *seed)
{
    return 1e-3 * pow(1000, (double)(random_next(seed) % 10001) / 1e4);
}

static void plant(uint64_t *seed, struct trial *t)
{
    struct fault *f = &t->options.fault;
    char shows[FAULT_PLACE_BYTES + 8];

    *f = (struct fault){.kind = (enum fault_kind)(1 + random_next(seed) % (FAULT_COUNT - 1)),
                        .step = FAULT_EVERY_STEP,
                        .size = any_size(seed)};
    if (f->kind == FAULT_TRANSPOSED) {
        any_square(seed, f->place, shows);
    } else {
        if (f->kind < FAULT_TRANSPOSED)
            any_place(seed, f->place);
        else
            any_residual(seed, f->kind != FAULT_NO_RESIDUAL, f->place);
        snprintf(shows, sizeof(shows), "%s%s", f->place, f->kind == FAULT_SOFTMAX ? ".heads" : "");
    }
    if (f->kind == FAULT_COLUMNS)
        f->size *= 4; /* it is a quarter of them */
    if (f->kind == FAULT_SOFTMAX)
        f->size = 0.5 + 3 * f->size;
    if (is_denoised(f->place) && random_next(seed) % 2)
        f->step = (int)(random_next(seed) % (uint64_t)t->options.steps);
    t->step = !is_denoised(f->place) ? -1 : f->step == FAULT_EVERY_STEP ? 0 : f->step;
    snprintf(t->module, sizeof(t->module), "%s%s", is_denoised(f->place) ? "denoise_step." : "",
             shows);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct trial any_trial(uint64_t *seed)
{
    static const char *const stats[] = {"abs_mean,sum,min,max,std,nan,inf",
                                        "abs_mean,sum,min,max,nan,inf,hash,hash_any",
                                        "abs_mean,sum,std,rms,max,min,nan,inf,zeros"};
    struct trial t = {.options = options_default(false, true)};
    int length = 1 + (int)(random_next(seed) % PROMPT_MOST);

    for (int i = 0; i < length; i++)
        t.prompt[i] = (char)(' ' + random_next(seed) % 95);
    t.options.seed = random_next(seed);
    t.options.guidance = 1.0f + (float)(random_next(seed) % 1001) * 1e-3f;
    t.options.out_path = NULL;
    t.stats = PICK(seed, stats);
    return t;
}

/* Another run of it whose numbers may differ, but are not wrong. */
static struct trial sound_trial(uint64_t *seed, const struct trial *a)
{
    static const enum element precisions[] = {ELEMENT_F32, ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16};
    struct trial t = *a;

    t.options.precision = PICK(seed, precisions);
    return t;
}

/* Runs it, its records in `dir`/activations.jsonl. Returns 0, or -1 and the reason on stderr. */
static int run_trial(struct trial *t, const char *dir, struct tally *tally)
{
    plumb_options o = plumb_options_default();
    struct pipeline_result result;
    char path[TEXT];
    plumb_error err;
    clock_t begun;

    snprintf(path, sizeof(path), "%s/activations.jsonl", dir);
    o.run_dir = dir;
    o.activations = PLUMB_ON;
    o.activations_stats = t->stats;
    o.quiet = PLUMB_ON;
    o.log_level = PLUMB_LOG_ERROR;
    t->options.prompt = t->prompt;
    if (plumb_start(&o, &err) < 0) {
        fprintf(stderr, "pairs: %s\n", err.message);
        return -1;
    }
    begun = clock();
    if (pipeline_run(&t->options, &result) < 0 && t->options.fault.kind != FAULT_NAN &&
        t->options.fault.kind != FAULT_INF) {
        fprintf(stderr, "pairs: %s\n", result.error);
        plumb_stop(NULL);
        return -1;
    }
    tally->ms[tally->runs++] = 1e3 * (double)(clock() - begun) / CLOCKS_PER_SEC;
    plumb_stop(NULL);
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static void forget(const char *dir)
{
    (void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes the verdict of plumb on two runs to `out`. Returns less than 0 if there is none. */
static int compare(const char *a, const char *b, char *out, size_t size)
{
    plumb_divergence_view view = plumb_divergence_view_default();
    plumb_divergence *divergence = NULL;
    char *text = NULL;
    plumb_error err;
    int rc = plumb_divergence_open(&divergence, a, b, NULL, &err);

    view.top = 1;
    if (rc == 0)
        rc = plumb_divergence_render(&text, divergence, &view, &err);
    if (rc == 0)
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    else
        fprintf(stderr, "pairs: %s\n", err.message);
    free(text);
    plumb_divergence_close(divergence);
    return rc;
}

/* Writes the expected verdict, without figures; `leaf` is a part of the module, or "". */
static void expect(const struct trial *t, const char *leaf, char *out, size_t size)
{
    if (!t->module[0])
        snprintf(out, size, "no divergence: ");
    else if (t->step < 0)
        snprintf(out, size, "first divergence: %s%s out: ", t->module, leaf);
    else
        snprintf(out, size, "first divergence: %s%s out step %d: ", t->module, leaf, t->step);
}

/* Heads that changed places show in `heads` if a hash or the last bit of a sum can show them,
 * otherwise in the layers that read them. */
static bool is_told(const struct trial *t, const char *told, char *wanted, size_t size)
{
    expect(t, ".heads", wanted, size);
    if (t->options.fault.kind == FAULT_SWAPPED_HEADS && strncmp(told, wanted, strlen(wanted)) == 0)
        return true;
    expect(t, "", wanted, size);
    return strncmp(told, wanted, strlen(wanted)) == 0;
}

static const char *kind_name(const struct trial *t)
{
    return fault_kind_name(t->options.fault.kind);
}

/* Returns 1 if the verdict is right, 0 after a message if it is wrong, less than 0 if the pair
 * could not be compared. */
static int try_against(const char *a, struct trial *t, struct tally *tally)
{
    char wanted[TEXT + 64], told[1024];
    int rc = run_trial(t, "b", tally);
    bool right;

    if (rc == 0)
        rc = compare(a, "b", told, sizeof(told));
    forget("b");
    if (rc < 0)
        return -1;
    right = is_told(t, told, wanted, sizeof(wanted));
    if (!right)
        printf("--tiny --seed %" PRIu64
               " --guidance %g --prompt '%s' --fault %s:%s:%d:%.9g  precision %d, %s\n"
               "    wanted: %s\n    told:   %s\n",
               t->options.seed, (double)t->options.guidance, t->prompt, kind_name(t),
               t->options.fault.place, t->options.fault.step, t->options.fault.size,
               (int)t->options.precision, t->stats, wanted, told);
    return right;
}

static int try_pair(uint64_t *seed, struct tally *tally)
{
    struct trial a = any_trial(seed);
    struct trial sound = sound_trial(seed, &a);
    struct trial wrong = a;
    int rc;

    plant(seed, &wrong);
    if (run_trial(&a, "a", tally) < 0)
        return -1;
    rc = try_against("a", &sound, tally);
    tally->sound++;
    tally->blamed += rc == 0;
    if (rc >= 0) {
        rc = try_against("a", &wrong, tally);
        tally->faults++;
        tally->missed += rc == 0;
    }
    forget("a");
    return rc < 0 ? -1 : 0;
}

/* ---- The program ----------------------------------------------------------------------------- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x;
    double b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static int put_figures(const char *path, const struct tally *tally)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return -1;
    fprintf(file,
            "{\n  \"diverge_t2v_pairs\": %" PRIu64 ",\n  \"diverge_wrong_culprits\": %" PRIu64
            ",\n  \"diverge_t2v_run_ms\": %.4g\n}\n",
            tally->faults + tally->sound, tally->missed + tally->blamed,
            tally->ms[tally->runs / 2]);
    return fclose(file) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tally tally = {0};
    int rc = 0;

    if (count < 1 || count > MOST || argc > 4) {
        fprintf(stderr, "usage: pairs COUNT [SEED [JSON]]\n");
        return 2;
    }
    omp_set_num_threads(1);
    tally.ms = calloc((size_t)count * 3, sizeof(*tally.ms));
    if (!tally.ms)
        return 2;
    for (long i = 0; i < count && rc == 0; i++)
        rc = try_pair(&seed, &tally);
    qsort(tally.ms, tally.runs, sizeof(*tally.ms), by_value);
    if (tally.runs > 0)
        printf("  %" PRIu64 " faults, %" PRIu64 " missed or taken for another; %" PRIu64
               " sound pairs, %" PRIu64 " blamed; a run takes %.1f ms of processor time\n",
               tally.faults, tally.missed, tally.sound, tally.blamed, tally.ms[tally.runs / 2]);
    if (rc == 0 && argc > 3 && put_figures(argv[3], &tally) < 0) {
        fprintf(stderr, "pairs: cannot write '%s'\n", argv[3]);
        rc = -1;
    }
    free(tally.ms);
    return rc < 0 ? 2 : tally.missed + tally.blamed > 0;
}
