/* page.c: see page.h. */
#include "report/table/page.h"

#include <string.h>

#include "report/table/escape.h"

void plumb_page_begin(struct plumb_page *p, const struct plumb_render_input *in,
                      struct plumb_buf *out, bool md, bool explain)
{
    *p = (struct plumb_page){.in = in, .out = out, .md = md, .explain = explain};
}

void plumb_page_end(struct plumb_page *p)
{
    p->out->failed |= p->explained.failed;
    if (p->explained.data) {
        plumb_page_title(p, "Columns");
        plumb_buf_append(p->out, p->explained.data, p->explained.len);
    }
    plumb_buf_fini(&p->explained);
}

void plumb_page_paragraph(struct plumb_page *p)
{
    if (p->out->len > 0)
        plumb_buf_str(p->out, "\n\n");
}

void plumb_page_title(struct plumb_page *p, const char *title)
{
    plumb_page_paragraph(p);
    plumb_buf_str(p->out, p->md ? "### " : "");
    plumb_buf_str(p->out, title);
    plumb_buf_str(p->out, p->md ? "\n" : "");
}

void plumb_page_item(struct plumb_page *p, const char *text)
{
    plumb_buf_str(p->out, p->md ? "\n- " : "\n  ");
    plumb_buf_str(p->out, text);
}

void plumb_page_name(struct plumb_page *p, const char *name)
{
    if (p->md)
        plumb_put_md(p->out, name);
    else
        plumb_put_left(p->out, name, 0);
}

/* Once for each title: tables of a page share columns. */
static void explain(struct plumb_page *p, const struct plumb_grid *g)
{
    for (size_t i = 0; i < g->column_count; i++) {
        struct plumb_buf line = {0};
        const struct plumb_grid_column *c = &g->columns[i];
        if (!c->help || !plumb_grid_shows(g, i))
            continue;
        plumb_buf_str(&line, p->md ? "\n- " : "\n  ");
        plumb_put_left(&line, c->title, p->md ? 0 : 12);
        plumb_buf_str(&line, p->md ? ": " : "");
        plumb_buf_str(&line, c->help);
        p->explained.failed |= line.failed;
        if (line.data && !(p->explained.data && strstr(p->explained.data, line.data)))
            plumb_buf_append(&p->explained, line.data, line.len);
        plumb_buf_fini(&line);
    }
}

void plumb_page_grid(struct plumb_page *p, struct plumb_grid *g)
{
    plumb_buf_char(p->out, '\n');
    if (p->explain)
        explain(p, g);
    if (p->md)
        plumb_grid_md(g, p->out);
    else
        plumb_grid_write(g, p->out);
    plumb_grid_fini(g);
}

void plumb_page_more(struct plumb_page *p, size_t hidden)
{
    if (hidden > 0)
        plumb_buf_printf(p->out, "%s(%zu more)", p->md ? "\n\n" : "\n", hidden);
}
