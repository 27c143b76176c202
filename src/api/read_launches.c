/* read_launches.c: counts per iteration, of the public interface. Any thread; no state. */
#include <string.h>

#include "base/error.h"
#include "read/run/load.h"
#include "report/launches.h"

int plumb_launches_read(plumb_launch_counts *out, const char *run, plumb_error *err)
{
    struct plumb_count_rows rows;
    size_t size = out->size;
    plumb_launch_counts sum;
    int rc;
    if (size < sizeof size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_launches_read: `out` has no size");
    rc = plumb_count_rows_read(&rows, run, err);
    if (rc == PLUMB_OK)
        rc = plumb_launches_sum(&sum, &rows.timing, &rows, err);
    if (rc == PLUMB_OK) {
        sum.size = size;
        memcpy(out, &sum, size < sizeof sum ? size : sizeof sum);
    }
    plumb_count_rows_fini(&rows);
    return rc;
}

int plumb_launches_render(char **out, const plumb_launches_row *rows, size_t n, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc;
    for (size_t i = 0; i < n; i++)
        if (rows[i].size != sizeof *rows)
            return plumb_fail(err, PLUMB_ERR_ARG, "row %zu has another size", i);
    rc = plumb_launches_json(&text, rows, n, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
