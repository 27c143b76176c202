/* rules.c: reads the file of rules. Lines are cut here, and keys are looked up in one table; what a
 * value means is the business of the function that the table names. A rule is checked as a whole
 * when its block ends, because its keys may come in any order. */
#include "analyze/gate/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"

enum { LINE_MAX_BYTES = 4096, RULES_MAX = 10000, LIMITS_MAX = 64 };

/* A limit can be read only when the metric is known, which may come after it. */
struct pending {
    const char *device, *text;
    uint32_t line;
};

struct parser {
    struct plumb_gate_rules *out;
    struct plumb_gate_rule *rule; /* whose block is open; NULL: none yet */
    uint32_t line;
    uint64_t seen;         /* keys of the block */
    uint32_t key_line[16]; /* where each stands */
    struct pending limits[LIMITS_MAX];
    size_t limit_count;
    const char *floor_text;
    char why[PLUMB_GATE_WHY];
    plumb_error *err;
};

static int fault(struct parser *p, uint32_t line, const char *what)
{
    return plumb_fail(p->err, PLUMB_ERR_FORMAT, "%s:%u: %s", p->out->path, line, what);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Each returns what is wrong with the value, or NULL. */
static const char *take_metric(struct parser *p, char *value)
{
    struct plumb_nearest n = plumb_nearest_start(value);
    p->rule->metric = plumb_gate_metric_find(value);
    if (p->rule->metric)
        return NULL;
    for (size_t i = 0; plumb_gate_metric(i); i++)
        plumb_nearest_offer(&n, plumb_gate_metric(i)->name);
    snprintf(p->why, sizeof p->why, "unknown metric '%.60s'%s%s%s", value,
             n.best ? ": did you mean '" : " ('plumb gate --metrics' lists them)",
             n.best ? n.best : "", n.best ? "'?" : "");
    return p->why;
}

static const char *take_node(struct parser *p, char *value)
{
    p->rule->node = value;
    return NULL;
}

static const char *take_phase(struct parser *p, char *value)
{
    p->rule->phase = value;
    return NULL;
}

static const char *take_name(struct parser *p, char *value)
{
    p->rule->count_name = value;
    return NULL;
}

static const char *take_step(struct parser *p, char *value)
{
    plumb_error err = {0, ""};
    p->rule->step_text = value;
    if (plumb_step_list_parse(&p->rule->steps, value, &err) == PLUMB_OK)
        return NULL;
    snprintf(p->why, sizeof p->why, "%s", err.message);
    return p->why;
}

static const char *take_per(struct parser *p, char *value)
{
    p->rule->per_call = strcmp(value, "call") == 0;
    return p->rule->per_call || strcmp(value, "run") == 0
               ? NULL
               : "'per' is 'call' or 'run' (the default)";
}

static const char *take_command(struct parser *p, char *value)
{
    p->rule->command = value;
    return NULL;
}

static const char *take_limit(struct parser *p, char *value)
{
    if (p->limit_count == LIMITS_MAX)
        return "a rule has at most 64 limits";
    p->limits[p->limit_count++] = (struct pending){NULL, value, p->line};
    return NULL;
}

static const char *take_old(struct parser *p, char *value)
{
    if (strcmp(value, "given") == 0) {
        p->rule->old = PLUMB_GATE_OLD_GIVEN;
    } else if (strcmp(value, "history") == 0) {
        p->rule->old = PLUMB_GATE_OLD_HISTORY;
    } else if (strncmp(value, "node ", 5) == 0 && value[5 + strspn(value + 5, " \t")]) {
        p->rule->old = PLUMB_GATE_OLD_NODE;
        p->rule->old_node = value + 5 + strspn(value + 5, " \t");
    } else {
        return "'old' is 'given' (the default), 'history' or 'node NAME'";
    }
    return NULL;
}

static const char *take_floor(struct parser *p, char *value)
{
    p->floor_text = value;
    return NULL;
}

static const char *take_rounds(struct parser *p, char *value)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (*end || value[strspn(value, "0123456789")] || n < 6 || n > 100000)
        return "'rounds' is a whole number from 6 to 100000";
    p->rule->rounds = (uint32_t)n;
    return NULL;
}

static const char *take_missing(struct parser *p, char *value)
{
    bool skip = strcmp(value, "skip") == 0;
    p->rule->missing = skip ? PLUMB_GATE_MISSING_SKIP : PLUMB_GATE_MISSING_UNKNOWN;
    return skip || strcmp(value, "inconclusive") == 0
               ? NULL
               : "'missing' is 'inconclusive' (the default) or 'skip'";
}

static const char *take_why(struct parser *p, char *value)
{
    p->rule->why = value;
    return NULL;
}

static const struct key {
    const char *name;
    const char *(*take)(struct parser *p, char *value);
} keys[] = {
    {"metric", take_metric},   {"node", take_node},     {"phase", take_phase},
    {"step", take_step},       {"name", take_name},     {"per", take_per},
    {"command", take_command}, {"limit", take_limit},   {"old", take_old},
    {"floor", take_floor},     {"rounds", take_rounds}, {"missing", take_missing},
    {"why", take_why},
};
enum { KEYS = sizeof keys / sizeof *keys };
enum {
    KEY_METRIC,
    KEY_NODE,
    KEY_PHASE,
    KEY_STEP,
    KEY_NAME,
    KEY_PER,
    KEY_COMMAND,
    KEY_LIMIT,
    KEY_OLD,
    KEY_FLOOR
};

static bool has(const struct parser *p, int key)
{
    return p->seen >> key & 1;
}

/* ---- A rule as a whole ----------------------------------------------------------------------- */

static const struct {
    int key;
    uint32_t selector;
} selectors[] = {{KEY_NODE, PLUMB_GATE_NODE}, {KEY_PHASE, PLUMB_GATE_PHASE},
                 {KEY_STEP, PLUMB_GATE_STEP}, {KEY_NAME, PLUMB_GATE_NAME},
                 {KEY_PER, PLUMB_GATE_PER},   {KEY_COMMAND, PLUMB_GATE_COMMAND}};
enum { SELECTORS = sizeof selectors / sizeof *selectors };

static int check_selectors(struct parser *p)
{
    const struct plumb_gate_metric *m = p->rule->metric;
    char what[PLUMB_GATE_WHY];
    for (size_t i = 0; i < SELECTORS; i++) {
        int key = selectors[i].key;
        if (has(p, key) && !(m->takes & selectors[i].selector)) {
            snprintf(what, sizeof what, "metric '%s' has no '%s', so nothing can match", m->name,
                     keys[key].name);
            return fault(p, p->key_line[key], what);
        }
        if (!has(p, key) && m->needs & selectors[i].selector) {
            snprintf(what, sizeof what, "rule '%.80s': metric '%s' needs '%s'", p->rule->name,
                     m->name, keys[key].name);
            return fault(p, p->rule->line, what);
        }
    }
    if (m->needs & PLUMB_GATE_NAME && !has(p, KEY_NODE))
        p->rule->node = "*"; /* figures of two benchmarks are not samples of one */
    if (has(p, KEY_PHASE) && !has(p, KEY_NODE))
        return fault(p, p->key_line[KEY_PHASE],
                     "'phase' without 'node': the whole run has no phase");
    if (has(p, KEY_STEP) && !has(p, KEY_NODE))
        return fault(p, p->key_line[KEY_STEP], "'step' without 'node': the whole run has no step");
    if (!p->rule->per_call)
        return PLUMB_OK;
    if (!has(p, KEY_NODE)) /* its runs would be those of any node */
        return fault(p, p->key_line[KEY_PER], "'per = call' without 'node': a run is one call");
    if (has(p, KEY_STEP))
        return fault(p, p->key_line[KEY_PER],
                     "'per = call' with 'step': how often a node ran in a step is not recorded");
    return PLUMB_OK;
}

static int read_limit(struct parser *p, const struct pending *from, struct plumb_gate_limit *to)
{
    const char *wrong;
    *to = (struct plumb_gate_limit){.device = from->device, .text = from->text, .line = from->line};
    wrong = plumb_gate_limit_parse(to, from->text, p->rule->metric->quantity, p->why);
    if (wrong)
        return fault(p, from->line, wrong);
    for (size_t i = 0; i < to->bounds; i++) {
        p->rule->compares |= to->bound[i].of_old > 0;
        if (p->rule->per_call && to->bound[i].of_old > 0)
            return fault(p, from->line,
                         "'per = call' takes a fixed limit: counts are never divided");
        if (p->rule->per_call && !to->bound[i].whole)
            return fault(p, from->line, "'per = call' takes a whole number as limit");
    }
    return PLUMB_OK;
}

/* The first limit whose text a machine's name has is used: a text that has that of an earlier limit
 * in it never is. */
static int check_reached(struct parser *p, size_t i)
{
    const char *device = p->limits[i].device;
    char what[PLUMB_GATE_WHY];
    for (size_t k = 0; k < i; k++) {
        const char *earlier = p->limits[k].device;
        if (!device || !earlier || !strstr(device, earlier))
            continue;
        if (strcmp(device, earlier) == 0)
            return fault(p, p->limits[i].line, "this limit stands twice in the rule");
        snprintf(what, sizeof what,
                 "'limit on %.80s' is never used: that on '%.80s' in line %u comes first", device,
                 earlier, p->limits[k].line);
        return fault(p, p->limits[i].line, what);
    }
    return PLUMB_OK;
}

static int check_limits(struct parser *p)
{
    struct plumb_gate_rule *rule = p->rule;
    char what[PLUMB_GATE_WHY];
    if (p->limit_count == 0) {
        snprintf(what, sizeof what, "rule '%.80s' has no 'limit'", rule->name);
        return fault(p, rule->line, what);
    }
    rule->limits = plumb_arena_alloc(&p->out->arena, p->limit_count * sizeof *rule->limits);
    if (!rule->limits)
        return plumb_fail(p->err, PLUMB_ERR_MEMORY, "no memory for the rules of '%s'",
                          p->out->path);
    rule->limit_count = p->limit_count;
    for (size_t i = 0; i < p->limit_count; i++) {
        int rc = read_limit(p, &p->limits[i], &rule->limits[i]);
        if (rc < 0)
            return rc;
        if ((rc = check_reached(p, i)) < 0)
            return rc;
    }
    if (has(p, KEY_OLD) && !rule->compares)
        return fault(p, p->key_line[KEY_OLD], "'old' is not used: no limit names it");
    return PLUMB_OK;
}

static int check_floor(struct parser *p)
{
    const char *end;
    if (!p->floor_text)
        return PLUMB_OK;
    if (!p->rule->compares)
        return fault(p, p->key_line[KEY_FLOOR],
                     "'floor' is a change from 'old', which no limit names");
    end = plumb_gate_amount(&p->rule->floor, NULL, p->floor_text, p->rule->metric->quantity);
    if (end && !end[strspn(end, " \t")])
        return PLUMB_OK;
    return fault(p, p->key_line[KEY_FLOOR],
                 "'floor' is an amount with the unit of the metric, as 0.5 s or 256 MB");
}

/* A rule against the history names a figure that its records have. */
static int check_history(struct parser *p)
{
    const struct plumb_gate_metric *m = p->rule->metric;
    char what[PLUMB_GATE_WHY];
    if (p->rule->old != PLUMB_GATE_OLD_HISTORY)
        return PLUMB_OK;
    if (has(p, KEY_STEP))
        return fault(p, p->key_line[KEY_STEP], "the history keeps no single steps");
    if (m->kept)
        return PLUMB_OK;
    snprintf(what, sizeof what, "the history keeps no '%s': of nodes it has 'time', the median",
             m->name);
    return fault(p, p->key_line[KEY_OLD], what);
}

static int end_block(struct parser *p)
{
    char what[PLUMB_GATE_WHY];
    int rc;
    if (!p->rule)
        return PLUMB_OK;
    if (!p->rule->metric) {
        snprintf(what, sizeof what, "rule '%.80s' has no 'metric'", p->rule->name);
        return fault(p, p->rule->line, what);
    }
    rc = check_selectors(p);
    if (rc == PLUMB_OK)
        rc = check_limits(p);
    if (rc == PLUMB_OK)
        rc = check_history(p);
    return rc == PLUMB_OK ? check_floor(p) : rc;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Without blanks at both ends, in place. */
static char *trim(char *text)
{
    char *end;
    text += strspn(text, " \t");
    end = text + strlen(text);
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return text;
}

static int begin_block(struct parser *p, char *line)
{
    struct plumb_gate_rules *out = p->out;
    size_t n = strlen(line);
    char what[PLUMB_GATE_WHY];
    struct plumb_gate_rule *grown;
    int rc = end_block(p);
    if (rc < 0)
        return rc;
    if (line[n - 1] != ']')
        return fault(p, p->line, "a rule begins with its name in brackets: [NAME]");
    line[n - 1] = '\0';
    line = trim(line + 1);
    if (!*line)
        return fault(p, p->line, "a rule needs a name: [NAME]");
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->rules[i].name, line) == 0) {
            snprintf(what, sizeof what, "the rule '%.80s' stands in line %u too", line,
                     out->rules[i].line);
            return fault(p, p->line, what);
        }
    if (out->count == RULES_MAX)
        return fault(p, p->line, "a file has at most 10000 rules");
    grown = plumb_arena_grow(&out->arena, out->rules, &out->cap, out->count + 1, sizeof *grown);
    if (!grown)
        return plumb_fail(p->err, PLUMB_ERR_MEMORY, "no memory for the rules of '%s'", out->path);
    out->rules = grown;
    p->rule = &grown[out->count++];
    *p->rule = (struct plumb_gate_rule){.name = line, .line = p->line};
    p->seen = 0;
    p->limit_count = 0;
    p->floor_text = NULL;
    return PLUMB_OK;
}

static int unknown_key(struct parser *p, const char *name)
{
    struct plumb_nearest n = plumb_nearest_start(name);
    char what[PLUMB_GATE_WHY];
    for (size_t i = 0; i < KEYS; i++)
        plumb_nearest_offer(&n, keys[i].name);
    snprintf(what, sizeof what, "unknown key '%.60s'%s%s%s", name, n.best ? ": did you mean '" : "",
             n.best ? n.best : "", n.best ? "'?" : "");
    return fault(p, p->line, what);
}

/* Returns the key's place, KEYS if there is none of that name. Two calls, with a literal and with a
 * text, are not one call with either: gcc 12 at -O3 takes the literal's length for that of both. */
static size_t key_of(const char *name)
{
    size_t i = 0;
    while (i < KEYS && strcmp(keys[i].name, name) != 0)
        i++;
    return i;
}

/* "limit on H100": the device; NULL: another key. */
static const char *device_of(char *key)
{
    if (strncmp(key, "limit", 5) != 0 || !strchr(" \t", key[5]) || !key[5])
        return NULL;
    key = trim(key + 5);
    return strncmp(key, "on ", 3) == 0 ? trim(key + 3) : NULL;
}

static int take_entry(struct parser *p, char *line)
{
    char *value = strchr(line, '=');
    const char *device, *wrong;
    size_t i;
    char what[PLUMB_GATE_WHY];
    if (!value)
        return fault(p, p->line, "expected [NAME], KEY = VALUE or # COMMENT");
    *value++ = '\0';
    line = trim(line);
    value = trim(value);
    if (!p->rule)
        return fault(p, p->line, "a key stands before the first rule: begin with [NAME]");
    if (!*value)
        return fault(p, p->line, "the value is empty");
    device = device_of(line);
    i = device ? key_of("limit") : key_of(line);
    if (i == KEYS)
        return unknown_key(p, line);
    if (!device && has(p, (int)i)) {
        snprintf(what, sizeof what, "'%s' stands in line %u of this rule too", line,
                 p->key_line[i]);
        return fault(p, p->line, what);
    }
    if (!device) {
        p->seen |= UINT64_C(1) << i;
        p->key_line[i] = p->line;
    }
    wrong = keys[i].take(p, value);
    if (wrong)
        return fault(p, p->line, wrong);
    if (device)
        p->limits[p->limit_count - 1].device = device;
    return PLUMB_OK;
}

static int take_line(struct parser *p, char *line, size_t size)
{
    if (size > 0 && line[size - 1] == '\r')
        line[--size] = '\0';
    if (memchr(line, '\0', size))
        return fault(p, p->line, "a zero byte: this is not a text file");
    if (size > LINE_MAX_BYTES)
        return fault(p, p->line, "the line is longer than 4096 bytes");
    if (!plumb_utf8_valid(line)) /* it would match nothing, and a reviewer could not see why */
        return fault(p, p->line, "the line is not UTF-8: save the file as UTF-8");
    line = trim(line);
    if (!*line || *line == '#')
        return PLUMB_OK;
    return *line == '[' ? begin_block(p, line) : take_entry(p, line);
}

static int parse_lines(struct parser *p, char *text, size_t size)
{
    char *end = text + size;
    int rc = PLUMB_OK;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end && rc == PLUMB_OK) {
        char *next = memchr(text, '\n', (size_t)(end - text));
        char *stop = next ? next : end;
        p->line++;
        *stop = '\0';
        rc = take_line(p, text, (size_t)(stop - text));
        text = stop + 1;
    }
    return rc == PLUMB_OK ? end_block(p) : rc;
}

int plumb_gate_rules_parse(struct plumb_gate_rules *out, const char *text, size_t size,
                           const char *path, plumb_error *err)
{
    struct plumb_gate_rules rules = {.count = 0};
    struct parser p = {.out = &rules, .err = err};
    char *copy = plumb_arena_alloc(&rules.arena, size + 1);
    int rc;
    rules.path = plumb_arena_strdup(&rules.arena, path);
    if (!copy || !rules.path) {
        plumb_arena_fini(&rules.arena);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the rules of '%s'", path);
    }
    memcpy(copy, text, size);
    rc = parse_lines(&p, copy, size);
    if (rc == PLUMB_OK && rules.count == 0)
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "%s:1: there are no rules", path);
    if (rc < 0) {
        plumb_arena_fini(&rules.arena);
        return rc;
    }
    *out = rules;
    return PLUMB_OK;
}

void plumb_gate_rules_fini(struct plumb_gate_rules *rules)
{
    plumb_arena_fini(&rules->arena);
    *rules = (struct plumb_gate_rules){.count = 0};
}
