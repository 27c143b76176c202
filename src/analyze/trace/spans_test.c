/* The figures of slices, against sums that are computed the long way, on random traces. */
#include "analyze/trace/spans.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

static struct plumb_table t;
static plumb_error err;

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

/* Slices of a few names on a few tracks, nested up to four deep, some open, some failed. */
static void make(uint64_t seed, int events)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    int64_t ns[3] = {0};
    int depth[3] = {0};
    assert_int_equal(plumb_table_init(&t, &err), PLUMB_OK);
    for (uint32_t i = 0; i < 3; i++)
        plumb_table_track(&t, i);
    for (int i = 0; i < events; i++) {
        uint32_t track = (uint32_t)(random_next(&seed) % 3), event;
        ns[track] += (int64_t)(random_next(&seed) % 100);
        if (depth[track] > 0 && (depth[track] == 4 || random_next(&seed) % 2)) {
            event = plumb_table_end(&t, track, ns[track], 0);
            depth[track]--;
            if (random_next(&seed) % 10 == 0)
                plumb_table_add_arg(&t, event, id("failed"), PLUMB_ARG_BOOL,
                                    (union plumb_table_number){.u64 = 1});
        } else {
            event = plumb_table_begin(&t, track, ns[track], id(names[random_next(&seed) % 4]),
                                      random_next(&seed) % 2 ? id("p") : 0);
            depth[track]++;
            plumb_table_add_arg(&t, event, id("step"), PLUMB_ARG_I64,
                                (union plumb_table_number){.i64 = i % 5 - 2});
        }
    }
    assert_int_equal(plumb_table_finish(&t, &err), PLUMB_OK);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_row(const struct plumb_span_row *row)
{
    const struct plumb_table_slices *s = &t.slices;
    uint64_t ns[2000], n = 0, total = 0, self = 0, failed = 0, open = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t inside = 0;
        if (s->name[i] != row->name || s->category[i] != row->category ||
            (row->track != PLUMB_TABLE_NONE && row->track != s->track[i]))
            continue;
        if (s->flags[i]) {
            open += (s->flags[i] & PLUMB_SLICE_OPEN) != 0;
            failed += (s->flags[i] & PLUMB_SLICE_OPEN) == 0;
            continue;
        }
        for (uint32_t k = 0; k < s->count; k++)
            inside += s->parent[k] == i ? s->dur_ns[k] : 0;
        ns[n++] = s->dur_ns[i];
        total += s->dur_ns[i];
        self += s->dur_ns[i] - inside;
    }
    qsort(ns, n, sizeof *ns, by_size);
    assert_int_equal(row->of.count, n);
    assert_int_equal(row->of.total_ns, total);
    assert_int_equal(row->self_ns, self);
    assert_int_equal(row->failed, failed);
    assert_int_equal(row->open, open);
    if (n == 0)
        return;
    assert_int_equal(row->of.min_ns, ns[0]);
    assert_int_equal(row->of.max_ns, ns[n - 1]);
    assert_int_equal(row->of.p99_ns, ns[(99 * n + 99) / 100 - 1]);
    assert_int_equal(row->of.median_ns, (ns[(n - 1) / 2] + ns[n / 2]) / 2);
}

static void rows_are_the_sums_of_their_slices(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        make(seed, seed == 1 ? 0 : (int)seed * 100);
        for (int by_track = 0; by_track < 2; by_track++) {
            struct plumb_span_rows rows;
            uint64_t slices = 0;
            assert_int_equal(plumb_span_rows_init(&rows, &t, by_track, &err), PLUMB_OK);
            for (size_t i = 0; i < rows.count; i++) {
                const struct plumb_span_row *row = &rows.rows[i];
                check_row(row);
                slices += row->of.count + row->failed + row->open + row->cut + row->no_sample;
                assert_true(i == 0 || rows.rows[i - 1].of.total_ns >= row->of.total_ns);
                assert_true(by_track ? row->tracks == 1 : row->tracks >= 1);
            }
            assert_int_equal(slices, t.slices.count);
            plumb_span_rows_fini(&rows);
        }
        plumb_table_fini(&t);
    }
}

static void busy_and_idle_are_all_of_a_track(void **state)
{
    struct plumb_gaps g;
    (void)state;
    make(5, 1000);
    assert_int_equal(plumb_gaps_init(&g, &t, 7, &err), PLUMB_OK);
    assert_int_equal(g.gap_count, 7);
    for (size_t i = 0; i < g.track_count; i++) {
        const struct plumb_track_row *row = &g.tracks[i];
        uint64_t busy = 0;
        for (uint32_t k = 0; k < t.slices.count; k++)
            if (t.slices.track[k] == row->track && t.slices.depth[k] == 0)
                busy += t.slices.dur_ns[k];
        assert_int_equal(row->busy_ns, busy);
        assert_int_equal(row->busy_ns + row->idle_ns, row->last_ns - row->first_ns);
    }
    for (size_t i = 0; i < g.gap_count; i++) {
        const struct plumb_gap *gap = &g.gaps[i];
        assert_true(i == 0 || g.gaps[i - 1].dur_ns >= gap->dur_ns);
        assert_int_equal(plumb_table_end_ns(&t, gap->after), gap->ts_ns);
        assert_int_equal(t.slices.ts_ns[gap->before], gap->ts_ns + gap->dur_ns);
    }
    plumb_gaps_fini(&g);
    plumb_table_fini(&t);
}

static void steps_are_told_apart_by_node_and_number(void **state)
{
    struct plumb_step_marks marks;
    struct plumb_steps s;
    uint64_t slices = 0, known = 0;
    (void)state;
    make(6, 1000);
    assert_int_equal(plumb_step_marks_init(&marks, &t, &err), PLUMB_OK);
    assert_int_equal(plumb_steps_init(&s, &marks, &err), PLUMB_OK);
    assert_int_equal(s.node_count, 4);
    assert_int_equal(s.row_count, 20); /* steps -2 to 2 */
    for (size_t i = 0; i < s.node_count; i++) {
        const struct plumb_stepped_node *node = &s.nodes[i];
        uint64_t total = 0;
        for (uint32_t k = 0; k < node->rows.count; k++) {
            const struct plumb_step_row *row = &s.rows[node->rows.first + k];
            assert_int_equal(row->name, node->name);
            assert_int_equal(row->step, (int64_t)k - 2);
            total += row->total_ns;
            slices += row->count;
            if (row->step == node->slowest)
                assert_int_equal(row->total_ns, node->of.max_ns);
        }
        assert_int_equal(node->of.total_ns, total);
    }
    for (uint32_t i = 0; i < t.slices.count; i++)
        known += (t.slices.flags[i] & PLUMB_SLICE_OPEN) == 0;
    assert_int_equal(slices, known);
    plumb_steps_fini(&s);
    plumb_step_marks_fini(&marks);
    plumb_table_fini(&t);
}

/* Plumb leaves the step out where it is that of the span around. */
static void a_step_holds_for_what_runs_inside(void **state)
{
    for (int plumb = 0; plumb < 2; plumb++) {
        struct plumb_step_marks marks;
        struct plumb_steps s;
        (void)state;
        assert_int_equal(plumb_table_init(&t, &err), PLUMB_OK);
        uint32_t track = plumb_table_track(&t, 1);
        uint32_t outer = plumb_table_begin(&t, track, 0, id("outer"), 0);
        plumb_table_add_arg(&t, outer, id("step"), PLUMB_ARG_I64,
                            (union plumb_table_number){.i64 = 3});
        plumb_table_begin(&t, track, 1, id("inner"), 0);
        plumb_table_end(&t, track, 2, 0);
        plumb_table_end(&t, track, 3, 0);
        plumb_table_begin(&t, track, 4, id("inner"), 0);
        plumb_table_end(&t, track, 5, 0);
        t.plumb = plumb;
        assert_int_equal(plumb_table_finish(&t, &err), PLUMB_OK);
        assert_int_equal(plumb_step_marks_init(&marks, &t, &err), PLUMB_OK);
        assert_int_equal(plumb_steps_init(&s, &marks, &err), PLUMB_OK);
        assert_int_equal(s.row_count, plumb ? 2 : 1);
        assert_int_equal(s.rows[s.row_count - 1].count, 1);
        plumb_steps_fini(&s);
        plumb_step_marks_fini(&marks);
        plumb_table_fini(&t);
    }
}

static void the_slowest_come_first_with_what_is_inside(void **state)
{
    struct plumb_inside inside[PLUMB_INSIDE_MAX], rest;
    uint32_t out[5];
    uint64_t total, self;
    (void)state;
    make(7, 1500);
    uint32_t name = plumb_strings_find(&t.strings, "a");
    assert_int_equal(plumb_slowest(&t, name, out, 5, &total), 5);
    assert_true(total > 100);
    for (uint32_t i = 0, longer = 0; i < t.slices.count; i++) {
        longer += t.slices.name[i] == name && !(t.slices.flags[i] & PLUMB_SLICE_OPEN) &&
                  t.slices.dur_ns[i] > t.slices.dur_ns[out[4]];
        assert_true(longer <= 4);
    }
    for (int i = 0; i < 5; i++) {
        uint64_t sum = 0;
        size_t n = plumb_slice_inside(&t, out[i], inside, &rest, &self);
        for (size_t k = 0; k < n; k++)
            sum += inside[k].total_ns;
        assert_int_equal(sum + self, t.slices.dur_ns[out[i]]);
        assert_int_equal(rest.count, 0);
    }
    assert_int_equal(plumb_slowest(&t, UINT32_MAX, out, 5, &total), 0);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_sums_of_their_slices),
        cmocka_unit_test(busy_and_idle_are_all_of_a_track),
        cmocka_unit_test(steps_are_told_apart_by_node_and_number),
        cmocka_unit_test(a_step_holds_for_what_runs_inside),
        cmocka_unit_test(the_slowest_come_first_with_what_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
