/* csv.c: rows of comma-separated values. Fields are copied without their quotes into one buffer,
 * which the next row uses again, so a file of any number of rows needs the memory of its longest
 * row. */
#include <stdlib.h>
#include <string.h>

#include "read/file/csv.h"

static bool begin_field(struct plumb_csv *c)
{
    if (c->count == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 32;
        size_t *grown = realloc(c->starts, cap * sizeof *grown);
        if (!grown)
            return false;
        c->starts = grown;
        c->cap = cap;
    }
    c->starts[c->count++] = c->text.len;
    return true;
}

/* Copies a quoted field from after its first quote. Returns where it ends, NULL: its quote is open
 * at `end`. */
static const char *take_quoted(struct plumb_csv *c, const char *p, const char *end)
{
    for (;;) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        const char *until = quote ? quote : end;
        for (const char *n = p; (n = memchr(n, '\n', (size_t)(until - n))); n++)
            c->next_line++;
        plumb_buf_append(&c->text, p, (size_t)(until - p));
        if (!quote)
            return NULL;
        if (quote + 1 == end || quote[1] != '"')
            return quote + 1;
        plumb_buf_char(&c->text, '"');
        p = quote + 2;
    }
}

static const char *plain_end(const char *p, const char *end)
{
    while (p < end && *p != ',' && *p != '\n')
        p++;
    return p;
}

/* Takes the field at `p`. Text after a closing quote belongs to the field. */
static const char *take_field(struct plumb_csv *c, const char *p, const char *end)
{
    if (p < end && *p == '"' && !(p = take_quoted(c, p + 1, end)))
        return NULL;
    const char *stop = plain_end(p, end);
    size_t n = (size_t)(stop - p);
    if (n > 0 && p[n - 1] == '\r' && (stop == end || *stop == '\n'))
        n--;
    plumb_buf_append(&c->text, p, n);
    return stop;
}

int plumb_csv_row(struct plumb_csv *c, bool one_line)
{
    c->count = c->text.len = 0;
    if (c->at == c->end)
        return 0;
    const char *line_end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    const char *end = one_line && line_end ? line_end : c->end;
    const char *p = c->at;
    c->line = c->next_line + 1;
    for (;;) {
        if (!begin_field(c))
            return PLUMB_ERR_MEMORY;
        const char *stop = take_field(c, p, end);
        plumb_buf_char(&c->text, '\0');
        if (c->text.failed)
            return PLUMB_ERR_MEMORY;
        if (!stop && !one_line)
            return PLUMB_ERR_FORMAT;
        p = stop ? stop : end;
        if (p == end || *p == '\n')
            break;
        p++; /* the comma */
    }
    c->next_line++;
    c->at = p < c->end ? p + 1 : p;
    return 1;
}

const char *plumb_csv_field(const struct plumb_csv *c, size_t i)
{
    return i < c->count ? c->text.data + c->starts[i] : "";
}

bool plumb_csv_skip_line(struct plumb_csv *c)
{
    if (c->at == c->end)
        return false;
    const char *line_end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->at = line_end ? line_end + 1 : c->end;
    c->next_line++;
    return true;
}

void plumb_csv_fini(struct plumb_csv *c)
{
    plumb_buf_fini(&c->text);
    free(c->starts);
    c->starts = NULL;
    c->count = c->cap = 0;
}
