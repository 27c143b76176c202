/* bench_diverge.c: how often the first divergence is reported wrongly. A thousand pairs of runs
 * have a planted fault and a thousand have none. They come from one engine, and from two that call,
 * fuse, order, record and lay out their layers differently. It also counts the recordings of a user
 * who follows `next:` to the letter. --quick takes a hundred of each; BENCH_SEED=N takes other
 * pairs, BENCH_VERBOSE=1 shows the wrong ones.
 *
 * An answer is right on two conditions. The tensor that it names as the first that differs is one
 * tensor on both sides that the fault reached. And no tensor that both recorded and that shows the
 * fault lies before the last one that it says to agree. A fault counts if a tensor that both
 * recorded shows it beyond the tolerance of its type, or, in one engine, in any bit after a
 * beginning that is equal. */
#include "harness.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "diverge_fixture.h"
#include "diverge_model.h"
#include "report/diverge/view.h"

enum { MOST_ROUNDS = 8, ALL_EQUAL = 6 };
static const double SHOWS = 3e-4; /* float32; unknown types: SHOWS_UNKNOWN */
static const double SHOWS_UNKNOWN = 1.5e-2;

struct tally {
    int faults, sound, wrong, alarms, missed, rounds_max;
    int open; /* answers whose frontier lacks an end with evidence */
    long rounds, followed;
};

static bool verbose;

/* ---- The fixture of blocks ------------------------------------------------------------------- */

/* 1: not what it should have said. */
static int judge_blocks(const struct fixture *a, const struct fixture *b)
{
    struct fixture_run run_a;
    struct fixture_run run_b;
    struct plumb_diverge d;
    plumb_error err = {0, ""};
    struct plumb_diverge_options options = {.relative = -1, .absolute = -1};
    fixture_run(&run_a, a);
    fixture_run(&run_b, b);
    plumb_diverge_init(&d, &run_a.table, &run_b.table, &options);
    bool wrong = plumb_diverge_run(&d, &err) < 0;
    const struct plumb_diverge_culprit *c = &d.culprit;
    bool named = c->kind != PLUMB_DIVERGE_SAME;
    if (!wrong && b->fault == FAULT_NONE)
        wrong = named;
    else if (!wrong) {
        bool open = c->kind == PLUMB_DIVERGE_LOST && c->sure == PLUMB_DIVERGE_NONE;
        uint32_t end = open                            ? (uint32_t)run_a.table.count - 1
                       : c->sure != PLUMB_DIVERGE_NONE ? c->sure
                                                       : c->a;
        wrong = true;
        for (uint32_t i = c->input == PLUMB_DIVERGE_NONE ? 0 : c->input + 1; named && i <= end; i++)
            wrong = wrong && run_a.truth[i] % 100000 != fixture_expected(b);
    }
    if (verbose && wrong)
        printf("  blocks: fault %d in %d step %d size %g, kind %d named %d after %d (renamed %d "
               "fused %d "
               "reordered %d inputs %d steps %d)\n",
               (int)b->fault, fixture_expected(b), b->fault_step, b->fault_size, (int)c->kind,
               c->a == PLUMB_DIVERGE_NONE ? -9 : run_a.truth[c->a],
               c->input == PLUMB_DIVERGE_NONE ? -9 : run_a.truth[c->input], b->renamed, b->fused,
               b->reordered, b->inputs, b->steps);
    plumb_diverge_fini(&d);
    fixture_end(&run_a);
    fixture_end(&run_b);
    return wrong;
}

/* ---- The truth about two recordings of the model --------------------------------------------- */

static double stat_of(const struct plumb_activations *t, uint32_t i, int field)
{
    return plumb_activations_stat(t, i, (enum plumb_activation_field)field);
}

/* Sums of values of both signs cancel: they are measured by the magnitudes that were added. */
static double size_of(const struct plumb_activations *t, uint32_t i, int field, int64_t values)
{
    return field == PLUMB_ACT_SUM ? stat_of(t, i, PLUMB_ACT_ABS_MEAN) * (double)values
                                  : fabs(stat_of(t, i, field));
}

static bool same_figures(const struct model_run *a, uint32_t i, const struct model_run *b,
                         uint32_t k, double allowed)
{
    const struct plumb_activations *ta = &a->table;
    const struct plumb_activations *tb = &b->table;
    uint32_t common = ta->has[i] & tb->has[k];
    for (int f = 0; f < PLUMB_ACT_REALS; f++) {
        double x = stat_of(ta, i, f);
        double y = stat_of(tb, k, f);
        /* A sum is compared with the number of its terms in mind, which only a shape gives. */
        bool told = f != PLUMB_ACT_SUM || allowed == 0 || common >> PLUMB_ACT_SHAPE & 1;
        if ((common >> f & 1) && told && x != y &&
            (allowed == 0 || !(fabs(x - y) <= allowed * size_of(ta, i, f, a->values[i]))))
            return false;
    }
    if (plumb_activations_whole(ta, i, PLUMB_ACT_NAN) !=
        plumb_activations_whole(tb, k, PLUMB_ACT_NAN))
        return false;
    return allowed > 0 || !(common >> PLUMB_ACT_HASH & 1) ||
           plumb_activations_whole(ta, i, PLUMB_ACT_HASH) ==
               plumb_activations_whole(tb, k, PLUMB_ACT_HASH);
}

static uint8_t io_of(const struct plumb_activations *t, uint32_t i)
{
    return t->io ? t->io[i] : PLUMB_ACT_OUT;
}

/* The record of B of the same tensor as `a`; NONE. Both are in order, nearly. */
static uint32_t same_tensor(const struct model_run *a, uint32_t i, const struct model_run *b)
{
    for (uint32_t k = 0; k < b->count; k++)
        if (b->truth[k] == a->truth[i] && io_of(&b->table, k) == io_of(&a->table, i))
            return k;
    return PLUMB_DIVERGE_NONE;
}

struct oracle {
    int64_t place; /* of the first that shows the fault; 0: none does */
    int equal;     /* records before it that both have */
};

static struct oracle ask(const struct model_run *a, const struct model_run *b, double allowed)
{
    struct oracle o = {0, 0};
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = same_tensor(a, i, b);
        if (k == PLUMB_DIVERGE_NONE)
            continue;
        bool same = same_figures(a, i, b, k, allowed);
        if (!same && (o.place == 0 || a->truth[i] < o.place))
            o.place = a->truth[i];
        o.equal += same && o.place == 0;
    }
    return o;
}

/* The place of a record of a side, which may be of the table with what was joined; 0: joined. */
static int64_t place_of(const struct plumb_diverge *d, int side, const struct model_run *run,
                        uint32_t record)
{
    const struct plumb_activations *t = d->sides[side].t;
    if (t == &run->table)
        return run->truth[record];
    const char *module = plumb_activations_text(t, t->module[record]);
    for (uint32_t i = 0; i < run->count; i++)
        if (strcmp(plumb_activations_text(&run->table, run->table.module[i]), module) == 0 &&
            io_of(&run->table, i) == io_of(t, record) &&
            (run->table.step ? run->table.step[i] : 0) == (t->step ? t->step[record] : 0))
            return run->truth[i];
    return 0;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Whether the answer is true of the fault, the first sign of which is at `first`. */
static bool is_right(const struct plumb_diverge *d, const struct model_run *a,
                     const struct model_run *b, int64_t first)
{
    const struct plumb_diverge_culprit *c = &d->culprit;
    if (c->kind == PLUMB_DIVERGE_SAME || c->kind == PLUMB_DIVERGE_OUTSIDE ||
        c->kind == PLUMB_DIVERGE_MISSING)
        return false;
    /* If the types are unknown, the verdict must say that a fault may lie where the drift
     * begins. */
    if (c->kind == PLUMB_DIVERGE_DRIFT)
        return d->unknown_type && place_of(d, PLUMB_DIVERGE_A, a, c->a) == first;
    bool agreed = c->input != PLUMB_DIVERGE_NONE &&
                  d->sides[PLUMB_DIVERGE_A].partner[c->input] != PLUMB_DIVERGE_NONE;
    int64_t from = agreed ? place_of(d, PLUMB_DIVERGE_A, a, c->input) : 0;
    if (c->kind == PLUMB_DIVERGE_START && d->cells[c->a].how == PLUMB_HOW_ORDER)
        return true; /* it names nothing */
    if (c->kind == PLUMB_DIVERGE_LOST)
        return from < first &&
               (c->sure == PLUMB_DIVERGE_NONE || place_of(d, PLUMB_DIVERGE_A, a, c->sure) >= first);
    int64_t to = place_of(d, PLUMB_DIVERGE_A, a, c->a);
    int64_t in_b = place_of(d, PLUMB_DIVERGE_B, b, c->b);
    bool joined = to == 0 || in_b == 0;
    bool blind = b->m->fault == MODEL_SWAP && !b->m->hashes && from < to; /* sums see no order */
    return (joined || to == in_b) && (joined || to >= first || from < to) &&
           (from < first || blind) && (joined || to >= first - 6);
}

/* The same, where the place that was spoiled counts too: what shows it first may be below what
 * counts as a sign of it here. */
static bool holds_fault(const struct plumb_diverge *d, const struct model_run *a,
                        const struct model_run *b, int64_t first)
{
    return is_right(d, a, b, first) || (b->struck > 0 && is_right(d, a, b, b->struck));
}

static void tell(const char *what, const struct plumb_diverge *d, const struct model *a,
                 const struct model *b, struct oracle o)
{
    struct plumb_buf text = {0};
    const char *labels[] = {"a", "b"};
    plumb_divergence_view view = plumb_divergence_view_default();
    struct plumb_diverge_sheet sheet = {
        .d = (struct plumb_diverge *)d, .view = &view, .labels = labels};
    if (!verbose)
        return;
    plumb_diverge_put_sentence(&text, &sheet);
    const struct plumb_diverge_culprit *c = &d->culprit;
    printf("  %s: engines %d %d, fault %d of layer %d op %d step %d%s%s, first at %lld, kind %d, "
           "pair by %d\n    %s\n",
           what, (int)a->engine, (int)b->engine, (int)b->fault, b->fault_layer, (int)b->fault_op,
           b->fault_step, b->lasting ? "-" : "", b->backward ? " backward" : "", (long long)o.place,
           (int)c->kind, c->a == PLUMB_DIVERGE_NONE ? 0 : (int)d->cells[c->a].how,
           text.data ? text.data : "");
    plumb_buf_fini(&text);
}

/* ---- Following next: ------------------------------------------------------------------------- */

/* Copies what stands in quotes after `key`; false: it is not there. */
static bool take_quoted(const char *line, const char *key, char *out, size_t size)
{
    const char *begin = strstr(line, key);
    if (!begin)
        return false;
    begin += strlen(key);
    const char *end = strchr(begin, '\'');
    if (!end || (size_t)(end - begin) >= size)
        return false;
    memcpy(out, begin, (size_t)(end - begin));
    out[end - begin] = '\0';
    return true;
}

struct advice {
    char filter[2][512];
    int step;
    bool record, hashes, inputs, values, same;
    struct plumb_rename rename;
};

/* Every --map of a line. */
static void take_maps(struct advice *out, const char *line)
{
    char rule[512];
    plumb_error err = {0, ""};
    for (const char *p = line; (p = strstr(p, "--map '")); p++)
        if (take_quoted(p, "--map '", rule, sizeof rule) &&
            plumb_rename_add(&out->rename, rule, &err) < 0)
            abort();
}

static void read_advice(struct advice *out, char *lines)
{
    struct plumb_rename kept = out->rename;
    memset(out, 0, sizeof *out);
    out->rename = kept;
    out->step = -1;
    for (char *line = lines, *end; line && *line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        bool a = strncmp(line, "record A", 8) == 0 || strncmp(line, "record both", 11) == 0;
        bool b = strncmp(line, "record B", 8) == 0 || strncmp(line, "record both", 11) == 0;
        const char *step = strstr(line, "_STEPS=");
        take_maps(out, line);
        out->same |= strstr(line, "--expect same") != NULL;
        out->inputs |= strstr(line, "inputs=") != NULL;
        if (!a && !b)
            continue;
        if ((a && !take_quoted(line, "_LAYERS='", out->filter[0], sizeof out->filter[0])) ||
            (b && !take_quoted(line, "_LAYERS='", out->filter[1], sizeof out->filter[1])))
            continue;
        out->record = true;
        out->hashes |= strstr(line, "hash") != NULL;
        out->values |= strstr(line, "_DUMP=") != NULL;
        out->step = step ? (int)strtol(step + 7, NULL, 10) : out->step;
    }
}

static void advise(struct advice *out, struct plumb_diverge *d)
{
    struct plumb_buf text = {0};
    const char *labels[] = {"a", "b"};
    plumb_divergence_view view = plumb_divergence_view_default();
    struct plumb_diverge_sheet sheet = {.d = d, .view = &view, .labels = labels};
    plumb_diverge_put_next(&text, &sheet);
    read_advice(out, text.data);
    plumb_buf_fini(&text);
}

static void obey(struct model *m, const struct advice *advice, int side, char *filter)
{
    memcpy(filter, advice->filter[side], sizeof advice->filter[side]);
    m->filter = filter;
    m->only_step = advice->step;
    m->hashes |= advice->hashes;
    m->inputs |= advice->inputs && m->engine == ENGINE_TORCH;
}

/* Records again as `next:` says until nothing is left to record. Returns how often; negative: it
 * led away from the fault. */
static int follow(const struct model *first_a, const struct model *first_b, struct plumb_diverge *d,
                  int64_t place, bool same_engine)
{
    char filters[2][512];
    struct model a = *first_a;
    struct model b = *first_b;
    struct advice advice;
    enum plumb_diverge_expect expect = PLUMB_EXPECT_AUTO;
    plumb_rename_init(&advice.rename);
    advise(&advice, d);
    int rounds = 0;
    while (advice.record && rounds < MOST_ROUNDS) {
        struct model_run run_a;
        struct model_run run_b;
        struct plumb_diverge again;
        plumb_error err = {0, ""};
        rounds++;
        bool last = advice.values;
        expect = advice.same ? PLUMB_EXPECT_SAME : expect;
        obey(&a, &advice, 0, filters[0]);
        obey(&b, &advice, 1, filters[1]);
        model_run(&run_a, &a);
        model_run(&run_b, &b);
        struct plumb_diverge_options options = {
            .relative = -1, .absolute = -1, .expect = expect, .rename = &advice.rename};
        plumb_diverge_init(&again, &run_a.table, &run_b.table, &options);
        bool good = plumb_diverge_run(&again, &err) == 0;
        struct oracle o = ask(&run_a, &run_b, same_engine ? 0 : SHOWS / 3);
        good = good && holds_fault(&again, &run_a, &run_b, o.place ? o.place : place);
        if (!good)
            tell("led away", &again, &a, &b, o);
        else
            advise(&advice, &again);
        plumb_diverge_fini(&again);
        model_fini(&run_a);
        model_fini(&run_b);
        if (!good)
            rounds = -1;
        if (!good || last)
            break;
    }
    plumb_rename_fini(&advice.rename);
    return rounds;
}

/* ---- Pairs of the model ---------------------------------------------------------------------- */

static void try_pair(struct tally *t, const struct model *a, const struct model *b,
                     bool same_engine)
{
    struct model_run run_a;
    struct model_run run_b;
    struct plumb_diverge d;
    plumb_error err = {0, ""};
    struct plumb_diverge_options options = {.relative = -1, .absolute = -1};
    bool planted = b->fault != MODEL_SOUND;
    model_run(&run_a, a);
    model_run(&run_b, b);
    plumb_diverge_init(&d, &run_a.table, &run_b.table, &options);
    bool failed = plumb_diverge_run(&d, &err) < 0;
    double shows = a->no_types ? SHOWS_UNKNOWN : SHOWS;
    struct oracle o = ask(&run_a, &run_b, same_engine ? 0 : shows);
    struct oracle clear = ask(&run_a, &run_b, shows);
    struct oracle early = ask(&run_a, &run_b, shows / 3); /* what is beyond tolerance by little */
    bool named = !failed && d.culprit.kind != PLUMB_DIVERGE_SAME;
    if (!planted) {
        t->sound++;
        if (failed || named) {
            t->alarms++;
            tell("false alarm", &d, a, b, o);
        }
    } else if (o.place > 0 && (clear.place > 0 || o.equal >= ALL_EQUAL)) {
        t->faults++;
        t->open += named &&
                   (d.culprit.input == PLUMB_DIVERGE_NONE ||
                    (d.culprit.kind == PLUMB_DIVERGE_LOST && d.culprit.sure == PLUMB_DIVERGE_NONE));
        if (!named) {
            t->missed++;
            tell("missed", &d, a, b, o);
        } else if (!holds_fault(&d, &run_a, &run_b, o.place) &&
                   !(clear.place > 0 && is_right(&d, &run_a, &run_b, clear.place)) &&
                   !is_right(&d, &run_a, &run_b, early.place)) {
            t->wrong++;
            tell("wrong", &d, a, b, o);
        } else {
            /* Whole and parts are distinguished by others of their kind, which a narrower recording
             * lacks. */
            bool joined = d.cells[d.culprit.a].how == PLUMB_HOW_JOINED;
            int rounds = joined ? 0 : follow(a, b, &d, o.place, same_engine);
            t->wrong += rounds < 0;
            t->rounds += rounds > 0 ? rounds : 0;
            t->followed++;
            t->rounds_max = rounds > t->rounds_max ? rounds : t->rounds_max;
        }
    }
    plumb_diverge_fini(&d);
    model_fini(&run_a);
    model_fini(&run_b);
}

/* As many pairs with a fault that can be seen as without one. */
static void try_all(struct tally *t, int cases, bool same_engine, uint64_t seed)
{
    while (t->faults < cases || t->sound < cases) {
        struct model a;
        struct model b;
        if (same_engine)
            model_same_engine(&seed, &a, &b);
        else
            model_two_engines(&seed, &a, &b);
        if (t->sound < cases)
            try_pair(t, &a, &b, same_engine);
        model_plant(&seed, &b, same_engine);
        if (t->faults < cases)
            try_pair(t, &a, &b, same_engine);
    }
    printf("  %s: %d faults, %d named wrong, %d missed, of %d one end alone is told; %d sound "
           "pairs, %d "
           "blamed; next: takes %.1f recordings, at most %d\n",
           same_engine ? "one engine" : "two engines", t->faults, t->wrong, t->missed, t->open,
           t->sound, t->alarms, t->followed ? (double)t->rounds / (double)t->followed : 0,
           t->rounds_max);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct tally one = {0};
    struct tally two = {0};
    const char *text = getenv("BENCH_SEED");
    uint64_t other = text ? strtoull(text, NULL, 10) * 1000003 : 0;
    uint64_t seed = 81 + other;
    int wrong = 0;
    verbose = getenv("BENCH_VERBOSE") != NULL;
    bench_open(&bench, "diverge", argc, argv);
    int cases = bench.quick ? 100 : 1000;
    for (int i = 0; i < cases; i++) {
        struct fixture a;
        struct fixture b;
        fixture_random(&seed, &a, &b);
        wrong += judge_blocks(&a, &b);
        fixture_random_fault(&seed, &b);
        wrong += judge_blocks(&a, &b);
    }
    printf("  blocks: %d pairs with a fault, %d without: %d told wrong\n", cases, cases, wrong);
    try_all(&one, cases, true, 4242 + other);
    try_all(&two, cases, false, 2424 + other);
    bench_put(&bench, "diverge_engines_cases", 4.0 * cases);
    bench_put(&bench, "diverge_engines_wrong_culprits", wrong + two.wrong + two.alarms);
    bench_put(&bench, "diverge_one_engine_wrong_culprits", one.wrong + one.alarms);
    bench_put(&bench, "diverge_missed", one.missed + two.missed);
    bench_put(&bench, "diverge_rounds_max",
              one.rounds_max > two.rounds_max ? one.rounds_max : two.rounds_max);
    return bench_close(&bench);
}
