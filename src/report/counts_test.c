/* Tests of counts.c: rows of the whole run are sums over steps, equal counts make equal rows in any
 * order, nothing is divided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/counts.h"

static struct plumb_timing_cell cell(const char *node, int64_t step, uint32_t kind,
                                     const char *name, uint64_t calls, int64_t value)
{
    return (struct plumb_timing_cell){"p", "inference", node, name, step, kind, calls, value};
}

static void check(const struct plumb_count_row *r, const char *node, int64_t step, const char *kind,
                  const char *name, uint64_t calls, int64_t value)
{
    assert_string_equal(r->node, node);
    assert_int_equal(r->step, step);
    assert_string_equal(plumb_count_kind_name(r->kind), kind);
    assert_string_equal(r->name, name);
    assert_int_equal(r->calls, calls);
    assert_int_equal(r->value, value);
}

static void steps_add_up_to_the_run(void **state)
{
    struct plumb_timing_cell cells[] = {
        cell("net", 1, PLUMB_COUNT_DISPATCHES, "sos", 2, 2),
        cell("net", 0, PLUMB_COUNT_DISPATCHES, "sos", 1, 1),
        cell("net", -1, PLUMB_COUNT_DISPATCHES, "sos", 4, 4),
        cell("net", 0, PLUMB_COUNT_COPIES, "cuda:0", 3, 4096),
    };
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    t.cells = cells;
    t.cell_count = 4;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 7);
    check(&rows.rows[0], "net", -1, "dispatches", "sos", 7, 7);
    check(&rows.rows[1], "net", 0, "dispatches", "sos", 1, 1);
    check(&rows.rows[2], "net", 1, "dispatches", "sos", 2, 2);
    check(&rows.rows[3], "net", -1, "copies", "cuda:0", 3, 3);
    check(&rows.rows[4], "net", 0, "copies", "cuda:0", 3, 3);
    check(&rows.rows[5], "net", -1, "copy_bytes", "cuda:0", 3, 4096);
    check(&rows.rows[6], "net", 0, "copy_bytes", "cuda:0", 3, 4096);
    plumb_count_rows_fini(&rows);
}

static void a_user_count_is_in_the_run_once(void **state)
{
    struct plumb_timing_node_count of_node = {"p", "inference", "net", "tokens", -5, 3};
    struct plumb_timing_count sum = {"p", "tokens", 95, 14};
    struct plumb_timing_cell cells[] = {
        cell("net", 7, PLUMB_COUNT_USER, "tokens", 1, -2), /* of the -5 */
        cell("", -1, PLUMB_COUNT_USER, "tokens", 1, 40),
    };
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    t.node_counts = &of_node;
    t.counts = &sum;
    t.cells = cells;
    t.node_count_count = t.count_count = 1;
    t.cell_count = 2;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 4);
    assert_string_equal(rows.rows[0].phase, "");
    check(&rows.rows[0], "", -1, "user", "tokens", 10, 60); /* what no cell has: of before */
    check(&rows.rows[1], "", -1, "user", "tokens", 1, 40);
    check(&rows.rows[2], "net", -1, "user", "tokens", 3, -5);
    check(&rows.rows[3], "net", 7, "user", "tokens", 1, -2);
    plumb_count_rows_fini(&rows);
}

static void runs_of_the_node_stand_next_to_its_counts(void **state)
{
    struct plumb_timing_node nodes[] = {
        {.pipeline = "p", .phase = "train", .name = "net", .skipped = 1},
        {.pipeline = "p", .phase = "inference", .name = "net", .skipped = 2, .failures = 3},
    };
    struct plumb_timing_cell cells[] = {
        cell("net", 0, PLUMB_COUNT_LAUNCHES, "queue", 31, 31),
    };
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    nodes[1].host.ns.count = 25;
    plumb_timing_init(&t);
    t.nodes = nodes;
    t.node_count = 2;
    t.cells = cells;
    t.cell_count = 1;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 2);
    check(&rows.rows[0], "net", -1, "launches", "queue", 31, 31);
    assert_int_equal(rows.rows[0].runs, 30);
    assert_int_equal(rows.rows[1].runs, 0);
    plumb_count_rows_fini(&rows);
}

static void sums_of_peaks_are_the_highest(void **state)
{
    struct plumb_timing_use use = {.pool = 0, .peak_allocated = 300};
    struct plumb_timing_use less = {.pool = 0, .peak_allocated = 200};
    struct plumb_timing_pool pool = {.device = "cuda:0", .pool = "torch", .peak_allocated = 350};
    struct plumb_timing_node nodes[] = {
        {.pipeline = "p", .phase = "inference", .name = "a", .skipped = 1},
        {.pipeline = "p", .phase = "inference", .name = "b", .skipped = 1},
    };
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    nodes[0].memory.uses = &use;
    nodes[1].memory.uses = &less;
    nodes[0].memory.use_count = nodes[1].memory.use_count = 1;
    t.nodes = nodes;
    t.node_count = 2;
    t.memory.pools = &pool;
    t.memory.pool_count = 1;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 3);
    check(&rows.rows[0], "", -1, "peak_bytes", "cuda:0/torch", 0, 350);
    check(&rows.rows[1], "a", -1, "peak_bytes", "cuda:0/torch", 1, 300);
    for (size_t i = 0; i < rows.count; i++)
        rows.rows[i].node = rows.rows[i].phase = rows.rows[i].pipeline = "";
    plumb_count_rows_merge(&rows);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].value, 350);
    plumb_count_rows_fini(&rows);
}

static void counters_that_took_turns_are_no_counts(void **state)
{
    struct plumb_timing_node node = {.pipeline = "p", .phase = "inference", .name = "net"};
    struct plumb_timing_counted counted[] = {{.node = 0, .runs = 3},
                                             {.node = 0, .kernel = "gemm", .runs = 3}};
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    for (int i = 0; i < 2; i++) {
        counted[i].counter[PLUMB_PERF_MINOR_FAULTS] = (struct plumb_timing_counter){70, 3, 0, 0, 0};
        counted[i].counter[PLUMB_PERF_MAJOR_FAULTS] = (struct plumb_timing_counter){2, 3, 0, 0, 0};
        counted[i].counter[PLUMB_PERF_INSTRUCTIONS] =
            (struct plumb_timing_counter){12345, 3, 0, 9, 9};
    }
    t.nodes = &node;
    t.node_count = 1;
    t.perf.on = true;
    t.perf.rows = counted;
    t.perf.row_count = 2;
    t.perf.state[PLUMB_PERF_MINOR_FAULTS] = t.perf.state[PLUMB_PERF_INSTRUCTIONS] =
        PLUMB_COUNTER_THERE;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 2);
    check(&rows.rows[0], "net", -1, "page_faults", "", 3, 72);
    check(&rows.rows[1], "net", -1, "instructions", "", 3, 12345);
    plumb_count_rows_fini(&rows);
    counted[0].counter[PLUMB_PERF_INSTRUCTIONS].scaled = 1;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 1);
    plumb_count_rows_fini(&rows);
}

static void the_order_of_the_cells_does_not_matter(void **state)
{
    struct plumb_timing_cell cells[4][4];
    struct plumb_count_rows first, other;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < 4; i++)
            cells[turn][(i + turn) % 4] =
                cell(i < 2 ? "a" : "b", i, PLUMB_COUNT_DISPATCHES, i % 2 ? "x" : "y", 1, 1);
    t.cells = cells[0];
    t.cell_count = 4;
    assert_int_equal(plumb_count_rows_init(&first, &t, NULL), PLUMB_OK);
    for (int turn = 1; turn < 4; turn++) {
        t.cells = cells[turn];
        assert_int_equal(plumb_count_rows_init(&other, &t, NULL), PLUMB_OK);
        assert_int_equal(other.count, first.count);
        for (size_t i = 0; i < first.count; i++)
            check(&other.rows[i], first.rows[i].node, first.rows[i].step,
                  plumb_count_kind_name(first.rows[i].kind), first.rows[i].name,
                  first.rows[i].calls, first.rows[i].value);
        plumb_count_rows_fini(&other);
    }
    plumb_count_rows_fini(&first);
}

static void a_name_of_a_kind_reads_back(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < PLUMB_COUNT_KINDS; i++)
        assert_int_equal(plumb_count_kind_of(plumb_count_kind_name(i)), i);
    assert_int_equal(plumb_count_kind_of("launch"), 0);
    assert_null(plumb_count_kind_name(PLUMB_COUNT_KINDS));
    assert_null(plumb_count_kind_name(0));
}

static void counters_of_stages_are_counts_where_they_are_exact(void **state)
{
    struct plumb_timing_node nodes[] = {{.pipeline = "p", .phase = "inference", .name = "a"},
                                        {.pipeline = "p", .phase = "inference", .name = "b"}};
    struct plumb_timing_counted counted[] = {
        {.node = 0,
         .runs = 3,
         .counter = {[PLUMB_PERF_MINOR_FAULTS] = {40, 3, 0, 0, 0},
                     [PLUMB_PERF_MAJOR_FAULTS] = {2, 3, 0, 0, 0},
                     [PLUMB_PERF_INSTRUCTIONS] = {900, 3, 0, 5, 5}}},
        {.node = 1,
         .runs = 3,
         .counter = {[PLUMB_PERF_MINOR_FAULTS] = {40, 2, 0, 0, 0}, /* absent in one run */
                     [PLUMB_PERF_MAJOR_FAULTS] = {2, 3, 0, 0, 0},
                     [PLUMB_PERF_INSTRUCTIONS] = {900, 3, 1, 5, 3}}},
        {.node = 0, .kernel = "conv", .runs = 3},
    };
    struct plumb_count_rows rows;
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    t.nodes = nodes;
    t.node_count = 2;
    t.perf.rows = counted;
    t.perf.row_count = 3;
    t.perf.state[PLUMB_PERF_INSTRUCTIONS] = PLUMB_COUNTER_THERE;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 2);
    check(&rows.rows[0], "a", -1, "page_faults", "", 3, 42);
    check(&rows.rows[1], "a", -1, "instructions", "", 3, 900);
    plumb_count_rows_fini(&rows);
    t.perf.state[PLUMB_PERF_INSTRUCTIONS] = PLUMB_COUNTER_SIMULATED;
    assert_int_equal(plumb_count_rows_init(&rows, &t, NULL), PLUMB_OK);
    assert_int_equal(rows.count, 1);
    plumb_count_rows_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_stages_are_counts_where_they_are_exact),
        cmocka_unit_test(steps_add_up_to_the_run),
        cmocka_unit_test(a_user_count_is_in_the_run_once),
        cmocka_unit_test(runs_of_the_node_stand_next_to_its_counts),
        cmocka_unit_test(sums_of_peaks_are_the_highest),
        cmocka_unit_test(counters_that_took_turns_are_no_counts),
        cmocka_unit_test(the_order_of_the_cells_does_not_matter),
        cmocka_unit_test(a_name_of_a_kind_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
