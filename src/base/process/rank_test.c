/* Which launcher's variables tell the rank. */
#include "base/process/rank.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FIND(...)                                                                                  \
    const char *environment[] = {__VA_ARGS__, NULL};                                               \
    struct plumb_rank r;                                                                           \
    plumb_rank_find(&r, (char *const *)environment)

static void expect(const struct plumb_rank *r, int rank, int size, int local, const char *source)
{
    assert_int_equal(r->rank, rank);
    assert_int_equal(r->world_size, size);
    assert_int_equal(r->local_rank, local);
    if (source)
        assert_string_equal(r->source, source);
    else
        assert_null(r->source);
}

static void nothing_tells_nothing(void **state)
{
    (void)state;
    FIND("PATH=/bin", "RANKING=3");
    expect(&r, -1, -1, -1, NULL);
    plumb_rank_find(&r, NULL);
    expect(&r, -1, -1, -1, NULL);
}

static void torchrun_comes_first(void **state)
{
    (void)state;
    FIND("SLURM_PROCID=9", "SLURM_STEP_ID=0", "OMPI_COMM_WORLD_RANK=8", "RANK=3", "WORLD_SIZE=4",
         "LOCAL_RANK=1");
    expect(&r, 3, 4, 1, "RANK");
}

static void a_bare_rank_is_not_believed(void **state)
{
    (void)state;
    FIND("RANK=3", "PMI_RANK=1", "PMI_SIZE=2");
    expect(&r, 1, 2, -1, "PMI_RANK");
}

struct launcher {
    const char *rank, *size, *local, *also;
};

static void each_launcher_is_known_and_in_order(void **state)
{
    static const struct launcher launchers[] = {
        {"RANK", "WORLD_SIZE", "LOCAL_RANK", NULL},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
        {"PMIX_RANK", NULL, NULL, NULL},
        {"PMI_RANK", "PMI_SIZE", NULL, NULL},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
        {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID=7"},
        {"PALS_RANKID", NULL, "PALS_LOCAL_RANKID", NULL},
        {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL},
        {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", NULL},
        {"RANK_ID", "RANK_SIZE", NULL, NULL},
    };
    const size_t n = sizeof launchers / sizeof launchers[0];
    static char text[64][64];
    char *environment[65];
    (void)state;
    /* All of them at once, the first answers; then without the first, and so on. */
    for (size_t first = 0; first < n; first++) {
        size_t used = 0;
        struct plumb_rank r;
        for (size_t i = n; i-- > first;) {
            const struct launcher *l = &launchers[i];
            snprintf(text[used++], 64, "%s=%zu", l->rank, 10 + i);
            if (l->size)
                snprintf(text[used++], 64, "%s=%zu", l->size, 100 + i);
            if (l->local)
                snprintf(text[used++], 64, "%s=%zu", l->local, i);
            if (l->also)
                snprintf(text[used++], 64, "%s", l->also);
        }
        for (size_t i = 0; i < used; i++)
            environment[i] = text[i];
        environment[used] = NULL;
        plumb_rank_find(&r, environment);
        expect(&r, (int)(10 + first), launchers[first].size ? (int)(100 + first) : -1,
               launchers[first].local ? (int)first : -1, launchers[first].rank);
    }
}

static void slurm_needs_a_step(void **state)
{
    (void)state;
    FIND("SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=1");
    expect(&r, -1, -1, -1, NULL);
}

static void hydra_tells_the_local_rank_apart(void **state)
{
    (void)state;
    FIND("MPI_LOCALRANKID=1", "PMI_RANK=5", "PMI_SIZE=8");
    expect(&r, 5, 8, 1, "PMI_RANK");
}

static void a_local_rank_alone_is_no_rank(void **state)
{
    (void)state;
    FIND("MPI_LOCALRANKID=1");
    expect(&r, -1, -1, 1, "MPI_LOCALRANKID");
}

static void values_that_are_no_ranks_count_as_absent(void **state)
{
    static const char *const bad[] = {"PMI_RANK=",
                                      "PMI_RANK=-1",
                                      "PMI_RANK=x",
                                      "PMI_RANK=1x",
                                      "PMI_RANK= 1",
                                      "PMI_RANK=2147483648",
                                      "PMI_RANK=99999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        FIND(bad[i], "RANK_ID=2", "RANK_SIZE=3");
        expect(&r, 2, 3, -1, "RANK_ID");
    }
}

static void the_largest_rank_is_read(void **state)
{
    (void)state;
    FIND("PMI_RANK=2147483647");
    expect(&r, INT32_MAX, -1, -1, "PMI_RANK");
}

static void a_size_that_does_not_hold_the_rank_is_not_believed(void **state)
{
    (void)state;
    FIND("PMI_RANK=4", "PMI_SIZE=4");
    expect(&r, 4, -1, -1, "PMI_RANK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_tells_nothing),
        cmocka_unit_test(torchrun_comes_first),
        cmocka_unit_test(a_bare_rank_is_not_believed),
        cmocka_unit_test(each_launcher_is_known_and_in_order),
        cmocka_unit_test(slurm_needs_a_step),
        cmocka_unit_test(hydra_tells_the_local_rank_apart),
        cmocka_unit_test(a_local_rank_alone_is_no_rank),
        cmocka_unit_test(values_that_are_no_ranks_count_as_absent),
        cmocka_unit_test(the_largest_rank_is_read),
        cmocka_unit_test(a_size_that_does_not_hold_the_rank_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
