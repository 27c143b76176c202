/* csv.c: a comparison as CSV (RFC 4180): a header with stable names, then a line for each
 * sum of the run and each node, numbers in full precision. */
#include <math.h>

#include "report/compare/view.h"
#include "report/table/escape.h"

static void put_line(const struct plumb_compare_line *line, struct plumb_buf *out)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++) {
        plumb_buf_str(out, i ? "," : "\n");
        if (columns[i].text) {
            plumb_put_csv(out, columns[i].text(line));
            continue;
        }
        double v = plumb_compare_cell_value(&columns[i], line);
        if (isfinite(v)) /* JSON's numbers are CSV's too */
            plumb_compare_put_number(out, v);
    }
}

void plumb_compare_csv(const struct plumb_compare_sheet *s, struct plumb_buf *out)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++)
        plumb_buf_printf(out, "%s%s", i ? "," : "", columns[i].key);
    for (size_t i = 0; i < s->compare->sums.count; i++)
        put_line(&s->compare->sums.lines[i], out);
    for (size_t i = 0; i < s->shown; i++)
        put_line(s->nodes[i], out);
}
