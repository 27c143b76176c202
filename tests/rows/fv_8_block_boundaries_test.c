/* FV-8 and FV-9: a region's span, its two marks and what runs inside are whole wherever a ring
 * block happens to end. Every pair of 0 to 300 spans inside and 0 to 300 outside is recorded and
 * read back from the queue, which ring mode leaves to the test; a sanitizer's build takes every
 * seventh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"
#include "record_shown.h"

enum { MOST = 300 };

static void every_count_of_spans(uint32_t scope, int every)
{
    struct shown t;
    uint64_t regions = 0, inside = 0;
    shown_start("training_step", scope);
    shown_open(&t);
    for (int n = 0; n <= MOST; n += every)
        for (int m = 0; m <= MOST; m += every) {
            {
                PLUMB_REGION("training_step");
                region_spans("inside", n);
            }
            region_spans("outside", m);
            regions++;
            inside += (uint64_t)n;
            if (regions % 64)
                continue;
            assert_true(shown_take(&t));
            if (t.begun != regions || t.ended != regions + inside || t.cut || t.off != regions ||
                t.on != regions)
                fail_msg("%d spans inside, %d outside: of %llu regions %llu begin, %llu end, %llu "
                         "are cut short, %llu and %llu are marked",
                         n, m, (unsigned long long)regions, (unsigned long long)t.begun,
                         (unsigned long long)(t.ended - t.inside_begun), (unsigned long long)t.cut,
                         (unsigned long long)t.on, (unsigned long long)t.off);
            assert_int_equal(t.inside_begun, inside);
            assert_int_equal(t.other, 0);
        }
    record_stop();
}

static int stride(void)
{
    return strcmp(TEST_PLUMB_BUILD_KIND, "plain") == 0 ? 1 : 7;
}

static void each_region_is_whole_in_the_scope_of_its_thread(void **state)
{
    (void)state;
    every_count_of_spans(PLUMB_REGION_THREAD, stride());
}

static void each_region_is_whole_in_the_scope_of_the_process(void **state)
{
    (void)state;
    every_count_of_spans(PLUMB_REGION_PROCESS, 7 * stride());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_region_is_whole_in_the_scope_of_its_thread),
        cmocka_unit_test(each_region_is_whole_in_the_scope_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
