/* run_list.c: see run_list.h. The path comes last: it is the longest text, and is never cut. */
#include "report/run/run_list.h"

#include "report/picture/chart.h"
#include "summary/text_table.h"

void plumb_run_list_text(struct plumb_buf *out, const plumb_run_info *runs, size_t n)
{
    static const char *const titles[] = {"Started", "State", "Size", "Run"};
    struct plumb_text_column columns[] = {{.left = true, .width = 19},
                                          {.left = true, .gap = 2, .width = 9},
                                          {.gap = 1, .width = 10},
                                          {.left = true, .gap = 2}};
    struct plumb_text_table t;
    plumb_text_table_init(&t, columns, 4);
    for (size_t i = 0; i < 4; i++)
        plumb_text_put(&t, titles[i]);
    for (size_t i = 0; i < n; i++) {
        plumb_text_put(&t, runs[i].started);
        plumb_text_put(&t, runs[i].state == PLUMB_RUN_ENDED ? "ended" : "not ended");
        plumb_put_bytes(plumb_text_cell(&t), (double)runs[i].bytes);
        plumb_text_end_cell(&t);
        plumb_text_put(&t, runs[i].path);
    }
    for (size_t i = 0; n > 0 && i <= n; i++)
        plumb_text_line(&t, 0, out);
    if (n > 0 && !out->failed)
        out->data[--out->len] = '\0';
    plumb_text_table_fini(&t);
}
