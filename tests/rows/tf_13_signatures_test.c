/* TF-13: what goes into a stage and what comes out is recorded by shape, type, device and value,
 * and whatever a program hands over, nothing of it changes the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "hash_alike.h"
#include "record_signatures.h"

/* ---- What is recorded ------------------------------------------------------------------------ */

static void tensors_keep_shape_type_device_and_strides(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor latents, text, out;
    float data[24] = {0};
    (void)state;
    fixture_tensor(&latents, NULL, "bfloat16", DIMS(1, 16, 60, 104));
    latents.dl.device = (DLDevice){kDLCUDA, 1};
    fixture_strided(&text, data, "float32", DIMS(4, 6), STRIDES(1, 4));
    fixture_tensor(&out, data, "float32", DIMS(2, 3, 4));
    record_start();
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "latents", &latents.dl);
        plumb_stage_input(stage, "cond.text", &text.dl);
        plumb_stage_output(stage, "frames[3]", &out.dl);
    }
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    const struct plumb_signature_tensor *t = signature_tensor(&stage->last.inputs, "latents");
    assert_int_equal(t->ndim, 4);
    assert_int_equal(t->shape[3], 104);
    assert_string_equal(t->dtype, "bfloat16");
    assert_string_equal(t->device, "cuda:1");
    assert_int_equal(t->requires_grad, -1);
    assert_int_equal(t->bytes, 2 * 16 * 60 * 104);
    assert_null(t->strides);
    assert_null(t->stats);
    t = signature_tensor(&stage->last.inputs, "cond.text");
    assert_string_equal(t->device, "cpu");
    assert_int_equal(t->strides[1], 4);
    assert_int_equal(signature_tensor(&stage->last.outputs, "frames[3]")->bytes, 96);
    assert_int_equal(stage->calls, 1);
    assert_int_equal(s.pid, getpid());
    plumb_signature_fini(&s);
}

static void scalars_texts_and_lists_are_kept_as_they_are(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor t;
    (void)state;
    fixture_tensor(&t, NULL, "int64", DIMS(3));
    const plumb_value mixed[] = {plumb_value_tensor(&t.dl), plumb_value_i64(7), plumb_value_null(),
                                 plumb_value_str("x")};
    const plumb_value nested[] = {plumb_value_list(mixed, 4), plumb_value_list(NULL, 0)};
    record_start();
    {
        PLUMB_STAGE(stage, "decode");
        plumb_stage_input_value(stage, "list", plumb_value_list(nested, 2));
        plumb_stage_input_value(stage, "empty", plumb_value_list(mixed, 0));
        plumb_stage_input_value(stage, "nothing", plumb_value_null());
        plumb_stage_input(stage, "no tensor", NULL);
        plumb_stage_input_value(stage, "no text", plumb_value_str(NULL));
        plumb_stage_input_value(stage, "config", plumb_value_str("DecodeConfig"));
        plumb_stage_output_value(stage, "count", plumb_value_i64(INT64_MIN));
        plumb_stage_metadata(stage, "cfg_scale", plumb_value_f64(5.0));
        plumb_stage_metadata(stage, "bad", plumb_value_f64(NAN));
        plumb_stage_metadata(stage, "tiled", plumb_value_bool(2));
    }
    record_finish_signatures(&s);
    const struct plumb_signature_call *last = &signature_stage(&s, "decode")->last;
    const struct plumb_signature_value *list = signature_value(&last->inputs, "list");
    assert_int_equal(list->is.list.count, 2);
    assert_int_equal(list->is.list.at[0].is.list.at[0].is.tensor->shape[0], 3);
    assert_int_equal(list->is.list.at[0].is.list.at[1].is.integer, 7);
    assert_int_equal(list->is.list.at[0].is.list.at[2].kind, PLUMB_SIGNATURE_NULL);
    assert_int_equal(list->is.list.at[1].is.list.count, 0);
    assert_int_equal(signature_value(&last->inputs, "empty")->is.list.count, 0);
    assert_int_equal(signature_value(&last->inputs, "nothing")->kind, PLUMB_SIGNATURE_NULL);
    assert_int_equal(signature_value(&last->inputs, "no tensor")->kind, PLUMB_SIGNATURE_NULL);
    assert_int_equal(signature_value(&last->inputs, "no text")->kind, PLUMB_SIGNATURE_NULL);
    assert_string_equal(signature_value(&last->inputs, "config")->is.text, "DecodeConfig");
    assert_true(signature_value(&last->outputs, "count")->is.integer == INT64_MIN);
    assert_true(signature_value(&last->metadata, "cfg_scale")->is.real == 5.0);
    assert_true(isnan(signature_value(&last->metadata, "bad")->is.real));
    assert_true(signature_value(&last->metadata, "tiled")->is.boolean);
    plumb_signature_fini(&s);
}

/* A mapping outside of lists has an entry for each field; in a list it is a value. */
static void mappings_are_kept_wherever_they_stand_also_empty_ones(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor t;
    (void)state;
    fixture_tensor(&t, NULL, "int64", DIMS(3));
    const plumb_value one[] = {plumb_value_i64(7)};
    const plumb_field inner[] = {{"shape", plumb_value_i64(4)}, {"", plumb_value_null()}};
    const plumb_field fields[] = {{"n", plumb_value_i64(1)},
                                  {"text", plumb_value_tensor(&t.dl)},
                                  {"n", plumb_value_i64(2)},
                                  {NULL, plumb_value_fields(inner, 2)},
                                  {"none", plumb_value_fields(NULL, 0)},
                                  {"list", plumb_value_list(one, 1)}};
    const plumb_value list[] = {plumb_value_fields(fields, 6), plumb_value_i64(1)};
    record_start();
    {
        PLUMB_STAGE(stage, "map");
        plumb_stage_input_value(stage, "cond", plumb_value_fields(fields, 6));
        plumb_stage_input_value(stage, "list", plumb_value_list(list, 2));
        plumb_stage_input_value(stage, "empty", plumb_value_fields(NULL, 0));
        plumb_stage_output_value(stage, "also empty", plumb_value_fields(fields, 0));
        plumb_stage_metadata(stage, "config", plumb_value_fields(inner, 1));
    }
    record_finish_signatures(&s);
    const struct plumb_signature_call *last = &signature_stage(&s, "map")->last;
    const struct plumb_signature_value *v;
    assert_int_equal(last->inputs.count, 8);
    assert_int_equal(signature_value(&last->inputs, "cond.n")->is.integer, 2);
    assert_int_equal(signature_tensor(&last->inputs, "cond.text")->shape[0], 3);
    assert_int_equal(signature_value(&last->inputs, "cond..shape")->is.integer, 4);
    v = signature_value(&last->inputs, "cond.none");
    assert_int_equal(v->kind, PLUMB_SIGNATURE_FIELDS);
    assert_int_equal(v->is.fields.count, 0);
    v = signature_value(&last->inputs, "list");
    assert_int_equal(v->is.list.count, 2);
    assert_int_equal(v->is.list.at[1].is.integer, 1);
    v = &v->is.list.at[0];
    assert_int_equal(v->kind, PLUMB_SIGNATURE_FIELDS);
    assert_int_equal(v->is.fields.count, 5);
    assert_int_equal(signature_value(&v->is.fields, "n")->is.integer, 2);
    assert_int_equal(signature_tensor(&v->is.fields, "text")->shape[0], 3);
    assert_int_equal(signature_value(&v->is.fields, "none")->is.fields.count, 0);
    assert_int_equal(signature_value(&v->is.fields, "list")->is.list.at[0].is.integer, 7);
    v = signature_value(&v->is.fields, "");
    assert_int_equal(v->is.fields.count, 2);
    assert_int_equal(signature_value(&v->is.fields, "shape")->is.integer, 4);
    assert_int_equal(signature_value(&last->inputs, "empty")->kind, PLUMB_SIGNATURE_FIELDS);
    assert_int_equal(signature_value(&last->outputs, "also empty")->kind, PLUMB_SIGNATURE_FIELDS);
    assert_int_equal(signature_value(&last->metadata, "config.shape")->is.integer, 4);
    assert_int_equal(last->dropped, 0);
    plumb_signature_fini(&s);
}

static void mappings_of_a_list_belong_to_the_form_and_have_bounds(void **state)
{
    struct plumb_signature s;
    static plumb_field many[2000], loop[1];
    plumb_value around = plumb_value_fields(loop, 1);
    (void)state;
    for (size_t i = 0; i < 2000; i++)
        many[i] = (plumb_field){"x", plumb_value_null()};
    loop[0] = (plumb_field){"again", around};
    const plumb_value wide = plumb_value_fields(many, 2000);
    record_start();
    for (int64_t i = 0; i < 4; i++) {
        const plumb_field f[] = {{i % 2 ? "odd" : "even", plumb_value_i64(i)}};
        const plumb_value value = plumb_value_fields(f, 1);
        PLUMB_STAGE(stage, "forms");
        plumb_stage_input_value(stage, "list", plumb_value_list(&value, 1));
    }
    {
        PLUMB_STAGE(stage, "bounds");
        plumb_stage_input_value(stage, "wide", plumb_value_list(&wide, 1));
        plumb_stage_input_value(stage, "deep", plumb_value_list(&around, 1));
    }
    record_finish_signatures(&s);
    assert_int_equal(signature_stage(&s, "forms")->distinct_count, 2);
    assert_int_equal(signature_stage(&s, "forms")->distinct[0].count, 2);
    const struct plumb_signature_call *last = &signature_stage(&s, "bounds")->last;
    assert_int_equal(last->dropped, 1);
    const struct plumb_signature_value *v = &signature_value(&last->inputs, "deep")->is.list.at[0];
    while (v->kind == PLUMB_SIGNATURE_FIELDS)
        v = signature_value(&v->is.fields, "again");
    assert_string_equal(v->is.text, "<error: the mappings are nested too deeply>");
    plumb_signature_fini(&s);
}

static void hostile_names_stay_distinct(void **state)
{
    struct plumb_signature s;
    char long_name[1000];
    (void)state;
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    record_start();
    {
        PLUMB_STAGE(stage, "st\xff\"age\n");
        plumb_stage_input_value(stage, NULL, plumb_value_i64(1));
        plumb_stage_input_value(stage, "\xff", plumb_value_i64(2));
        plumb_stage_input_value(stage, "\\xff", plumb_value_i64(3));
        plumb_stage_input_value(stage, long_name, plumb_value_i64(4));
        plumb_stage_input_value(stage, "\x01\"", plumb_value_str("\xc3("));
    }
    record_finish_signatures(&s);
    const struct plumb_signature_items *in = &signature_stage(&s, "st\xff\"age\n")->last.inputs;
    assert_int_equal(in->count, 5);
    assert_int_equal(signature_value(in, "")->is.integer, 1);
    assert_int_equal(signature_value(in, "\xff")->is.integer, 2);
    assert_int_equal(signature_value(in, "\\xff")->is.integer, 3);
    assert_int_equal(strlen(in->at[3].name), 255);
    assert_string_equal(signature_value(in, "\x01\"")->is.text, "\xc3(");
    plumb_signature_fini(&s);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void stages_whose_names_hash_alike_stay_two(void **state)
{
    struct plumb_signature s;
    (void)state;
    record_start();
    {
        PLUMB_STAGE(stage, ALIKE_A);
        plumb_stage_input_value(stage, "of", plumb_value_i64(1));
    }
    {
        PLUMB_STAGE(stage, ALIKE_B);
        plumb_stage_input_value(stage, "of", plumb_value_i64(2));
    }
    record_finish_signatures(&s);
    assert_int_equal(s.stage_count, 2);
    const struct plumb_signature_stage *a = signature_stage(&s, ALIKE_A);
    const struct plumb_signature_stage *b = signature_stage(&s, ALIKE_B);
    assert_int_equal(a->calls, 1);
    assert_int_equal(signature_value(&a->last.inputs, "of")->is.integer, 1);
    assert_int_equal(signature_value(&b->last.inputs, "of")->is.integer, 2);
    plumb_signature_fini(&s);
}

static void the_last_call_and_every_different_one_are_kept(void **state)
{
    struct plumb_signature s;
    (void)state;
    record_start();
    for (int i = 0; i < 10; i++)
        signature_call(i % 3 == 2 ? 21 : 9, i, 0);
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    assert_int_equal(stage->calls, 10);
    assert_int_equal(stage->other_calls, 0);
    assert_int_equal(stage->distinct_count, 2);
    assert_int_equal(stage->distinct[0].count, 7);
    assert_int_equal(stage->distinct[1].count, 3);
    assert_int_equal(signature_tensor(&stage->distinct[1].inputs, "latents")->shape[0], 21);
    /* Of the last of them each. */
    assert_int_equal(signature_value(&stage->distinct[1].inputs, "steps")->is.integer, 8);
    assert_int_equal(signature_value(&stage->last.inputs, "steps")->is.integer, 9);
    assert_int_equal(signature_tensor(&stage->last.outputs, "out")->shape[0], 9);
    plumb_signature_fini(&s);
}

static void calls_that_fail_or_are_abandoned_leave_nothing(void **state)
{
    struct plumb_signature s;
    (void)state;
    record_start();
    signature_call(9, 1, 0);
    signature_call(21, 2, 1);
    signature_call(33, 3, 2);
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    assert_int_equal(stage->calls, 1);
    assert_int_equal(stage->distinct_count, 1);
    assert_int_equal(signature_value(&stage->last.inputs, "steps")->is.integer, 1);
    plumb_signature_fini(&s);
}

static void too_many_different_calls_are_counted_together(void **state)
{
    struct plumb_signature s;
    uint64_t sum = 0;
    (void)state;
    record_start();
    for (int i = 0; i < 200; i++)
        signature_call(1 + i % 100, i, 0);
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    assert_int_equal(stage->calls, 200);
    assert_int_equal(stage->distinct_count, 32);
    for (size_t i = 0; i < stage->distinct_count; i++)
        sum += stage->distinct[i].count;
    assert_int_equal(sum, 64);
    assert_int_equal(stage->other_calls, 136);
    assert_int_equal(signature_value(&stage->last.inputs, "steps")->is.integer, 199);
    plumb_signature_fini(&s);
}

static void stages_within_stages_do_not_mix(void **state)
{
    struct plumb_signature s;
    (void)state;
    record_start();
    {
        PLUMB_STAGE(outer, "pipeline");
        plumb_stage_input_value(outer, "a", plumb_value_i64(1));
        {
            PLUMB_STAGE(inner, "decode");
            plumb_stage_input_value(inner, "b", plumb_value_i64(2));
            plumb_stage_input_value(outer, "c", plumb_value_i64(3));
        }
        {
            PLUMB_STAGE(silent, "silent");
            PLUMB_SPAN_AS(plain, "plain");
            plumb_stage_input_value(plain, "x", plumb_value_i64(4));
        }
        plumb_stage_output_value(outer, "d", plumb_value_i64(5));
    }
    record_finish_signatures(&s);
    assert_int_equal(s.stage_count, 2);
    assert_int_equal(signature_stage(&s, "decode")->last.inputs.count, 1);
    assert_int_equal(signature_stage(&s, "pipeline")->last.inputs.count, 2);
    assert_int_equal(
        signature_value(&signature_stage(&s, "pipeline")->last.outputs, "d")->is.integer, 5);
    plumb_signature_fini(&s);
}

static void a_call_knows_its_request(void **state)
{
    struct plumb_signature s;
    (void)state;
    record_start();
    signature_call(9, 1, 0);
    plumb_request request = plumb_request_begin("req_seven", NULL);
    signature_call(21, 2, 0);
    plumb_request_end(request);
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    assert_null(stage->distinct[0].request_id);
    assert_string_equal(stage->distinct[1].request_id, "req_seven");
    assert_string_equal(s.request_id, "req_seven");
    plumb_signature_fini(&s);
}

/* ---- Where stages run ------------------------------------------------------------------------ */

enum { THREADS = 8, CALLS = 200 };

static void *work(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        signature_call(1 + *(int *)arg % 2, i, 0);
    return NULL;
}

static void stages_of_worker_threads_are_recorded(void **state)
{
    struct plumb_signature s;
    pthread_t thread[THREADS];
    int number[THREADS];
    (void)state;
    record_start();
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, work, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    record_finish_signatures(&s);
    const struct plumb_signature_stage *stage = signature_stage(&s, "denoise");
    assert_int_equal(stage->calls, THREADS * CALLS);
    assert_int_equal(stage->distinct_count, 2);
    assert_int_equal(stage->distinct[0].count, THREADS * CALLS / 2);
    plumb_signature_fini(&s);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void start_full(void)
{
    setenv("PLUMB_SIGNATURE", "full", 1);
    record_start();
    unsetenv("PLUMB_SIGNATURE");
}

static void full_signatures_have_statistics_or_the_reason(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor seen, device, complex_one, empty;
    float data[6] = {1, 2, 3, 6, NAN, -INFINITY};
    (void)state;
    fixture_tensor(&seen, data, "float32", DIMS(2, 3));
    fixture_tensor(&device, data, "float32", DIMS(6));
    device.dl.device = (DLDevice){kDLROCM, 0};
    fixture_tensor(&complex_one, data, "complex64", DIMS(3));
    fixture_tensor(&empty, NULL, "float32", DIMS(0));
    start_full();
    {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input(stage, "seen", &seen.dl);
        plumb_stage_input(stage, "device", &device.dl);
        plumb_stage_input(stage, "complex", &complex_one.dl);
        plumb_stage_input(stage, "empty", &empty.dl);
    }
    record_finish_signatures(&s);
    const struct plumb_signature_items *in = &signature_stage(&s, "denoise")->last.inputs;
    const struct plumb_signature_stats *v = signature_tensor(in, "seen")->stats;
    assert_int_equal(v->n, 6);
    assert_int_equal(v->nan, 1);
    assert_int_equal(v->inf, 1);
    assert_int_equal(v->neg_inf, 1);
    assert_true(v->min == 1 && v->max == 6 && v->mean == 3);
    assert_true(fabs(v->std - sqrt(14.0 / 3)) < 1e-12);
    assert_string_equal(signature_tensor(in, "device")->stats_error,
                        "the tensor lies in memory of rocm:0");
    assert_string_equal(signature_tensor(in, "complex")->stats_error,
                        "no statistics of complex64: complex numbers have no order");
    assert_true(signature_tensor(in, "empty")->stats->n == 0 &&
                isnan(signature_tensor(in, "empty")->stats->min));
    plumb_signature_fini(&s);
}

static void off_records_nothing_and_writes_no_file(void **state)
{
    char dir[1024];
    char path[1200];
    (void)state;
    setenv("PLUMB_SIGNATURE", "off", 1);
    record_start();
    unsetenv("PLUMB_SIGNATURE");
    signature_call(9, 1, 0);
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_SIGNATURE_FILE);
    assert_int_equal(access(path, F_OK), -1);
    signature_call(9, 1, 0); /* and without a run */
}

/* ---- Nothing changes the program ------------------------------------------------------------- */

static void tensors_that_make_no_sense_are_recorded_as_errors(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor t;
    (void)state;
    start_full();
    {
        PLUMB_STAGE(stage, "hostile");
        errno = 77;
        fixture_tensor(&t, NULL, "float32", DIMS(4));
        plumb_stage_input(stage, "no data", &t.dl);
        t.dl.ndim = -1;
        plumb_stage_input(stage, "fewer", &t.dl);
        t.dl.ndim = INT32_MAX;
        plumb_stage_input(stage, "more", &t.dl);
        t.dl.ndim = 1;
        t.dl.shape = NULL;
        plumb_stage_input(stage, "no shape", &t.dl);
        fixture_tensor(&t, NULL, "float32", DIMS(INT64_MAX, INT64_MAX));
        plumb_stage_input(stage, "huge", &t.dl);
        fixture_tensor(&t, NULL, "dlpack(77,13,3)", DIMS(2));
        plumb_stage_input(stage, "odd", &t.dl);
        plumb_value unknown = plumb_value_null();
        unknown.kind = 99;
        plumb_stage_input_value(stage, "unknown", unknown);
        plumb_value deep = plumb_value_i64(1);
        plumb_value level[40];
        for (int i = 0; i < 40; i++) {
            level[i] = deep;
            deep = plumb_value_list(&level[i], 1);
        }
        plumb_stage_input_value(stage, "deep", deep);
        plumb_stage_input_value(stage, "endless", plumb_value_list(level, 1));
        assert_int_equal(errno, 77);
    }
    record_finish_signatures(&s);
    const struct plumb_signature_items *in = &signature_stage(&s, "hostile")->last.inputs;
    assert_string_equal(signature_tensor(in, "no data")->stats_error, "the tensor has no data");
    assert_string_equal(signature_value(in, "fewer")->is.text,
                        "<error: the tensor has -1 dimensions, not 0 to 64>");
    assert_string_equal(signature_value(in, "no shape")->is.text,
                        "<error: the tensor has 1 dimensions and no shape>");
    assert_string_equal(signature_value(in, "huge")->is.text,
                        "<error: the shape of the tensor is too large for 2^63 - 1 bytes>");
    assert_string_equal(signature_tensor(in, "odd")->dtype, "dlpack(77,13,3)");
    assert_string_equal(signature_value(in, "unknown")->is.text,
                        "<error: a kind of value that this plumb does not know>");
    const struct plumb_signature_value *v = signature_value(in, "deep");
    for (int i = 0; i < PLUMB_SIGNATURE_DEPTH; i++)
        v = &v->is.list.at[0];
    assert_string_equal(v->is.text, "<error: the lists are nested too deeply>");
    plumb_signature_fini(&s);
}

static void what_does_not_fit_is_counted(void **state)
{
    struct plumb_signature s;
    struct fixture_tensor t;
    (void)state;
    fixture_tensor(&t, NULL, "float32", DIMS(4, 4));
    plumb_value *many = malloc(10000 * sizeof *many);
    assert_non_null(many);
    for (int i = 0; i < 10000; i++)
        many[i] = plumb_value_tensor(&t.dl);
    record_start();
    {
        PLUMB_STAGE(stage, "wide");
        plumb_stage_input_value(stage, "many", plumb_value_list(many, 10000));
        plumb_stage_input_value(stage, "some", plumb_value_list(many, 500));
    }
    record_finish_signatures(&s);
    const struct plumb_signature_call *last = &signature_stage(&s, "wide")->last;
    assert_int_equal(last->dropped, 1);
    assert_int_equal(last->inputs.count, 1);
    assert_int_equal(signature_value(&last->inputs, "some")->is.list.count, 500);
    plumb_signature_fini(&s);
    free(many);
}

static void *tell(void *stage)
{
    plumb_stage_input_value(*(plumb_span *)stage, "elsewhere", plumb_value_i64(4));
    return NULL;
}

static void a_stage_that_has_ended_or_is_another_threads_takes_nothing(void **state)
{
    pthread_t thread;
    struct plumb_signature s;
    plumb_span none = {0};
    (void)state;
    record_start();
    plumb_span ended = plumb_begin_with(plumb_node_get("ended"), PLUMB_POINT_STAGE);
    plumb_stage_input_value(ended, "before", plumb_value_i64(1));
    assert_int_equal(pthread_create(&thread, NULL, tell, &ended), 0);
    pthread_join(thread, NULL);
    plumb_end(ended);
    plumb_stage_input_value(ended, "after", plumb_value_i64(2));
    plumb_stage_input_value(none, "none", plumb_value_i64(3));
    record_finish_signatures(&s);
    assert_int_equal(signature_stage(&s, "ended")->last.inputs.count, 1);
    plumb_signature_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(tensors_keep_shape_type_device_and_strides, record_close),
        cmocka_unit_test_teardown(scalars_texts_and_lists_are_kept_as_they_are, record_close),
        cmocka_unit_test_teardown(mappings_are_kept_wherever_they_stand_also_empty_ones,
                                  record_close),
        cmocka_unit_test_teardown(mappings_of_a_list_belong_to_the_form_and_have_bounds,
                                  record_close),
        cmocka_unit_test_teardown(hostile_names_stay_distinct, record_close),
        cmocka_unit_test_teardown(stages_whose_names_hash_alike_stay_two, record_close),
        cmocka_unit_test_teardown(the_last_call_and_every_different_one_are_kept, record_close),
        cmocka_unit_test_teardown(calls_that_fail_or_are_abandoned_leave_nothing, record_close),
        cmocka_unit_test_teardown(too_many_different_calls_are_counted_together, record_close),
        cmocka_unit_test_teardown(stages_within_stages_do_not_mix, record_close),
        cmocka_unit_test_teardown(a_call_knows_its_request, record_close),
        cmocka_unit_test_teardown(stages_of_worker_threads_are_recorded, record_close),
        cmocka_unit_test_teardown(full_signatures_have_statistics_or_the_reason, record_close),
        cmocka_unit_test_teardown(off_records_nothing_and_writes_no_file, record_close),
        cmocka_unit_test_teardown(tensors_that_make_no_sense_are_recorded_as_errors, record_close),
        cmocka_unit_test_teardown(what_does_not_fit_is_counted, record_close),
        cmocka_unit_test_teardown(a_stage_that_has_ended_or_is_another_threads_takes_nothing,
                                  record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
