/* Owns the course of a training, and marks its phases for plumb. That is all a program must do:
 * however it is recorded, its report shows train, val, test and inference apart. */
#include "trainer.h"

#include "adam.h"
#include "checkpoint.h"
#include "loader.h"
#include "network.h"
#include "random.h"

#include <plumb/plumb.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 32, PATH_BYTES = 4000, ERROR_BYTES = sizeof((struct trainer_result){0}.error) };

/* The best of the checkpoints that were saved; epoch 0: there is none. */
struct best {
    int epoch, val_correct;
};

struct trainer {
    const struct options *options;
    struct network network;
    struct adam adam;
    struct loader *loader;
    int *order; /* of an epoch's pictures */
    struct best best;
    char *error; /* of the result */
};

/* The result of a pass. */
struct score {
    double loss; /* summed over the pictures */
    int correct, count;
};

static int fail(struct trainer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct trainer *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(t->error, ERROR_BYTES, format, args);
    va_end(args);
    return -1;
}

static double accuracy(int correct, int count)
{
    return count ? (double)correct / (double)count : 0.0;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void run_batch(struct trainer *t, bool train, struct score *score)
{
    PLUMB_SPAN("batch");
    const struct batch *b = loader_next(t->loader);

    network_forward(&t->network, b->pixels, b->rows);
    score->loss += network_loss(&t->network, b->labels, b->rows, &score->correct);
    score->count += b->rows;
    if (train) {
        network_backward(&t->network, b->rows);
        adam_step(&t->adam, t->network.parameters, t->network.gradients);
    }
    plumb_counter_add("pictures", b->rows);
}

static void run_training_step(struct trainer *t, struct score *score)
{
    PLUMB_REGION("training_step");
    run_batch(t, true, score);
}

static struct score run_pass(struct trainer *t, const struct pass *pass, bool train)
{
    int batches = loader_begin(t->loader, pass);
    struct score score = {0};

    for (PLUMB_STEPS (step, batches)) {
        if (train)
            run_training_step(t, &score);
        else
            run_batch(t, false, &score);
    }
    return score;
}

static struct score train_epoch(struct trainer *t, int epoch)
{
    PLUMB_PHASE("train");
    PLUMB_STAGE(stage, "train_epoch");
    const struct options *o = t->options;
    struct random r = random_of(o->seed, RANDOM_SHUFFLE, (uint64_t)epoch);
    const struct pass pass = {
        .set = DIGITS_TRAIN,
        .seed = o->seed,
        .first = (epoch - 1) * o->pictures, /* each epoch has new ones: nothing to learn by heart */
        .count = o->pictures,
        .order = t->order,
    };

    plumb_arg_i64(stage, "epoch", epoch);
    random_order(&r, t->order, o->pictures);
    return run_pass(t, &pass, true);
}

/* Pictures 0 to a quarter of an epoch's, in order, always the same. */
static struct score measure(struct trainer *t, enum digits_set set)
{
    const struct pass pass = {
        .set = set, .seed = t->options->seed, .count = t->options->pictures / 4};

    return run_pass(t, &pass, false);
}

static struct score validate(struct trainer *t)
{
    PLUMB_PHASE("val");
    PLUMB_STAGE(stage, "validate");
    PLUMB_REGION("training_validation");
    return measure(t, DIGITS_VAL);
}

static struct score test(struct trainer *t)
{
    PLUMB_PHASE("test");
    PLUMB_STAGE(stage, "test");
    return measure(t, DIGITS_TEST);
}

/* In the default phase, inference: pictures that come one by one. */
static void predict(struct trainer *t, struct trainer_result *result)
{
    PLUMB_STAGE(stage, "predict");
    for (int i = 0; i < TRAINER_SHOWN; i++) {
        real *pixels = result->pixels + i * DIGITS_PIXELS;
        result->digits[i] = digits_draw(pixels, t->options->seed, DIGITS_NEW, 7 * i);
        result->read_as[i] = network_answer(&t->network, network_forward(&t->network, pixels, 1));
    }
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static void name_checkpoint(char name[NAME_BYTES], int epoch)
{
    snprintf(name, NAME_BYTES, "epoch-%03d.safetensors", epoch);
}

static int path_of(struct trainer *t, const char *name, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s/%s", t->options->out_dir, name) < PATH_BYTES)
        return 0;
    return fail(t, "--out: the path is too long");
}

static int save(struct trainer *t, int epoch, const struct score *val, const char *name)
{
    PLUMB_PHASE("train");
    PLUMB_STAGE(stage, "checkpoint_save");
    PLUMB_REGION("training_save_checkpoint");
    const struct checkpoint_facts facts = {epoch, t->options->seed, val->correct, val->count};
    char path[PATH_BYTES];

    if (path_of(t, name, path) < 0 ||
        checkpoint_save(&t->network, &facts, path, t->error, ERROR_BYTES) < 0) {
        plumb_span_fail(stage, t->error);
        return -1;
    }
    return 0;
}

static int load(struct trainer *t, const char *path, struct checkpoint_facts *facts)
{
    PLUMB_PHASE("test");
    PLUMB_STAGE(stage, "checkpoint_load");
    PLUMB_REGION("model_loading");
    if (checkpoint_load(&t->network, facts, path, t->error, ERROR_BYTES) < 0) {
        plumb_span_fail(stage, t->error);
        return -1;
    }
    return 0;
}

/* A loaded network must validate as it did when it was saved. The two results are compared only if
 * the pictures are the same: those of one seed and count. */
static int load_and_validate(struct trainer *t, const char *path, const char *name)
{
    struct checkpoint_facts facts = {0};
    struct score val;
    bool comparable;

    if (load(t, path, &facts) < 0)
        return -1;
    val = validate(t);
    comparable = facts.seed == t->options->seed && facts.val_count == val.count;
    if (comparable && facts.val_correct != val.correct)
        return fail(t, "%.200s: validates with %.4f, and with %.4f when it was saved", path,
                    accuracy(val.correct, val.count), accuracy(facts.val_correct, val.count));
    printf("loaded %s of epoch %d: validation accuracy %.4f%s\n", name, facts.epoch,
           accuracy(val.correct, val.count), comparable ? ", as saved" : "");
    return 0;
}

/* ---- The course ------------------------------------------------------------------------------ */

static int run_epoch(struct trainer *t, int epoch)
{
    const struct options *o = t->options;
    char name[NAME_BYTES] = "";
    struct score train = train_epoch(t, epoch);
    struct score val = validate(t);

    if (epoch % o->save_every == 0 || epoch == o->epochs) {
        name_checkpoint(name, epoch);
        if (save(t, epoch, &val, name) < 0)
            return -1;
        if (t->best.epoch == 0 || val.correct > t->best.val_correct)
            t->best = (struct best){epoch, val.correct};
    }
    printf("%5d  %6.4f  %9.4f  %7.4f%s%s\n", epoch, train.loss / train.count,
           accuracy(train.correct, train.count), accuracy(val.correct, val.count),
           *name ? "  " : "", name);
    fflush(stdout);
    return 0;
}

static int train(struct trainer *t)
{
    const struct options *o = t->options;
    char name[NAME_BYTES], path[PATH_BYTES];

    if (mkdir(o->out_dir, 0777) < 0 && errno != EEXIST)
        return fail(t, "%.200s: cannot make the folder: %s", o->out_dir, strerror(errno));
    network_randomize(&t->network, o->seed);
    printf("epoch    loss  train acc  val acc  checkpoint\n");
    for (int epoch = 1; epoch <= o->epochs; epoch++)
        if (run_epoch(t, epoch) < 0)
            return -1;
    if (t->best.epoch == 0)
        return 0; /* --epochs 0: the network stays as it was drawn */
    name_checkpoint(name, t->best.epoch);
    return path_of(t, name, path) < 0 ? -1 : load_and_validate(t, path, name);
}

static int init(struct trainer *t)
{
    const struct options *o = t->options;
    const int widths[NETWORK_LAYERS + 1] = {DIGITS_PIXELS, o->hidden, o->hidden / 2,
                                            DIGITS_CLASSES};

    t->order = malloc((size_t)o->pictures * sizeof(*t->order));
    if (!t->order || network_init(&t->network, widths, o->batch) < 0 ||
        adam_init(&t->adam, t->network.n_parameters, o->learning_rate, 0.01) < 0)
        return fail(t, "out of memory");
    t->loader = loader_open(o->threads, o->batch);
    if (!t->loader)
        return fail(t, "cannot start the loader: out of memory or threads");
    printf("digits of %dx%d pixels, network %d-%d-%d-%d with %zu parameters, seed %" PRIu64 "\n",
           DIGITS_SIDE, DIGITS_SIDE, widths[0], widths[1], widths[2], widths[3],
           t->network.n_parameters, o->seed);
    return 0;
}

int trainer_run(const struct options *o, struct trainer_result *result)
{
    struct trainer t = {.options = o, .error = result->error};
    struct score score;
    int rc = -1;

    *result = (struct trainer_result){0};
    if (init(&t) < 0)
        goto out;
    if ((o->test_path ? load_and_validate(&t, o->test_path, o->test_path) : train(&t)) < 0)
        goto out;
    score = test(&t);
    result->test_correct = score.correct;
    result->test_count = score.count;
    predict(&t, result);
    rc = 0;
out:
    loader_close(t.loader);
    adam_fini(&t.adam);
    network_fini(&t.network);
    free(t.order);
    return rc;
}
