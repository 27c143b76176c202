/* text_table.c: see text_table.h. */
#include "summary/text_table.h"

#include <string.h>

#include "base/text/utf8.h"
#include "summary/cells.h"

/* Of a clean text. */
static size_t characters(const char *text)
{
    size_t n = 0;
    for (size_t bytes; *text; text += bytes, n++)
        if ((bytes = plumb_utf8_sequence(text)) == 0)
            bytes = 1;
    return n;
}

static void put_blanks(struct plumb_buf *out, size_t n)
{
    while (n-- > 0)
        plumb_buf_char(out, ' ');
}

/* ---- Cells ----------------------------------------------------------------------------------- */

void plumb_text_table_init(struct plumb_text_table *t, struct plumb_text_column *columns, size_t n)
{
    *t = (struct plumb_text_table){.columns = columns, .column_count = n};
}

void plumb_text_table_fini(struct plumb_text_table *t)
{
    plumb_buf_fini(&t->cells);
    *t = (struct plumb_text_table){.columns = NULL};
}

struct plumb_buf *plumb_text_cell(struct plumb_text_table *t)
{
    return &t->cells;
}

void plumb_text_end_cell(struct plumb_text_table *t)
{
    struct plumb_text_column *c = &t->columns[t->column];
    size_t n;
    plumb_buf_append(&t->cells, "", 1);
    if (t->cells.failed)
        return;
    n = characters(t->cells.data + t->begun);
    if (n > c->width && (c->most == 0 || n <= c->most))
        c->width = n;
    t->begun = t->cells.len;
    t->column = t->column + 1 < t->column_count ? t->column + 1 : 0;
}

void plumb_text_put(struct plumb_text_table *t, const char *text)
{
    plumb_put_left(&t->cells, text, 0);
    plumb_text_end_cell(t);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

const char *plumb_text_next_cell(struct plumb_text_table *t)
{
    const char *cell;
    if (t->cells.failed || t->read >= t->begun)
        return "";
    cell = t->cells.data + t->read;
    t->read += strlen(cell) + 1;
    return cell;
}

size_t plumb_text_width(const struct plumb_text_table *t, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        if (!t->columns[i].hidden)
            width += t->columns[i].width + (width > 0 ? t->columns[i].gap : 0);
    return width;
}

void plumb_text_line(struct plumb_text_table *t, size_t skip, struct plumb_buf *out)
{
    bool first = skip == 0;
    size_t owed = 0; /* blanks that something must follow */
    out->failed |= t->cells.failed;
    for (size_t i = 0; i < t->column_count; i++) {
        const struct plumb_text_column *c = &t->columns[i];
        const char *cell = plumb_text_next_cell(t);
        size_t n = characters(cell), pad = n < c->width ? c->width - n : 0;
        if (i < skip || c->hidden)
            continue;
        owed += (first ? 0 : c->gap) + (c->left ? 0 : pad);
        first = false;
        if (n > 0) {
            put_blanks(out, owed);
            plumb_buf_str(out, cell);
            owed = 0;
        }
        owed += c->left ? pad : 0;
    }
    plumb_buf_char(out, '\n');
}

void plumb_text_rule(const struct plumb_text_table *t, struct plumb_buf *out)
{
    for (size_t n = plumb_text_width(t, t->column_count); n > 0; n--)
        plumb_buf_char(out, '-');
    plumb_buf_char(out, '\n');
}
