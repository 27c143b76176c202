/* timing_read.c: timing.json becomes the model again. Owns what counts as a sound report: every
 * field that merging and printing need is there and of its type, indices point at something,
 * histograms hold as many samples as they say. A file that fails one of these is refused with the
 * place of the fault, because half a report would be believed.
 *
 * The cursor keeps the first fault and turns everything after it into zeros, so that the code below
 * reads like the file. Unknown fields are skipped: an older plumb reads what a newer one appended.
 */
#include "trace/timing_read.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/u128.h"

struct cursor {
    struct plumb_timing *t;
    const char *name;
    bool failed;
    plumb_error *err;
    char place[64]; /* "nodes[3]": the list entry being read */
};

static void fault(struct cursor *c, const char *key, const char *what)
{
    if (c->failed)
        return;
    c->failed = true;
    plumb_fail(c->err, PLUMB_ERR_FORMAT, "'%s' is damaged: %s%s%s %s", c->name, c->place,
               c->place[0] && key[0] ? "." : "", key, what);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The writer spells a byte that is not UTF-8 as \xHH; here it becomes that byte again. */
static const char *own_text(struct cursor *c, const char *text)
{
    char *copy = plumb_arena_strdup(&c->t->arena, text);
    char *to = copy;
    if (!copy)
        return NULL;
    for (const char *p = copy; *p;) {
        if (p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0 &&
            hex_digit(p[2]) + hex_digit(p[3]) > 0) {
            *to++ = (char)(16 * hex_digit(p[2]) + hex_digit(p[3]));
            p += 4;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
    return copy;
}

/* A string or null. */
static const char *get_text(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (json_is_string(v))
        return own_text(c, json_string_value(v));
    if (v && !json_is_null(v))
        fault(c, key, "is not a string");
    return NULL;
}

static const char *get_name(struct cursor *c, const json_t *object, const char *key)
{
    const char *text = get_text(c, object, key);
    if (!text && !c->t->arena.failed)
        fault(c, key, "is missing");
    return text ? text : "";
}

static bool parse_decimal(const char *text, plumb_u128 *out)
{
    plumb_u128 value = 0;
    const plumb_u128 max = ~(plumb_u128)0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        unsigned digit = (unsigned)(*text - '0');
        if (value > (max - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}

static uint64_t to_u64(struct cursor *c, const json_t *v, const char *key)
{
    plumb_u128 wide = 0;
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        return (uint64_t)json_integer_value(v);
    if (json_is_string(v) && parse_decimal(json_string_value(v), &wide) && wide <= UINT64_MAX)
        return (uint64_t)wide;
    fault(c, key, v ? "is not a whole number from 0 to 2^64-1" : "is missing");
    return 0;
}

static uint64_t get_u64(struct cursor *c, const json_t *object, const char *key)
{
    return to_u64(c, json_object_get(object, key), key);
}

static uint32_t get_u32(struct cursor *c, const json_t *object, const char *key)
{
    uint64_t v = get_u64(c, object, key);
    if (v > UINT32_MAX)
        fault(c, key, "is too large");
    return (uint32_t)v;
}

/* A number; null stands for what JSON lacks. */
static double get_f64(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (json_is_number(v))
        return json_number_value(v);
    if (!json_is_null(v))
        fault(c, key, v ? "is not a number" : "is missing");
    return 0;
}

static bool get_bool(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (v && !json_is_boolean(v))
        fault(c, key, "is not true or false");
    return json_is_true(v);
}

static int32_t get_known(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!v || json_is_null(v))
        return -1;
    uint64_t n = to_u64(c, v, key);
    if (n > INT32_MAX)
        fault(c, key, "is too large");
    return (int32_t)n;
}

static const json_t *get_object(struct cursor *c, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_object(v))
        fault(c, key, v ? "is not an object" : "is missing");
    return v;
}

/* The array `key` and memory for as many elements of `size` bytes. */
static const json_t *get_array(struct cursor *c, const json_t *object, const char *key, size_t size,
                               void *elements, size_t *count)
{
    const json_t *v = json_object_get(object, key);
    void *memory;
    *count = 0;
    if (!json_is_array(v)) {
        fault(c, key, v ? "is not a list" : "is missing");
        return NULL;
    }
    if (json_array_size(v) == 0)
        return v;
    if (!(memory = plumb_arena_alloc(&c->t->arena, json_array_size(v) * size))) {
        c->failed = true;
        plumb_fail(c->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", c->name);
        return NULL;
    }
    memcpy(elements, &memory, sizeof memory);
    *count = json_array_size(v);
    return v;
}

/* Entry `i` of a list of objects. */
static const json_t *entry(struct cursor *c, const json_t *list, const char *key, size_t i)
{
    const json_t *v = json_array_get(list, i);
    snprintf(c->place, sizeof c->place, "%s[%zu]", key, i);
    if (!json_is_object(v))
        fault(c, "", "is not an object");
    return v;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void read_first(struct cursor *c, const json_t *object, struct plumb_stats *s)
{
    const json_t *v = json_object_get(object, "first_ns");
    size_t want = s->count <= PLUMB_EXACT ? (size_t)s->count : 0;
    if (json_array_size(v) != want) {
        fault(c, "first_ns", "does not hold the samples that 'count' promises");
        return;
    }
    for (size_t i = 0; i < want; i++)
        s->first[i] = to_u64(c, json_array_get(v, i), "first_ns");
}

static void read_sketch(struct cursor *c, const json_t *object, struct plumb_timing_channel *out)
{
    size_t n;
    uint64_t mass = 0;
    const json_t *list = get_array(c, object, "sketch", sizeof *out->buckets, &out->buckets, &n);
    for (size_t i = 0; i < n && !c->failed; i++) {
        const json_t *pair = json_array_get(list, i);
        const json_t *value = json_array_get(pair, 0);
        out->buckets[i].value = json_number_value(value);
        out->buckets[i].count = to_u64(c, json_array_get(pair, 1), "sketch");
        if (!json_is_number(value) || json_array_size(pair) != 2)
            fault(c, "sketch", "holds something that is not a pair of numbers");
        else if (i > 0 && out->buckets[i].value <= out->buckets[i - 1].value)
            fault(c, "sketch", "is not in ascending order");
        mass += out->buckets[i].count;
    }
    out->bucket_count = n;
    if (mass != out->ns.count)
        fault(c, "sketch", "does not hold as many samples as 'count' says");
}

static void read_channel(struct cursor *c, const json_t *object, struct plumb_timing_channel *out)
{
    struct plumb_stats *s = &out->ns;
    const json_t *squares = json_object_get(object, "sumsq_ns2");
    plumb_u128 sum = 0;
    plumb_stats_init(s);
    s->count = get_u64(c, object, "count");
    s->total = get_u64(c, object, "total_ns");
    if (!json_is_string(squares) || !parse_decimal(json_string_value(squares), &sum))
        fault(c, "sumsq_ns2", "is not a string of decimal digits");
    s->sq_lo = (uint64_t)sum;
    s->sq_hi = (uint64_t)(sum >> 64);
    uint64_t min = get_u64(c, object, "min_ns");
    s->min = s->count ? min : UINT64_MAX;
    s->max = get_u64(c, object, "max_ns");
    s->last = get_u64(c, object, "last_ns");
    s->last_at = get_u64(c, object, "last_at_ns");
    if (s->count && s->min > s->max)
        fault(c, "min_ns", "is larger than max_ns");
    out->median_ns = get_f64(c, object, "median_ns");
    out->p50_ns = get_f64(c, object, "p50_ns");
    out->p90_ns = get_f64(c, object, "p90_ns");
    out->p95_ns = get_f64(c, object, "p95_ns");
    out->p99_ns = get_f64(c, object, "p99_ns");
    read_first(c, object, s);
    read_sketch(c, object, out);
}

static uint32_t get_estimator(struct cursor *c, const json_t *object)
{
    const json_t *v = json_object_get(object, "median_estimator");
    const char *name = json_is_string(v) ? json_string_value(v) : "";
    for (uint32_t i = PLUMB_MEDIAN_SKETCH; i <= PLUMB_MEDIAN_EXACT; i++)
        if (strcmp(name, plumb_timing_estimator_name(i)) == 0)
            return i;
    fault(c, "median_estimator", "is none that this plumb knows");
    return PLUMB_MEDIAN_SKETCH;
}

static void read_sites(struct cursor *c, const json_t *object, struct plumb_timing_node *node)
{
    size_t n;
    const json_t *list = get_array(c, object, "sites", sizeof *node->sites, &node->sites, &n);
    for (size_t i = 0; i < n && !c->failed; i++) {
        const json_t *site = json_array_get(list, i);
        node->sites[i].file = get_text(c, site, "file");
        node->sites[i].line = get_u32(c, site, "line");
    }
    node->site_count = n;
}

static void read_node(struct cursor *c, const json_t *object, struct plumb_timing_node *node)
{
    node->pipeline = get_name(c, object, "pipeline");
    node->phase = get_name(c, object, "phase");
    node->name = get_name(c, object, "name");
    node->stage = get_bool(c, object, "stage");
    node->skipped = get_u64(c, object, "skipped");
    node->failures = get_u64(c, object, "failures");
    node->last_failure = get_text(c, object, "last_failure");
    node->abandoned = get_u64(c, object, "abandoned");
    node->unbalanced = get_u64(c, object, "unbalanced");
    node->median_estimator = get_estimator(c, object);
    node->threads = get_u32(c, object, "threads");
    node->self_ns = get_u64(c, object, "self_ns");
    node->outermost_ns = get_u64(c, object, "outermost_ns");
    node->outermost_count = get_u64(c, object, "outermost_count");
    read_channel(c, object, &node->host);
    read_channel(c, get_object(c, object, "device"), &node->device);
    read_sites(c, object, node);
}

static void read_nodes(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *list = get_array(c, root, "nodes", sizeof *t->nodes, &t->nodes, &t->node_count);
    for (size_t i = 0; i < t->node_count && !c->failed; i++)
        read_node(c, entry(c, list, "nodes", i), &t->nodes[i]);
    c->place[0] = '\0';
}

/* ---- The other lists ------------------------------------------------------------------------- */

static void read_tree(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *list = get_array(c, root, "tree", sizeof *t->tree, &t->tree, &t->tree_count);
    for (size_t i = 0; i < t->tree_count && !c->failed; i++) {
        const json_t *object = entry(c, list, "tree", i);
        bool has_parent = !json_is_null(json_object_get(object, "parent"));
        struct plumb_timing_tree *place = &t->tree[i];
        place->parent = has_parent ? get_u32(c, object, "parent") : PLUMB_TIMING_NONE;
        place->node = get_u32(c, object, "node");
        place->count = get_u64(c, object, "count");
        place->total_ns = get_u64(c, object, "total_ns");
        place->self_ns = get_u64(c, object, "self_ns");
        place->async = get_bool(c, object, "async");
        if (has_parent && place->parent >= i)
            fault(c, "parent", "does not stand before its children");
        if (place->node >= t->node_count)
            fault(c, "node", "is not in 'nodes'");
    }
    c->place[0] = '\0';
}

static void read_counts(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *list =
        get_array(c, root, "counts", sizeof *t->counts, &t->counts, &t->count_count);
    for (size_t i = 0; i < t->count_count && !c->failed; i++) {
        const json_t *object = entry(c, list, "counts", i);
        const json_t *total = json_object_get(object, "total");
        t->counts[i].pipeline = get_name(c, object, "pipeline");
        t->counts[i].name = get_name(c, object, "name");
        t->counts[i].total = json_integer_value(total);
        t->counts[i].events = get_u64(c, object, "events");
        if (!json_is_integer(total))
            fault(c, "total", "is not a whole number");
    }
    c->place[0] = '\0';
}

static void read_open(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *list = get_array(c, root, "open", sizeof *t->open, &t->open, &t->open_count);
    for (size_t i = 0; i < t->open_count && !c->failed; i++) {
        const json_t *object = entry(c, list, "open", i);
        t->open[i].node = get_name(c, object, "node");
        t->open[i].phase = get_name(c, object, "phase");
        t->open[i].tid = get_u32(c, object, "tid");
        t->open[i].depth = get_u32(c, object, "depth");
        t->open[i].age_ns = get_u64(c, object, "age_ns");
    }
    c->place[0] = '\0';
}

static void read_notes(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *list = get_array(c, root, "notes", sizeof *t->notes, &t->notes, &t->note_count);
    for (size_t i = 0; i < t->note_count && !c->failed; i++) {
        const json_t *note = json_array_get(list, i);
        t->notes[i] = json_is_string(note) ? own_text(c, json_string_value(note)) : NULL;
        if (!json_is_string(note))
            fault(c, "notes", "holds something that is not a string");
    }
}

static void read_environment(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *object = get_object(c, root, "environment");
    size_t n = json_object_size(object);
    const char *key;
    json_t *value;
    if (c->failed || n == 0)
        return;
    if (!(t->env = plumb_arena_alloc(&t->arena, n * sizeof *t->env)))
        return;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        t->env[t->env_count].key = own_text(c, key);
        t->env[t->env_count].value = get_text(c, object, key);
        t->env_count++;
    }
}

/* ---- The run --------------------------------------------------------------------------------- */

static void read_drops(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *object = get_object(c, root, "drops");
    t->drops.other_nodes = get_u64(c, object, "other_nodes");
    t->drops.other_state = get_u64(c, object, "other_state");
    t->drops.lost_state = get_u64(c, object, "lost_state");
    t->drops.too_deep = get_u64(c, object, "too_deep");
    t->drops.async = get_u64(c, object, "async");
    t->drops.reentrant = get_u64(c, object, "reentrant");
    t->drops.unbalanced = get_u64(c, object, "unbalanced");
    t->drops.stale = get_u64(c, object, "stale");
    t->drops.tree = get_u64(c, object, "tree");
}

static void read_measuring(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *object = get_object(c, root, "clock");
    t->clock.source = get_text(c, object, "source");
    t->clock.tick_ns = get_f64(c, object, "tick_ns");
    t->clock.resolution_ns = get_f64(c, object, "resolution_ns");
    t->clock.drift_ppm = get_f64(c, object, "drift_ppm");
    object = get_object(c, root, "overhead");
    t->overhead.span_ns = get_f64(c, object, "span_ns");
    t->overhead.spans = get_u64(c, object, "spans");
    t->overhead.total_ns = get_f64(c, object, "total_ns");
}

static void read_machine(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *object;
    t->host = get_text(c, root, "host");
    t->cpu = get_text(c, root, "cpu");
    t->cpus = get_u32(c, root, "cpus");
    t->kernel = get_text(c, root, "kernel");
    t->plumb_version = get_text(c, get_object(c, root, "versions"), "plumb");
    object = get_object(c, root, "rank");
    t->rank = get_known(c, object, "rank");
    t->world_size = get_known(c, object, "world_size");
    t->local_rank = get_known(c, object, "local_rank");
    t->rank_source = get_text(c, object, "source");
}

static void read_head(struct cursor *c, const json_t *root)
{
    struct plumb_timing *t = c->t;
    const json_t *object = get_object(c, root, "metadata");
    t->request_id = get_text(c, root, "request_id");
    t->pipeline = get_text(c, object, "pipeline");
    t->program = get_text(c, object, "program");
    t->command = get_text(c, object, "command");
    t->pid = get_u32(c, object, "pid");
    t->recovered = get_bool(c, root, "recovered");
    t->start_unix_ns = get_u64(c, root, "start_unix_ns");
    t->end_unix_ns = get_u64(c, root, "end_unix_ns");
    t->wall_clock_ns = get_u64(c, root, "wall_clock_ns");
    t->skip_first_n = get_u64(c, root, "skip_first_n");
}

static int check_kind(const json_t *root, const char *name, plumb_error *err)
{
    const json_t *format = json_object_get(root, "format");
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_string(format) || strcmp(json_string_value(format), PLUMB_TIMING_FORMAT) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is no timing report of plumb (its \"format\" is not \"%s\")", name,
                          PLUMB_TIMING_FORMAT);
    if (!json_is_integer(schema) || json_integer_value(schema) < 1)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: schema is missing", name);
    if (json_integer_value(schema) > PLUMB_TIMING_SCHEMA)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "'%s' was written by a newer plumb (schema %lld; this one reads up to %d)", name,
            (long long)json_integer_value(schema), PLUMB_TIMING_SCHEMA);
    return PLUMB_OK;
}

static int read_root(struct plumb_timing *t, const json_t *root, const char *name, plumb_error *err)
{
    struct cursor c = {.t = t, .name = name, .err = err};
    read_head(&c, root);
    read_nodes(&c, root);
    read_tree(&c, root);
    read_counts(&c, root);
    read_open(&c, root);
    read_drops(&c, root);
    read_notes(&c, root);
    read_measuring(&c, root);
    read_machine(&c, root);
    read_environment(&c, root);
    if (t->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    return c.failed ? PLUMB_ERR_FORMAT : PLUMB_OK;
}

int plumb_timing_parse(struct plumb_timing *out, const char *text, size_t size, const char *name,
                       plumb_error *err)
{
    struct plumb_timing t;
    json_error_t why;
    int rc;
    plumb_timing_init(&t);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not valid JSON: line %d: %s", name,
                        why.line, why.text);
        goto out;
    }
    if ((rc = check_kind(root, name, err)) < 0 || (rc = read_root(&t, root, name, err)) < 0)
        goto out;
    *out = t;
    plumb_timing_init(&t);
out:
    json_decref(root);
    plumb_timing_fini(&t);
    return rc;
}

static int read_all(struct plumb_buf *text, const char *path, plumb_error *err)
{
    char chunk[65536];
    size_t n;
    int rc = PLUMB_OK;
    FILE *file = fopen(path, "rb");
    if (!file)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot read '%s': %s", path, strerror(errno));
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        plumb_buf_append(text, chunk, n);
    if (ferror(file))
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (text->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
    fclose(file);
    return rc;
}

int plumb_timing_read(struct plumb_timing *out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = read_all(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_timing_parse(out, text.data ? text.data : "", text.len, path, err);
    plumb_buf_fini(&text);
    return rc;
}
