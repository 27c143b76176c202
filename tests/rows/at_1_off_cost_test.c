/* AT-1: off, plumb_activation() makes no call after its first pass, whatever else is recorded; on,
 * each pass is one. (What the load and the branch cost is measured in bench/.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlpack/dlpack.h>

#include "record.h"

enum { PASSES = 1000000 };

static struct plumb_api counting;
static uint64_t calls;

static void count_call(plumb_node node, const char *label, const plumb_value *value)
{
    (void)node, (void)label, (void)value;
    calls++;
}

static void count_register(struct plumb_client *client)
{
    (void)client;
    calls++;
}

static void pass(void)
{
    static float x[2] = {1, 2};
    static int64_t two = 2;
    static DLTensor t;
    t.data = x;
    t.device.device_type = kDLCPU;
    t.ndim = 1;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = &two;
    plumb_activation(1, "out", &t);
    plumb_activation_value(1, "out", plumb_value_tensor(&t));
}

/* Calls through the table while the layer runs again and again. */
static uint64_t calls_of_many_passes(void)
{
    const struct plumb_api *real = plumb_client_1.api;
    calls = 0;
    counting = *real;
    counting.activation = count_call;
    counting.activation_register = count_register;
    plumb_client_1.api = &counting;
    for (int i = 0; i < PASSES; i++)
        pass();
    plumb_client_1.api = real;
    return calls;
}

static void off_no_call_is_made_after_the_first_pass(void **state)
{
    (void)state;
    pass();
    assert_int_equal(calls_of_many_passes(), 0);
}

static void a_run_without_activations_makes_no_call_either(void **state)
{
    (void)state;
    record_start();
    pass();
    assert_int_equal(calls_of_many_passes(), 0);
    record_stop();
    assert_int_equal(calls_of_many_passes(), 0);
}

static void on_each_pass_is_a_call_until_the_run_stops(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    o.activations = PLUMB_ON;
    record_start_with(o);
    assert_int_equal(calls_of_many_passes(), 2 * PASSES);
    record_stop();
    assert_int_equal(calls_of_many_passes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_no_call_is_made_after_the_first_pass),
        cmocka_unit_test(a_run_without_activations_makes_no_call_either),
        cmocka_unit_test(on_each_pass_is_a_call_until_the_run_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
