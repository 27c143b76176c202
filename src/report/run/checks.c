/* checks.c: see checks.h. The widths are minima, so that the tables of one command, which are
 * printed as soon as their part is known, agree where their names are short. */
#include "report/run/checks.h"

#include <stdio.h>

#include "base/text/utf8.h"
#include "summary/cells.h"
#include "summary/text_table.h"

static uint32_t state_of(const plumb_check *c)
{
    return c->state <= PLUMB_CHECK_BLOCKED ? c->state : (uint32_t)PLUMB_CHECK_BLOCKED;
}

static const char *word_of(const plumb_check *c)
{
    static const char *const words[] = {"seen", "not seen", "blocked"};
    return words[state_of(c)];
}

/* Appends a text in which the names are escaped already (report/names): an escape stays as it is,
 * where plumb_put_left() would escape its backslash. */
static void put_prose(struct plumb_buf *out, const char *text)
{
    while (*text) {
        char one[5];
        size_t n = plumb_utf8_looks_escaped(text) ? 4 : plumb_utf8_sequence(text);
        snprintf(one, sizeof one, "%.*s", n ? (int)n : 1, text);
        text += n ? n : 1;
        if (n == 4 && one[0] == '\\')
            plumb_buf_str(out, one);
        else
            plumb_put_left(out, one, 0);
    }
}

static void put_check(struct plumb_text_table *t, const plumb_check *c)
{
    struct plumb_buf *cell;
    plumb_text_put(t, word_of(c));
    plumb_text_put(t, c->name);
    cell = plumb_text_cell(t);
    put_prose(cell, c->detail);
    if (c->cure[0]) {
        plumb_buf_str(cell, " (cure: ");
        put_prose(cell, c->cure);
        plumb_buf_char(cell, ')');
    }
    plumb_text_end_cell(t);
}

void plumb_checks_text(struct plumb_buf *out, const plumb_check *checks, size_t n, bool colour)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
    struct plumb_text_column columns[] = {{.left = true, .width = 8},
                                          {.left = true, .gap = 2, .width = 14},
                                          {.left = true, .gap = 1}};
    struct plumb_text_table t;
    plumb_text_table_init(&t, columns, 3);
    for (size_t i = 0; i < n; i++)
        put_check(&t, &checks[i]);
    for (size_t i = 0; i < n; i++) {
        if (colour) {
            plumb_buf_str(out, colours[state_of(&checks[i])]);
            plumb_put_left(out, word_of(&checks[i]), plumb_text_width(&t, 1));
            plumb_buf_str(out, "\033[0m");
        }
        plumb_text_line(&t, colour ? 1 : 0, out);
    }
    if (n > 0 && !out->failed)
        out->data[--out->len] = '\0';
    plumb_text_table_fini(&t);
}
