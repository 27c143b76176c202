/* rename.c: see rename.h. */
#include "analyze/diverge/rename.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MAX_GROUPS = 10, MAX_NAME = 1 << 16 };

void plumb_rename_init(struct plumb_rename *r)
{
    *r = (struct plumb_rename){0};
}

void plumb_rename_fini(struct plumb_rename *r)
{
    for (size_t i = 0; i < r->rule_count; i++)
        regfree(&r->rules[i].regex);
    plumb_map_fini(&r->by_name);
    plumb_arena_fini(&r->arena);
    *r = (struct plumb_rename){0};
}

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the map of names");
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static const char *class_of(char letter)
{
    return letter == 'd'   ? "[:digit:]"
           : letter == 'w' ? "[:alnum:]_"
           : letter == 's' ? "[:space:]"
                           : NULL;
}

/* \d, \w and \s as POSIX spells them, inside brackets and outside. */
static void put_posix(struct plumb_buf *out, const char *pattern)
{
    bool inside = false;
    for (const char *p = pattern; *p; p++) {
        const char *class = *p == '\\' && p[1] ? class_of(p[1]) : NULL;
        if (class) {
            plumb_buf_printf(out, inside ? "%s" : "[%s]", class);
            p++;
        } else if (*p == '\\' && p[1] && !inside) {
            plumb_buf_append(out, p++, 2);
        } else {
            /* "[]" and "[^]" have the bracket for a character. */
            bool opens = !inside && *p == '[';
            plumb_buf_char(out, *p);
            if (opens && p[1] == '^')
                plumb_buf_char(out, *++p);
            if (opens && p[1] == ']')
                plumb_buf_char(out, *++p);
            inside = opens || (inside && *p != ']');
        }
    }
}

/* The part up to the next `separator`; a backslash before one takes it along. NULL: it has no end.
 */
static char *take_part(struct plumb_rename *r, const char **at, char separator)
{
    struct plumb_buf part = {0};
    const char *p = *at;
    plumb_buf_str(&part, "");
    while (*p && *p != separator) {
        if (*p == '\\' && p[1] == separator)
            p++;
        else if (*p == '\\' && p[1])
            plumb_buf_char(&part, *p++);
        plumb_buf_char(&part, *p++);
    }
    char *text = *p && !part.failed ? plumb_arena_strdup(&r->arena, part.data) : NULL;
    r->arena.failed |= part.failed;
    plumb_buf_fini(&part);
    *at = *p ? p + 1 : p;
    return text;
}

static int compile(struct plumb_rename_rule *rule, const char *pattern, const char *text,
                   plumb_error *err)
{
    struct plumb_buf posix = {0};
    char why[128];
    plumb_buf_str(&posix, "");
    put_posix(&posix, pattern);
    if (posix.failed) {
        plumb_buf_fini(&posix);
        return no_memory(err);
    }
    int code = regcomp(&rule->regex, posix.data, REG_EXTENDED);
    plumb_buf_fini(&posix);
    if (code == 0)
        return PLUMB_OK;
    regerror(code, &rule->regex, why, sizeof why);
    return plumb_fail(err, PLUMB_ERR_ARG, "the map '%s' has a bad expression: %s", text, why);
}

/* A replacement must not speak of a group that the expression lacks. */
static int check_groups(const struct plumb_rename_rule *rule, const char *text, plumb_error *err)
{
    for (const char *p = rule->with; *p; p++)
        if (*p == '\\' && *++p && isdigit((unsigned char)*p) &&
            (size_t)(*p - '0') > rule->regex.re_nsub)
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "the map '%s' names group \\%c, but its expression has %zu", text, *p,
                              rule->regex.re_nsub);
    return PLUMB_OK;
}

static int add_expression(struct plumb_rename *r, const char *text, plumb_error *err)
{
    const char *at = text + 2;
    struct plumb_rename_rule rule = {.with = NULL};
    const char *pattern = take_part(r, &at, text[1]);
    rule.with = pattern ? take_part(r, &at, text[1]) : NULL;
    if (r->arena.failed)
        return no_memory(err);
    rule.everywhere = *at == 'g';
    rule.labelled = pattern && strchr(pattern, ' ') != NULL;
    if (!rule.with || at[rule.everywhere] != '\0' || !pattern[0])
        return plumb_fail(
            err, PLUMB_ERR_ARG,
            "the map '%s' is not of the form s/EXPRESSION/NAME/ or s/EXPRESSION/NAME/g", text);
    struct plumb_rename_rule *rules =
        plumb_arena_grow(&r->arena, r->rules, &r->rule_cap, r->rule_count + 1, sizeof *rules);
    if (!rules)
        return no_memory(err);
    r->rules = rules;
    int rc = compile(&rule, pattern, text, err);
    if (rc < 0)
        return rc;
    rules[r->rule_count++] = rule;
    return check_groups(&rule, text, err);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int add_pair(struct plumb_rename *r, const char *from, const char *to, plumb_error *err)
{
    struct plumb_rename_pair *pairs =
        plumb_arena_grow(&r->arena, r->pairs, &r->pair_cap, r->pair_count + 1, sizeof *pairs);
    if (!pairs)
        return no_memory(err);
    r->pairs = pairs;
    pairs[r->pair_count].from = plumb_arena_strdup(&r->arena, from);
    pairs[r->pair_count].to = plumb_arena_strdup(&r->arena, to);
    if (r->arena.failed || plumb_map_put(&r->by_name, plumb_hash_text(from), ++r->pair_count) < 0)
        return no_memory(err);
    return PLUMB_OK;
}

static bool is_expression(const char *text)
{
    return text[0] == 's' && text[1] && ispunct((unsigned char)text[1]) && text[1] != '\\' &&
           text[1] != '_' && text[1] != '.' && strchr(text + 2, text[1]) != NULL;
}

/* Cuts a line up into words, each of which has one character before it. Returns how many there are,
 * `most` where there are that many or more. */
static size_t split(char **word, size_t most, char *line, const char *blank)
{
    size_t n = 0;
    char *end = line + strlen(line);
    char *write = line;
    for (char *p = line; p < end && n < most;) {
        size_t size = strcspn(p, blank);
        memmove(write, p, size);
        word[n++] = write;
        p += size;
        p += strspn(p, blank);
        write[size] = '\0';
        write += size + 1;
    }
    return n;
}

/* A line without its newline; `line` is the caller's, and is cut up. */
static int add_line(struct plumb_rename *r, char *line, const char *path, size_t number,
                    plumb_error *err)
{
    static const char blank[] = " \t\r";
    plumb_error why = {0, ""};
    char *from = line + strspn(line, blank);
    if (!*from || *from == '#')
        return PLUMB_OK;
    for (size_t n = strlen(from); n > 0 && strchr(blank, from[n - 1]); n--)
        from[n - 1] = '\0';
    if (is_expression(from)) {
        int rc = add_expression(r, from, &why);
        return rc == PLUMB_OK
                   ? rc
                   : plumb_fail(err, rc, "line %zu of '%s': %s", number, path, why.message);
    }
    char *word[5] = {from, "", "", "", ""};
    size_t words = split(word, 5, from, blank);
    if (words != 2 && words != 4)
        return plumb_fail(
            err, PLUMB_ERR_ARG,
            "line %zu of '%s' is not a pair of names: it wants the name in A, a space, "
            "the name in B (or module and label of each)",
            number, path);
    char *to = word[words == 4 ? 2 : 1];
    if (words == 4) /* "module label" */
        word[1][-1] = word[3][-1] = ' ';
    return add_pair(r, from, to, err);
}

static int add_file(struct plumb_rename *r, const char *path, plumb_error *err)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    size_t number = 0;
    int rc = PLUMB_OK;
    ssize_t n;
    if (!file)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot read the map '%s': %s", path, strerror(errno));
    errno = 0;
    while (rc == PLUMB_OK && (n = getline(&line, &cap, file)) >= 0) {
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        rc = add_line(r, line, path, ++number, err);
    }
    if (rc == PLUMB_OK && ferror(file))
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read the map '%s': %s", path, strerror(errno));
    free(line);
    fclose(file);
    return rc;
}

int plumb_rename_add(struct plumb_rename *r, const char *rule, plumb_error *err)
{
    return is_expression(rule) ? add_expression(r, rule, err) : add_file(r, rule, err);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void put_replacement(struct plumb_buf *out, const char *with, const char *at,
                            const regmatch_t *groups)
{
    for (const char *p = with; *p; p++) {
        int group = -1;
        if (*p == '&')
            group = 0;
        else if (*p == '\\' && p[1])
            group = isdigit((unsigned char)*++p) ? *p - '0' : -1;
        if (group < 0)
            plumb_buf_char(out, *p);
        else if (groups[group].rm_so >= 0)
            plumb_buf_append(out, at + groups[group].rm_so,
                             (size_t)(groups[group].rm_eo - groups[group].rm_so));
    }
}

static bool apply_rule(const struct plumb_rename_rule *rule, struct plumb_buf *out,
                       const char *name)
{
    regmatch_t groups[MAX_GROUPS];
    const char *at = name;
    bool met = false;
    while (regexec(&rule->regex, at, MAX_GROUPS, groups, at > name ? REG_NOTBOL : 0) == 0) {
        met = true;
        plumb_buf_append(out, at, (size_t)groups[0].rm_so);
        put_replacement(out, rule->with, at, groups);
        at += groups[0].rm_eo;
        if (!rule->everywhere || !*at || out->len > MAX_NAME)
            break;
        if (groups[0].rm_eo == groups[0].rm_so)
            plumb_buf_char(out, *at++); /* an empty match moves on */
    }
    plumb_buf_str(out, at);
    return met;
}

static const char *pair_of(const struct plumb_rename *r, const char *name)
{
    uint64_t place = plumb_map_get(&r->by_name, plumb_hash_text(name));
    return place > 0 && strcmp(r->pairs[place - 1].from, name) == 0 ? r->pairs[place - 1].to : NULL;
}

static bool apply_rules(const struct plumb_rename *r, struct plumb_buf *text, bool labelled)
{
    bool met = false;
    for (size_t i = 0; i < r->rule_count && !text->failed; i++) {
        struct plumb_buf next = {0};
        if (r->rules[i].labelled != labelled)
            continue;
        plumb_buf_str(&next, "");
        met |= apply_rule(&r->rules[i], &next, text->data);
        plumb_buf_fini(text);
        *text = next;
    }
    return met;
}

bool plumb_rename_apply(const struct plumb_rename *r, struct plumb_buf *out, const char *name)
{
    const char *to = pair_of(r, name);
    struct plumb_buf text = {0};
    plumb_buf_str(&text, to ? to : name);
    bool met = to != NULL || apply_rules(r, &text, false);
    out->failed |= text.failed;
    plumb_buf_str(out, text.data ? text.data : name);
    plumb_buf_fini(&text);
    return met;
}

/* Puts "module label", of which both may be one text by now, as two. */
static void put_split(struct plumb_buf *out, const char *text, const char *label)
{
    const char *space = strrchr(text, ' ');
    bool given = space && space[1];
    plumb_buf_append(out, text, given ? (size_t)(space - text) : strlen(text));
    plumb_buf_char(out, '\0');
    plumb_buf_str(out, given ? space + 1 : label);
}

bool plumb_rename_record(const struct plumb_rename *r, struct plumb_buf *out, const char *module,
                         const char *label)
{
    struct plumb_buf both = {0};
    struct plumb_buf name = {0};
    bool is_output = strncmp(label, "out", 3) == 0;
    plumb_buf_printf(&both, "%s %s", module, label);
    const char *to = both.data ? pair_of(r, both.data) : NULL;
    bool met = to != NULL;
    if (!to && both.data && (met = apply_rules(r, &both, true)))
        to = both.data;
    if (to)
        put_split(out, to, label);
    else {
        met = plumb_rename_apply(r, &name, module);
        const char *space = name.data ? strchr(name.data, ' ') : NULL;
        if (met && space && !is_output) /* of another tensor of that module nothing was said */
            name.data[space - name.data] = '\0';
        put_split(out, met && name.data ? name.data : module, label);
    }
    out->failed |= both.failed | name.failed;
    plumb_buf_fini(&both);
    plumb_buf_fini(&name);
    return met;
}
