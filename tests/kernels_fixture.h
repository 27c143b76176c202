/* kernels_fixture.h: what tests of the kernels of a trace share: a trace, its kernels, and rows of
 * them. Include it after cmocka.h. */
#ifndef TESTS_KERNELS_FIXTURE_H
#define TESTS_KERNELS_FIXTURE_H

#include <string.h>

#include "analyze/kernel/kernels.h"

static struct plumb_table t;
static struct plumb_step_marks marks;
static struct plumb_kernels k;
static struct plumb_own_rows rows;
static plumb_error err;

/* Of the trace `t`, which is complete. */
static inline void kernels_look(enum plumb_kernels_by by, bool ops)
{
    assert_int_equal(plumb_step_marks_init(&marks, &t, &err), PLUMB_OK);
    assert_int_equal(plumb_kernels_init(&k, &t, &marks, &err), PLUMB_OK);
    assert_int_equal(plumb_own_rows_init(&rows, &k, by, ops, &err), PLUMB_OK);
}

static inline void kernels_end(void)
{
    plumb_own_rows_fini(&rows);
    plumb_kernels_fini(&k);
    plumb_step_marks_fini(&marks);
    plumb_table_fini(&t);
}

static inline const struct plumb_own_row *row_of(const char *name)
{
    for (size_t i = 0; i < rows.count; i++)
        if (strcmp(plumb_table_text(&t, rows.rows[i].name), name) == 0)
            return &rows.rows[i];
    fail_msg("no row of '%s'", name);
    return NULL;
}

#endif
