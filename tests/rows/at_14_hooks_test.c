/* AT-14: hooks of nodes have names, run in order before a span and in reverse after it, and can be
 * fetched, replaced and removed; duplicates are refused; attaching and detaching are logged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static char calls[256];

static void note(const char *what, void *arg)
{
    strncat(calls, what, sizeof calls - strlen(calls) - 1);
    strncat(calls, arg, sizeof calls - strlen(calls) - 1);
    strncat(calls, " ", sizeof calls - strlen(calls) - 1);
}

static void before(plumb_node node, void *arg)
{
    (void)node;
    note("<", arg);
}

static void after(plumb_node node, void *arg)
{
    (void)node;
    note(">", arg);
}

static void attached(plumb_node node, void *arg)
{
    (void)node;
    note("+", arg);
}

static void detached(plumb_node node, void *arg)
{
    (void)node;
    note("-", arg);
}

static plumb_hook hook(const char *name, const char *arg)
{
    plumb_hook h = plumb_hook_default();
    h.name = name;
    h.before = before;
    h.after = after;
    h.on_attach = attached;
    h.on_detach = detached;
    h.arg = (void *)(uintptr_t)arg;
    return h;
}

static void expect_calls(const char *want)
{
    if (strcmp(calls, want) != 0)
        fail_msg("called: %s, not %s", calls, want);
    calls[0] = '\0';
}

static void add(plumb_node node, const char *name, const char *arg)
{
    plumb_hook h = hook(name, arg);
    assert_int_equal(plumb_hook_add(node, &h, NULL), PLUMB_OK);
}

static void run_marked(void)
{
    PLUMB_SPAN("hooked");
    strcat(calls, "body ");
}

static void hooks_run_in_order_and_in_reverse(void **state)
{
    plumb_node node = plumb_node_get("hooked");
    (void)state;
    run_marked();
    expect_calls("body ");
    add(node, "first", "1");
    add(node, "second", "2");
    add(node, "third", "3");
    expect_calls("+1 +2 +3 ");
    run_marked();
    expect_calls("<1 <2 <3 body >3 >2 >1 ");
    {
        PLUMB_SPAN_NODE(node);
    }
    expect_calls("<1 <2 <3 >3 >2 >1 ");
    {
        PLUMB_STAGE(stage, "hooked");
        plumb_span_fail(stage, "on purpose");
    }
    expect_calls("<1 <2 <3 >3 >2 >1 ");
}

static void a_name_is_taken_once(void **state)
{
    plumb_node node = plumb_node_get("hooked");
    plumb_hook h = hook("second", "x");
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_hook_add(node, &h, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "node 'hooked' has a hook 'second' already");
    assert_int_equal(plumb_hook_add(0, &h, &err), PLUMB_ERR_ARG);
    h.name = "";
    assert_int_equal(plumb_hook_add(node, &h, &err), PLUMB_ERR_ARG);
    expect_calls("");
}

static void hooks_are_fetched_replaced_and_removed(void **state)
{
    plumb_node node = plumb_node_get("hooked");
    plumb_hook h = plumb_hook_default();
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_hook_get(&h, node, "second", NULL), PLUMB_OK);
    assert_string_equal(h.name, "second");
    assert_string_equal(h.arg, "2");
    /* Of a caller that knows fewer fields: those alone, and its size stays. */
    h = plumb_hook_default();
    h.size = offsetof(plumb_hook, arg);
    assert_int_equal(plumb_hook_get(&h, node, "second", NULL), PLUMB_OK);
    assert_int_equal(h.size, offsetof(plumb_hook, arg));
    assert_null(h.arg);
    assert_int_equal(plumb_hook_get(&h, node, "none", &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "node 'hooked' has no hook 'none'");
    h = hook("second", "II");
    assert_int_equal(plumb_hook_replace(node, &h, NULL), PLUMB_OK);
    expect_calls("-2 +II ");
    run_marked();
    expect_calls("<1 <II <3 body >3 >II >1 ");
    assert_int_equal(plumb_hook_remove(node, "first", NULL), PLUMB_OK);
    expect_calls("-1 ");
    assert_int_equal(plumb_hook_remove(node, "first", &err), PLUMB_ERR_ARG);
    run_marked();
    expect_calls("<II <3 body >3 >II ");
    assert_int_equal(plumb_hook_remove(node, "second", NULL), PLUMB_OK);
    assert_int_equal(plumb_hook_remove(node, "third", NULL), PLUMB_OK);
    calls[0] = '\0';
    run_marked();
    expect_calls("body ");
}

static void remove_itself(plumb_node node, void *arg)
{
    plumb_hook_remove(node, "once", NULL);
    note("<", arg);
}

static void a_run_ends_with_the_hooks_that_it_began_with(void **state)
{
    plumb_node node = plumb_node_get("hooked");
    plumb_hook h = hook("once", "o");
    (void)state;
    h.before = remove_itself;
    h.on_attach = h.on_detach = NULL;
    assert_int_equal(plumb_hook_add(node, &h, NULL), PLUMB_OK);
    run_marked();
    expect_calls("<o body >o ");
    run_marked();
    expect_calls("body ");
}

static plumb_span begin(const char *name)
{
    return plumb_begin_node(plumb_node_get(name));
}

/* "ran" may begin and close others of its own. */
static void after_that_closes(plumb_node node, void *arg)
{
    plumb_span outer = begin("inside a hook");
    (void)node;
    begin("hooked");
    plumb_end(outer);
    note(">", arg);
}

static void what_an_outer_end_closes_gets_its_hooks(void **state)
{
    plumb_hook h = hook("ran", "r");
    plumb_span outer;
    (void)state;
    add(plumb_node_get("hooked"), "first", "1");
    add(plumb_node_get("hooked"), "second", "2");
    add(plumb_node_get("deeper"), "third", "3");
    add(plumb_node_get("outermost"), "fourth", "4");
    calls[0] = '\0';
    outer = begin("plain");
    begin("hooked");
    begin("between");
    begin("deeper");
    plumb_end(outer);
    expect_calls("<1 <2 <3 >3 >2 >1 ");
    /* The one that closes them has hooks as well. */
    outer = begin("outermost");
    begin("hooked");
    plumb_end(outer);
    expect_calls("<4 <1 <2 >2 >1 >4 ");
    run_marked();
    expect_calls("<1 <2 body >2 >1 ");
    h.after = after_that_closes;
    h.on_attach = h.on_detach = NULL;
    assert_int_equal(plumb_hook_add(plumb_node_get("deeper"), &h, NULL), PLUMB_OK);
    outer = begin("plain");
    begin("deeper");
    plumb_end(outer);
    expect_calls("<3 <r <1 <2 >2 >1 >r >3 ");
    assert_int_equal(plumb_hook_remove(plumb_node_get("deeper"), "ran", NULL), PLUMB_OK);
}

static void a_run_that_a_stop_cuts_short_gets_its_hooks(void **state)
{
    plumb_span outer = begin("plain"), inner = begin("hooked"), deeper = begin("deeper");
    (void)state;
    plumb_stop(NULL);
    expect_calls("<1 <2 <3 ");
    plumb_end(deeper);
    expect_calls(">3 ");
    plumb_end(outer);
    expect_calls(">2 >1 ");
    plumb_end(inner); /* too late: nothing */
    expect_calls("");
    record_start();
    run_marked();
    expect_calls("<1 <2 body >2 >1 ");
}

static void hooks_leave_the_statistics_alone(void **state)
{
    const plumb_row *row;
    plumb_rows *rows;
    (void)state;
    rows = record_rows(NULL, NULL);
    row = record_find(rows, NULL, "hooked");
    assert_non_null(row);
    assert_int_equal(row->count, 8);
    assert_int_equal(row->failures, 1);
    plumb_rows_free(rows);
}

static void too_many_are_refused(void **state)
{
    plumb_node node = plumb_node_get("crowded");
    plumb_error err = {0, ""};
    char name[16];
    (void)state;
    for (int i = 0; i <= 16; i++) {
        snprintf(name, sizeof name, "h%d", i);
        plumb_hook h = hook(name, "");
        assert_int_equal(plumb_hook_add(node, &h, &err), i < 16 ? PLUMB_OK : PLUMB_ERR_STATE);
    }
    assert_string_equal(err.message, "the node has 16 hooks already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_run_in_order_and_in_reverse),
        cmocka_unit_test(a_name_is_taken_once),
        cmocka_unit_test(hooks_are_fetched_replaced_and_removed),
        cmocka_unit_test(a_run_ends_with_the_hooks_that_it_began_with),
        cmocka_unit_test(hooks_leave_the_statistics_alone),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(what_an_outer_end_closes_gets_its_hooks),
        cmocka_unit_test(a_run_that_a_stop_cuts_short_gets_its_hooks),
    };
    return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
