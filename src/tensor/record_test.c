/* A record comes back from its bytes as it was, and damaged bytes do no harm. */
#include "tensor/pending.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct plumb_record_columns columns;

static void want(const char *const *names, int own)
{
    memset(&columns, 0, sizeof columns);
    for (; *names; names++)
        plumb_record_add_column(&columns, *names, plumb_record_stat(*names));
    for (int i = 0; i < own; i++)
        plumb_record_add_column(&columns, i ? "second" : "first", -1 - i);
}

static void fill(struct plumb_act_record *r, uint64_t seq)
{
    memset(r, 0, sizeof *r);
    r->head.step = 7;
    r->head.call = 2;
    r->head.seq = seq;
    r->head.time_ns = 1795308040400968000;
    r->head.dtype = (struct plumb_dtype){PLUMB_DTYPE_FLOAT, 32, 1};
    r->head.ndim = 2;
    r->shape[0] = 3;
    r->shape[1] = 4;
    r->module = "block.3.attn";
    r->phase = "inference";
    strcpy(r->label, "out");
    r->stats.n = 12;
    r->stats.sum = 1.25;
    r->stats.abs_mean = 0.1;
    r->stats.hash = 0xfeedface;
    r->stats.samples = PLUMB_VALUE_SAMPLES;
    r->stats.sample[PLUMB_VALUE_SAMPLES - 1] = -3;
    r->stats.histogram[PLUMB_VALUE_BINS - 1] = 9;
    r->own[0] = 42;
    r->head.own_bad = 2;
    strcpy(r->own_why[1], "no luck");
}

static const char line[] =
    "{\"module\":\"block.3.attn\",\"tensor\":\"out\",\"step\":7,\"sum\":1.25,\"abs_mean\":0.1,"
    "\"hash\":\"00000000feedface\",\"sample\":[0,0,0,0,0,0,0,-3],"
    "\"histogram\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,9],\"first\":42,"
    "\"second\":\"<error: no luck>\",\"call\":2,\"rank\":1,\"seq\":5,\"phase\":\"inference\","
    "\"io\":\"out\",\"dtype\":\"float32\",\"shape\":[3,4],\"time\":1795308040.400968}\n";

static void everything_comes_back_and_makes_the_same_line(void **state)
{
    static const char *const names[] = {"sum", "abs_mean", "hash", "sample", "histogram", NULL};
    static struct plumb_act_record r, back;
    static unsigned char bytes[PLUMB_RECORD_BYTES];
    struct plumb_buf out = {0};
    (void)state;
    want(names, 2);
    fill(&r, 5);
    memset(bytes, 0xa5, sizeof bytes);
    memset(&back, 0xa5, sizeof back);
    size_t n = plumb_record_pack(bytes, &r, &columns);
    assert_int_equal(plumb_record_unpack(&back, bytes, sizeof bytes), n);
    plumb_record_line(&out, &back, &columns, 1);
    assert_string_equal(out.data, line);
    plumb_buf_fini(&out);
}

static void a_small_record_takes_few_bytes(void **state)
{
    static const char *const names[] = {"abs_mean", "sum", NULL};
    static struct plumb_act_record r;
    static unsigned char bytes[PLUMB_RECORD_BYTES];
    (void)state;
    want(names, 0);
    fill(&r, 0);
    assert_true(plumb_record_pack(bytes, &r, &columns) < 320);
}

/* The last of the single figures, and the bytes before it. */
static void a_small_record_has_all_of_its_figures(void **state)
{
    static const char *const names[] = {"sum", "std", "zeros", "hash_any", NULL};
    static struct plumb_act_record r, back;
    static unsigned char bytes[PLUMB_RECORD_BYTES];
    struct plumb_buf out = {0};
    (void)state;
    want(names, 0);
    fill(&r, 0);
    r.stats.std = 2.5;
    r.stats.zeros = 3;
    r.stats.set_hash = 0xabcdef;
    memset(&back, 0xa5, sizeof back);
    plumb_record_pack(bytes, &r, &columns);
    assert_true(plumb_record_unpack(&back, bytes, sizeof bytes) > 0);
    plumb_record_line(&out, &back, &columns, 0);
    assert_non_null(strstr(
        out.data, "\"sum\":1.25,\"std\":2.5,\"zeros\":3,\"hash_any\":\"0000000000abcdef\","));
    plumb_buf_fini(&out);
}

static void a_reason_stands_for_the_statistics(void **state)
{
    static const char *const names[] = {"sum", NULL};
    static struct plumb_act_record r, back;
    static unsigned char bytes[PLUMB_RECORD_BYTES];
    struct plumb_buf out = {0};
    (void)state;
    want(names, 0);
    fill(&r, 0);
    r.head.ndim = -1;
    strcpy(r.why, "the tensor has no data");
    plumb_record_pack(bytes, &r, &columns);
    assert_true(plumb_record_unpack(&back, bytes, sizeof bytes) > 0);
    plumb_record_line(&out, &back, &columns, 0);
    assert_non_null(strstr(out.data, "\"sum\":\"<error: the tensor has no data>\""));
    assert_non_null(strstr(out.data, "\"dtype\":null,\"shape\":null"));
    plumb_buf_fini(&out);
}

static void bytes_that_are_cut_or_changed_are_refused_or_read(void **state)
{
    static const char *const names[] = {"sum", "sample", "histogram", NULL};
    static struct plumb_act_record r, back;
    static unsigned char whole[PLUMB_RECORD_BYTES];
    (void)state;
    want(names, 2);
    fill(&r, 5);
    size_t n = plumb_record_pack(whole, &r, &columns);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *bytes = malloc(cut ? cut : 1);
        memcpy(bytes, whole, cut);
        assert_int_equal(plumb_record_unpack(&back, bytes, cut), 0);
        free(bytes);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char *bytes = malloc(n);
        memcpy(bytes, whole, n);
        bytes[i] = 0xff;
        assert_true(plumb_record_unpack(&back, bytes, n) <= n);
        free(bytes);
    }
}

static void what_waits_becomes_lines_once(void **state)
{
    static const char *const names[] = {"sum", NULL};
    static struct plumb_act_record r;
    struct plumb_pending *p = calloc(1, PLUMB_PENDING_BYTES);
    unsigned char *ring = (unsigned char *)p + PLUMB_PENDING_HEAD;
    struct plumb_buf out = {0};
    plumb_error err;
    (void)state;
    want(names, 0);
    memcpy(p->magic, PLUMB_PENDING_MAGIC, sizeof p->magic);
    p->version = PLUMB_PENDING_VERSION;
    p->record_bytes = sizeof r;
    p->columns = columns;
    p->put = p->taken = 3 * (uint64_t)PLUMB_PENDING_RING - 8; /* the first runs over the end */
    for (uint64_t seq = 10; seq < 20; seq++) {
        fill(&r, seq);
        p->put += plumb_record_pack(ring + p->put % PLUMB_PENDING_RING, &r, &columns);
    }
    assert_int_equal(plumb_pending_lines(&out, p, PLUMB_PENDING_BYTES, 12, &err), 7);
    assert_non_null(strstr(out.data, "\"seq\":13,"));
    assert_null(strstr(out.data, "\"seq\":12,"));
    out.len = 0;
    ring[(p->taken + 32) % PLUMB_PENDING_RING] ^= 0xff;
    p->put += PLUMB_PENDING_RING;
    assert_int_equal(plumb_pending_lines(&out, p, PLUMB_PENDING_BYTES, -1, &err), PLUMB_ERR_FORMAT);
    assert_int_equal(plumb_pending_lines(&out, p, 100, -1, &err), PLUMB_ERR_FORMAT);
    plumb_buf_fini(&out);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back_and_makes_the_same_line),
        cmocka_unit_test(a_small_record_takes_few_bytes),
        cmocka_unit_test(a_small_record_has_all_of_its_figures),
        cmocka_unit_test(a_reason_stands_for_the_statistics),
        cmocka_unit_test(bytes_that_are_cut_or_changed_are_refused_or_read),
        cmocka_unit_test(what_waits_becomes_lines_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
