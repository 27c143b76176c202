/* text.c: the first divergence for people, as text and as Markdown: the sentence, what to record
 * next, the table, full tensors if there are any, and the notes. */
#include <string.h>

#include "report/diverge/view.h"
#include "report/table/escape.h"
#include "summary/cells.h"

static void put_lines(struct plumb_buf *out, struct plumb_buf *lines, const char *before, bool md)
{
    out->failed |= lines->failed;
    for (char *line = lines->data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_buf_str(out, before);
        if (md)
            plumb_put_clean_md(out, line);
        else
            plumb_buf_str(out, line);
    }
    plumb_buf_fini(lines);
}

static void put_sides(struct plumb_buf *out, const struct plumb_diverge_sheet *s, bool md)
{
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        plumb_buf_printf(out, "%s%c: ", md ? "\n- " : "\n", side == PLUMB_DIVERGE_A ? 'A' : 'B');
        if (md)
            plumb_put_md(out, s->labels[side]);
        else
            plumb_put_left(out, s->labels[side], 0);
    }
}

static void put_grid(struct plumb_buf *out, struct plumb_grid *g, bool md)
{
    plumb_buf_str(out, "\n\n");
    if (md)
        plumb_grid_md(g, out);
    else
        plumb_grid_write(g, out);
    out->failed |= g->failed;
    plumb_grid_fini(g);
}

static void put_hidden(struct plumb_buf *out, size_t rows, bool md)
{
    if (rows > 0)
        plumb_buf_printf(out, "%s(%zu more; --all shows them)", md ? "\n\n" : "\n", rows);
}

/* "Full tensors: ..." and the first name whose values differ. */
static void put_tensors(struct plumb_buf *out, const struct plumb_diverge_sheet *s, bool md)
{
    struct plumb_grid g;
    struct plumb_buf name = {0};
    if (s->d->tensor_count == 0)
        return;
    size_t hidden = plumb_diverge_tensors(&g, s);
    for (size_t i = 0; i < s->d->tensor_count && name.len == 0; i++)
        if (s->d->tensors[i].compared && s->d->tensors[i].diff.unequal > 0)
            plumb_diverge_put_record(&name, s->d->sides[PLUMB_DIVERGE_A].t, s->d->tensors[i].a);
    plumb_buf_printf(out, "\n\n%zu full tensors compared value by value; ", s->d->tensor_count);
    if (name.len == 0)
        plumb_buf_str(out, "none differs");
    else {
        plumb_buf_str(out, "the first that differs is ");
        if (md)
            plumb_put_clean_md(out, name.data);
        else
            plumb_buf_str(out, name.data);
    }
    out->failed |= name.failed;
    plumb_buf_fini(&name);
    put_grid(out, &g, md);
    put_hidden(out, hidden, md);
}

static void put_report(struct plumb_buf *out, const struct plumb_diverge_sheet *s, bool md)
{
    struct plumb_buf sentence = {0};
    struct plumb_buf equality = {0};
    struct plumb_buf next = {0};
    struct plumb_buf notes = {0};
    struct plumb_grid g;
    plumb_diverge_put_sentence(&sentence, s);
    plumb_diverge_put_equality(&equality, s);
    if (equality.len > 0)
        plumb_buf_char(&equality, '\n');
    plumb_diverge_put_next(&next, s);
    plumb_diverge_put_notes(&notes, s);
    plumb_buf_str(out, md ? "### " : "");
    if (md)
        plumb_put_clean_md(out, sentence.data ? sentence.data : "");
    else
        plumb_buf_str(out, sentence.data ? sentence.data : "");
    out->failed |= sentence.failed;
    plumb_buf_fini(&sentence);
    put_lines(out, &equality, md ? "\n\n" : "\n", md);
    put_lines(out, &next, md ? "\n\nNext: " : "\nnext: ", md);
    plumb_buf_char(out, '\n');
    put_sides(out, s, md);
    if (s->row_count > 0) {
        plumb_diverge_rows(&g, s);
        put_grid(out, &g, md);
    }
    put_hidden(out, s->rows_hidden, md);
    put_tensors(out, s, md);
    plumb_buf_char(out, '\n');
    put_lines(out, &notes, md ? "\n- " : "\nNote: ", md);
}

void plumb_diverge_text(const struct plumb_diverge_sheet *s, struct plumb_buf *out)
{
    put_report(out, s, false);
}

void plumb_diverge_md(const struct plumb_diverge_sheet *s, struct plumb_buf *out)
{
    put_report(out, s, true);
}

/* The side-by-side table alone: the sentence and the notes are in the other formats. */
void plumb_diverge_csv(const struct plumb_diverge_sheet *s, struct plumb_buf *out)
{
    struct plumb_grid g;
    plumb_diverge_rows(&g, s);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}
