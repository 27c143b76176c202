/* link: shared
 * TF-1 in C++: spans of scopes, calls and wrapped function objects leave the record of the C forms;
 * an exception that leaves a scope is a failure of its span, and no sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include "record.h"
#include <memory>
#include <plumb/plumb.hpp>
#include <stdexcept>
#include <string>

static int decode(int n)
{
    PLUMB_CXX_SPAN(span, "decode");
    if (n < 0)
        throw std::runtime_error("negative");
    return 2 * n;
}

/* The C macros work in C++ too. */
static int c_form(int n)
{
    PLUMB_SPAN("c form");
    for (PLUMB_STEPS (step, n)) {
        if (step == 3)
            break;
    }
    return n;
}

static void a_scope_is_a_span(void **)
{
    for (int i = 0; i < 10; i++)
        assert_int_equal(decode(i), 2 * i);
    assert_int_equal(c_form(5), 5);
    assert_int_equal(record_count("decode"), 10);
    assert_int_equal(record_row("decode").failures, 0);
    assert_int_equal(record_count("c form"), 1);
}

static void an_exception_is_a_failure_and_no_sample(void **)
{
    int caught = 0;
    for (int i = 0; i < 10; i++) {
        PLUMB_CXX_SPAN(frame, "frame");
        try {
            decode(i % 2 ? -1 : 1);
        } catch (const std::runtime_error &e) {
            assert_string_equal(e.what(), "negative");
            caught++;
        }
    }
    assert_int_equal(caught, 5);
    assert_int_equal(record_count("decode"), 5);
    assert_int_equal(record_row("decode").failures, 5);
    /* Caught inside: no failure of the span around it. */
    assert_int_equal(record_count("frame"), 10);
    assert_int_equal(record_row("frame").failures, 0);
}

static void an_exception_fails_every_span_that_it_leaves(void **)
{
    try {
        PLUMB_CXX_SPAN(outer, "outer");
        PLUMB_CXX_SPAN(inner, "inner");
        decode(-1);
    } catch (const std::exception &) {
    }
    assert_int_equal(record_row("outer").failures, 1);
    assert_int_equal(record_row("inner").failures, 1);
    assert_int_equal(record_row("decode").failures, 1);
    assert_int_equal(record_count("outer") + record_count("inner") + record_count("decode"), 0);
}

struct cleans_up {
    ~cleans_up()
    {
        PLUMB_CXX_SPAN(span, "clean up");
    }
};

static void a_span_that_ends_normally_during_unwinding_is_a_sample(void **)
{
    try {
        cleans_up c;
        throw 1;
    } catch (int) {
    }
    assert_int_equal(record_count("clean up"), 1);
    assert_int_equal(record_row("clean up").failures, 0);
}

static void a_call_gives_back_what_it_calls_gives(void **)
{
    plumb_node node = plumb_node_get("call");
    int value = 7;
    int &same = plumb::call(
        node, [](int &v) -> int & { return v; }, value);
    assert_ptr_equal(&same, &value);
    std::unique_ptr<int> moved = plumb::call(
        node, [](std::unique_ptr<int> p) { return p; }, std::unique_ptr<int>(new int(3)));
    assert_int_equal(*moved, 3);
    plumb::call(node, [] {});
    assert_int_equal(record_count("call"), 3);
}

static void a_wrapped_function_runs_in_a_span(void **)
{
    auto twice = plumb::wrap("twice", [](std::string s) { return s + s; });
    auto wrapped = plumb::wrap("wrapped decode", decode);
    assert_string_equal(twice("ab").c_str(), "abab");
    assert_string_equal(twice(std::string("c")).c_str(), "cc");
    assert_int_equal(wrapped(4), 8);
    try {
        wrapped(-1);
        fail_msg("no exception came through");
    } catch (const std::runtime_error &) {
    }
    assert_int_equal(record_count("twice"), 2);
    assert_int_equal(record_count("wrapped decode"), 1);
    assert_int_equal(record_row("wrapped decode").failures, 1);
}

static void a_handle_takes_arguments_and_failures(void **)
{
    {
        PLUMB_CXX_SPAN(span, "by hand");
        plumb_arg_str(span.handle(), "file", "a.mp4");
        plumb_span_fail(span.handle(), "by hand");
    }
    assert_int_equal(record_row("by hand").failures, 1);
}

static void stages_have_the_same_forms(void **)
{
    plumb_node node = plumb_node_get("call stage");
    auto twice = plumb::wrap_stage("wrap stage", [](int n) { return 2 * n; });
    plumb_request request = plumb_request_begin("cxx", nullptr);
    {
        PLUMB_CXX_STAGE(stage, "scope stage");
        plumb_stage_metric(stage.handle(), "metric");
        PLUMB_CXX_STAGE_DEBUG(debug, "debug stage");
        PLUMB_CXX_SPAN_DEBUG(debug_span, "debug span");
    }
    assert_int_equal(twice(4), 8);
    assert_int_equal(plumb::call_stage(node, [] { return 3; }), 3);
    {
        plumb::async first(plumb_node_get("async stage"), PLUMB_POINT_STAGE);
        plumb::async moved(std::move(first));
        first.end(); /* nothing: it was moved */
        assert_int_equal(record_count("async stage"), 0);
        moved.end();
    }
    try {
        plumb::async stage(plumb_node_get("async stage"), PLUMB_POINT_STAGE);
        throw 1;
    } catch (int) {
    }
    plumb_request_end(request);
    assert_int_equal(record_count("scope stage"), 1);
    assert_int_equal(record_count("wrap stage"), 1);
    assert_int_equal(record_count("call stage"), 1);
    assert_int_equal(record_count("async stage"), 1);
    assert_int_equal(record_row("async stage").failures, 1);
    assert_null(record_row("debug stage").node);
    assert_null(record_row("debug span").node);
}

int main()
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_scope_is_a_span),
        IN_A_RUN(an_exception_is_a_failure_and_no_sample),
        IN_A_RUN(an_exception_fails_every_span_that_it_leaves),
        IN_A_RUN(a_span_that_ends_normally_during_unwinding_is_a_sample),
        IN_A_RUN(a_call_gives_back_what_it_calls_gives),
        IN_A_RUN(a_wrapped_function_runs_in_a_span),
        IN_A_RUN(a_handle_takes_arguments_and_failures),
        IN_A_RUN(stages_have_the_same_forms),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
