/* text.c: the table of predecessors' names as text: a list, the page, and the answer about one
 * name. No state. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "report/names/names.h"
#include "summary/cells.h"

enum { GUESSED_MIN = 3, CONTAINING_MAX = 12, ASKED_MAX = 200, SHOWN_MAX = 60 };

void plumb_predecessor_put(struct plumb_buf *out, const char *text)
{
    char cut[SHOWN_MAX + 1];
    size_t n = strlen(text);
    if (n > SHOWN_MAX)
        for (n = SHOWN_MAX; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    snprintf(cut, sizeof cut, "%.*s", (int)n, text);
    plumb_put_left(out, cut, 0);
    plumb_buf_str(out, text[n] ? "..." : "");
}

/* ---- The list -------------------------------------------------------------------------------- */

static void put_line(struct plumb_buf *out, const struct plumb_predecessor *p)
{
    plumb_buf_printf(out, "%-6s %-9s %-10s %-52s %s\n", p->row, plumb_predecessor_kind(p),
                     plumb_predecessor_status(p), p->name, *p->plumb ? p->plumb : "-");
}

static void put_head(struct plumb_buf *out)
{
    plumb_buf_printf(out, "%-6s %-9s %-10s %-52s %s\n", "Row", "Kind", "Status", "Theirs",
                     "In plumb");
}

void plumb_predecessors_list(struct plumb_buf *out, const struct plumb_predecessors *t)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    put_head(out);
    for (size_t i = 0; i < n; i++)
        put_line(out, &table[i]);
}

/* ---- The page -------------------------------------------------------------------------------- */

static const struct {
    const char *prefix, *heading;
} sections[] = {
    {"FV", "FastVideo: regions, stages, benchmarks"},
    {"AT", "FastVideo: activation trace"},
    {"TF", "TeleFuser"},
    {"TX", "TorchFX"},
    {"CV", "CUVIS.AI"},
};

static void put_cell(struct plumb_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            plumb_buf_char(out, '\\');
        plumb_buf_char(out, *text);
    }
}

static void put_code(struct plumb_buf *out, const char *text)
{
    if (!*text) {
        plumb_buf_char(out, '-');
        return;
    }
    plumb_buf_char(out, '`');
    put_cell(out, text);
    plumb_buf_char(out, '`');
}

static void put_row(struct plumb_buf *out, const struct plumb_predecessor *p)
{
    plumb_buf_str(out, "| ");
    put_code(out, p->name);
    plumb_buf_printf(out, " | %s | %s | ", plumb_predecessor_kind(p), p->row);
    put_code(out, p->plumb);
    plumb_buf_printf(out, " | %s | ", plumb_predecessor_status(p));
    put_cell(out, p->remark);
    plumb_buf_str(out, " |\n");
}

/* Rows of one system, the variables or the rest. */
static void put_rows(struct plumb_buf *out, const struct plumb_predecessors *t, const char *prefix,
                     bool variables)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    size_t shown = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(table[i].row, prefix, 2) != 0 ||
            (table[i].kind == PLUMB_THEIR_VARIABLE) != variables)
            continue;
        if (shown++ == 0)
            plumb_buf_str(out, "\n| Theirs | Kind | Row | In plumb | Status | |\n"
                               "|---|---|---|---|---|---|\n");
        put_row(out, &table[i]);
    }
}

void plumb_predecessors_page(struct plumb_buf *out, const struct plumb_predecessors *t)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        plumb_buf_printf(out, "%s## %s (%s)\n", i ? "\n" : "", sections[i].heading,
                         sections[i].prefix);
        put_rows(out, t, sections[i].prefix, true);
        put_rows(out, t, sections[i].prefix, false);
    }
}

/* ---- One name -------------------------------------------------------------------------------- */

static void put_entry(struct plumb_buf *out, const struct plumb_predecessor *p)
{
    plumb_buf_printf(out, "%s%s (%s of %s, %s)\n", out->len ? "\n" : "", p->name,
                     plumb_predecessor_kind(p), plumb_predecessor_system(p), p->row);
    plumb_buf_printf(out, "  status    %s\n", plumb_predecessor_status(p));
    if (*p->plumb)
        plumb_buf_printf(out, "  in plumb  %s\n", p->plumb);
    plumb_buf_printf(out, "  remark    %s\n", p->remark);
}

/* The entries that fit best. */
static bool put_matches(struct plumb_buf *out, const struct plumb_predecessors *t, const char *text)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        size_t fit = plumb_predecessor_match(&table[i], text);
        best = fit > best ? fit : best;
    }
    for (size_t i = 0; best && i < n; i++)
        if (plumb_predecessor_match(&table[i], text) == best)
            put_entry(out, &table[i]);
    return best > 0;
}

/* NAME=value: the line that `plumb doctor` would print with it in the environment. */
static bool put_assignment(struct plumb_buf *out, const struct plumb_predecessors *t,
                           const char *text)
{
    static char *const nothing[] = {NULL};
    char name[ASKED_MAX + 1];
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    size_t length = strcspn(text, "=");
    bool found = false;
    if (!text[length] || length > ASKED_MAX)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (size_t i = 0; i < n; i++) {
        if (table[i].kind != PLUMB_THEIR_VARIABLE || !plumb_predecessor_match(&table[i], name))
            continue;
        struct plumb_buf cure = {0};
        found = true;
        put_entry(out, &table[i]);
        plumb_buf_str(out, "  value     ");
        plumb_predecessor_judge(out, &cure, &table[i], name, text + length + 1, nothing);
        plumb_buf_printf(out, "%s%s\n", cure.data ? "\n  set       " : "",
                         cure.data ? cure.data : "");
        out->failed |= cure.failed;
        plumb_buf_fini(&cure);
    }
    return found;
}

/* f(x) and f() are f. */
static bool put_call(struct plumb_buf *out, const struct plumb_predecessors *t, const char *text)
{
    char name[ASKED_MAX + 1];
    size_t length = strcspn(text, "(");
    if (length == 0 || !text[length] || length > ASKED_MAX)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    return put_matches(out, t, name);
}

static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (size_t left = strlen(name); left >= n; left--, name++)
        if (plumb_ascii_equal_n(name, part, n))
            return true;
    return false;
}

/* A list of the names that `text` is a part of, when they are not too many to read. */
static bool put_containing(struct plumb_buf *out, const struct plumb_predecessors *t,
                           const char *text)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += contains(table[i].name, text);
    if (found == 0 || found > CONTAINING_MAX)
        return false;
    put_head(out);
    for (size_t i = 0; i < n; i++)
        if (contains(table[i].name, text))
            put_line(out, &table[i]);
    return true;
}

/* The name whose entries were put, NULL: none is near. */
static const char *put_nearest(struct plumb_buf *out, const struct plumb_predecessors *t,
                               const char *text)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    struct plumb_nearest nearest = plumb_nearest_start(text);
    for (size_t i = 0; i < n; i++)
        plumb_nearest_offer(&nearest, table[i].name);
    return nearest.best && put_matches(out, t, nearest.best) ? nearest.best : NULL;
}

int plumb_predecessors_explain(struct plumb_buf *out, const struct plumb_predecessors *t,
                               const char *text, plumb_error *err)
{
    struct plumb_buf asked = {0};
    const char *nearest;
    int rc = 1;
    if (put_matches(out, t, text) || put_assignment(out, t, text) || put_call(out, t, text))
        return PLUMB_OK;
    /* One or two letters are near to, and part of, too much. */
    bool guess = strlen(text) >= GUESSED_MIN;
    plumb_predecessor_put(&asked, text);
    const char *shown = asked.data ? asked.data : "";
    if (guess && put_containing(out, t, text))
        plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no name '%s'; these have it in them", shown);
    else if (guess && (nearest = put_nearest(out, t, text)))
        plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no name '%s'; the nearest is '%s'", shown, nearest);
    else
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "no name like '%s'; 'plumb help coming-from' lists all", shown);
    plumb_buf_fini(&asked);
    return rc;
}
