/* from_json.c: the values of a JSON document. Repetitions of a benchmark are samples; a benchmark
 * without them has the one figure that the file gives. An entry that failed keeps its place with
 * the reason, so that a rule about it cannot pass. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/gate/take.h"

typedef const struct plumb_json_value *json;

struct taking {
    struct plumb_gate_case *g;
    size_t source[PLUMB_GATE_SIDES]; /* index, plus 1 */
    enum plumb_gate_side side;
    const char *path;
    const char *machine;
    size_t taken;
};

static const char *copy(struct taking *k, const char *text)
{
    const char *own = plumb_arena_strdup(&k->g->arena, text ? text : "");
    return own ? own : "";
}

static const char *text_of(json object, const char *name)
{
    return plumb_json_text(plumb_json_get(object, name));
}

static struct plumb_gate_source *source(struct taking *k, enum plumb_gate_side side)
{
    if (!k->source[side]) {
        struct plumb_gate_source *s = plumb_gate_add(k->g, side, k->path);
        if (!s)
            return NULL;
        s->machine = k->machine;
        k->source[side] = k->g->side[side].count;
    }
    return &k->g->side[side].sources[k->source[side] - 1];
}

/* The value of a benchmark, which its repetitions share. */
static struct plumb_gate_value *value_of(struct taking *k, enum plumb_gate_side side,
                                         const char *metric, const char *node)
{
    struct plumb_gate_source *s = source(k, side);
    struct plumb_gate_value *v;
    if (!s)
        return NULL;
    for (size_t i = s->count; i > 0; i--) /* repetitions come one after the other */
        if (strcmp(s->values[i - 1].metric->name, metric) == 0 &&
            strcmp(s->values[i - 1].node, node) == 0)
            return &s->values[i - 1];
    v = plumb_gate_put(k->g, s, metric);
    if (v)
        v->node = copy(k, node);
    k->taken++;
    return v;
}

static double number(json object, const char *name)
{
    json v = plumb_json_get(object, name);
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

/* ---- google/benchmark ------------------------------------------------------------------------ */

/* How many ns a unit has; NaN: an unknown unit. */
static double unit_ns(json entry)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *unit = text_of(entry, "time_unit");
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return unit ? NAN : 1; /* files from before there were units */
}

static bool is_aggregate(json entry)
{
    const char *type = text_of(entry, "run_type");
    return type && strcmp(type, "aggregate") == 0;
}

/* The aggregate that stands for a benchmark without repetitions. */
static bool stands_for_all(json entry)
{
    const char *name = text_of(entry, "aggregate_name");
    return name && strcmp(name, "median") == 0;
}

static const char *failure(struct taking *k, json entry)
{
    const char *why = text_of(entry, "error_message");
    const char *own = plumb_arena_printf(&k->g->arena, "the benchmark failed%s%s",
                                         why && *why ? ": " : "", why ? why : "");
    return own ? own : "the benchmark failed";
}

static void take_google(struct taking *k, json entry)
{
    static const struct {
        const char *metric, *field;
    } times[] = {{"time", "real_time"}, {"cpu_time", "cpu_time"}};
    const char *name = text_of(entry, "run_name");
    bool failed = plumb_json_is(plumb_json_get(entry, "error_occurred"), PLUMB_JSON_IS_TRUE);
    name = name ? name : text_of(entry, "name");
    if (!name || (is_aggregate(entry) && !stands_for_all(entry)))
        return;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct plumb_gate_value *v = value_of(k, k->side, times[i].metric, name);
        if (!v)
            return;
        if (failed)
            v->wrong = failure(k, entry);
        else if (!is_aggregate(entry) || v->count == 0)
            plumb_gate_sample(k->g, v, number(entry, times[i].field) * unit_ns(entry));
    }
}

static void take_pytest(struct taking *k, json entry, json stats)
{
    const char *name = text_of(entry, "name");
    json data = plumb_json_get(stats, "data");
    struct plumb_gate_value *v = name ? value_of(k, k->side, "time", name) : NULL;
    if (!v)
        return;
    for (size_t i = 0; i < plumb_json_count(data); i++)
        plumb_gate_sample(k->g, v,
                          plumb_json_is_number(plumb_json_at(data, i))
                              ? plumb_json_as_real(plumb_json_at(data, i)) * 1e9
                              : NAN);
    if (v->count == 0)
        plumb_gate_sample(k->g, v, number(stats, "median") * 1e9);
}

/* ---- plumb ----------------------------------------------------------------------------------- */

/* "n:256/f32" of "A/n:256/f32": the size and type of a sample. */
static const char *pair_of(json entry)
{
    const char *name = text_of(entry, "run_name"), *slash = name ? strchr(name, '/') : NULL;
    return slash ? slash + 1 : NULL;
}

/* A sample of plumb ab: `side` "A" or "B", `metric`, and `node`, which is empty for a whole
 * command. Of several sizes or types each is a node, with the metric 'time', as when they were
 * measured. Samples that were measured in turn stand in the order of their rounds. */
static void take_pair(struct taking *k, json entry, json own, bool in_turn, bool several)
{
    const char *side = text_of(own, "side"), *metric = text_of(own, "metric");
    const char *node = text_of(own, "node");
    const struct plumb_gate_metric *m = metric ? plumb_gate_metric_find(metric) : NULL;
    struct plumb_gate_value *v;
    if (!side || !m || m->quantity != PLUMB_GATE_TIME || is_aggregate(entry))
        return;
    if (several) {
        node = pair_of(entry);
        m = plumb_gate_metric_find("time");
    }
    v = value_of(k, strcmp(side, "A") == 0 ? PLUMB_GATE_SIDE_OLD : PLUMB_GATE_SIDE_NEW, m->name,
                 node ? node : "");
    if (!v)
        return;
    v->of_run = !node || !*node;
    v->in_turn = in_turn;
    if (number(own, "resolution") > v->resolution)
        v->resolution = number(own, "resolution");
    plumb_gate_sample(k->g, v, number(entry, "real_time") * unit_ns(entry));
}

/* plumb bench: the stage's memory is that of its process. */
static void take_own(struct taking *k, json own)
{
    const char *stage = text_of(own, "stage");
    int64_t bytes = plumb_json_whole(plumb_json_get(own, "peak_bytes"));
    struct plumb_gate_value *v;
    if (!stage || bytes <= 0)
        return;
    v = value_of(k, k->side, "peak_rss", stage);
    if (v)
        v->exact = bytes;
}

static void take_benchmarks(struct taking *k, json root)
{
    json list = plumb_json_get(root, "benchmarks"), own = plumb_json_get(root, "plumb");
    json pair = plumb_json_get(own, "ab");
    bool in_turn = plumb_json_is(plumb_json_get(pair, "in_turn"), PLUMB_JSON_IS_TRUE);
    bool several = plumb_json_whole(plumb_json_get(pair, "pairs")) > 1;
    const char *host = text_of(plumb_json_get(root, "context"), "host_name");
    k->machine = copy(k, host);
    for (size_t i = 0; i < plumb_json_count(list); i++) {
        json entry = plumb_json_at(list, i), stats = plumb_json_get(entry, "stats");
        if (pair)
            take_pair(k, entry, plumb_json_get(entry, "plumb"), in_turn, several);
        else if (plumb_json_is(stats, PLUMB_JSON_IS_OBJECT))
            take_pytest(k, entry, stats);
        else
            take_google(k, entry);
    }
    if (!pair)
        take_own(k, own);
}

/* ---- Counts ---------------------------------------------------------------------------------- */

static void take_count(struct taking *k, json row)
{
    const char *kind = text_of(row, "kind");
    const struct plumb_gate_metric *m = kind ? plumb_gate_metric_find(kind) : NULL;
    json step = plumb_json_get(row, "step"), value = plumb_json_get(row, "value");
    struct plumb_gate_source *s = source(k, k->side);
    struct plumb_gate_value *v;
    int64_t runs = plumb_json_whole(plumb_json_get(row, "runs"));
    if (!s || !m || !(m->takes & PLUMB_GATE_PER) || !(v = plumb_gate_put(k->g, s, kind)))
        return;
    v->pipeline = copy(k, text_of(row, "pipeline"));
    v->phase = copy(k, text_of(row, "phase"));
    v->node = copy(k, text_of(row, "node"));
    v->name = copy(k, text_of(row, "name"));
    v->step =
        plumb_json_is(step, PLUMB_JSON_IS_INT) ? plumb_json_whole(step) : PLUMB_GATE_WHOLE_RUN;
    v->exact = plumb_json_whole(value);
    v->runs = runs > 0 ? (uint64_t)runs : 0;
    if (!plumb_json_is(value, PLUMB_JSON_IS_INT))
        v->wrong = "the value in the file is not a whole number";
    k->taken++;
}

/* The nodes that have rows, so that a kind that a node lacks reads as 0. */
static void take_nodes(struct taking *k)
{
    struct plumb_gate_source *s = source(k, k->side);
    size_t n = s ? s->count : 0;
    for (size_t i = 0; i < n; i++) {
        const struct plumb_gate_value row = s->values[i];
        bool known = row.runs == 0;
        for (size_t j = n; j < s->count && !known; j++)
            known = strcmp(s->values[j].node, row.node) == 0 &&
                    strcmp(s->values[j].phase, row.phase) == 0 &&
                    strcmp(s->values[j].pipeline, row.pipeline) == 0;
        struct plumb_gate_value *v = known ? NULL : plumb_gate_put(k->g, s, "runs");
        if (!v)
            continue;
        v->pipeline = row.pipeline;
        v->phase = row.phase;
        v->node = row.node;
        v->exact = (int64_t)row.runs;
    }
}

static void take_counts(struct taking *k, json root)
{
    json list = plumb_json_get(root, "counts");
    for (size_t i = 0; i < plumb_json_count(list); i++)
        take_count(k, plumb_json_at(list, i));
    take_nodes(k);
}

int plumb_gate_take_json(struct plumb_gate_case *g, enum plumb_gate_side side,
                         const struct plumb_json_value *root, const char *path, plumb_error *err)
{
    struct taking k = {.g = g, .side = side, .path = path, .machine = ""};
    const char *format = text_of(root, "format");
    bool counts = format && strcmp(format, "plumb-counts") == 0;
    if (counts && plumb_json_whole(plumb_json_get(root, "counts_not_shown")) > 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' has a part of its counts alone: write it without --top", path);
    if (counts)
        take_counts(&k, root);
    else
        take_benchmarks(&k, root);
    if (g->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the values of '%s'", path);
    if (!counts && k.taken == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' has no values: results are run directories, JSON of "
                          "google/benchmark, pytest-benchmark, plumb bench, plumb ab, and of plumb "
                          "report counts",
                          path);
    return PLUMB_OK;
}
