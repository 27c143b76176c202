/* A copy of the environment is whole, also where the list is replaced in the middle. */
#include "base/process/environment_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/environment.h"

enum { NAMES = 100, LIST_BYTES = 4096 };

extern char **environ;

static void a_copy_has_what_getenv_finds(void **state)
{
    struct plumb_environment_copy *c;
    char *long_value = malloc(100001);
    (void)state;
    assert_non_null(long_value);
    memset(long_value, 'x', 100000);
    long_value[100000] = '\0';
    setenv("LONG", long_value, 1);
    setenv("EMPTY", "", 1);
    setenv("SHORT", "yes", 1);
    for (int direct = 0; direct < 2; direct++) {
        c = plumb_environment_copy(direct);
        assert_non_null(c);
        assert_string_equal(plumb_environment_get(plumb_environment_of(c), "LONG"), long_value);
        assert_string_equal(plumb_environment_get(plumb_environment_of(c), "EMPTY"), "");
        assert_string_equal(plumb_environment_get(plumb_environment_of(c), "SHORT"), "yes");
        assert_null(plumb_environment_get(plumb_environment_of(c), "NOT_THERE"));
        plumb_environment_free(c);
    }
    setenv("SHORT", "no", 1);
    c = plumb_environment_copy(false);
    assert_string_equal(plumb_environment_get(plumb_environment_of(c), "SHORT"), "no");
    plumb_environment_free(c);
    unsetenv("LONG");
    free(long_value);
    assert_null(plumb_environment_of(NULL)[0]);
}

/* Another thread replaces the list and gives the old one back, as setenv() does, in the middle of a
 * copy: before the kernel is asked for the `swap_at`-th time. */
static char **list, **next;
static int asked, swap_at;

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
    if (++asked == swap_at) {
        environ = next;
        /* Memory of an allocator may stay readable. */
        if (swap_at % 2)
            munmap(list, LIST_BYTES);
    }
    return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}

static char **list_of(char *variable)
{
    char **made =
        mmap(NULL, LIST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made, MAP_FAILED);
    for (int i = 0; i < NAMES; i++)
        made[i] = variable;
    return made;
}

static void a_copy_of_a_list_that_goes_is_one_of_the_next(void **state)
{
    static char old[] = "NAME=old", new[] = "NAME=new";
    char **own = environ;
    (void)state;
    for (swap_at = 2; swap_at < 2 * NAMES; swap_at += 7) {
        struct plumb_environment_copy *c;
        unsigned n = 0;
        environ = list = list_of(old);
        next = list_of(new);
        asked = 0;
        c = plumb_environment_copy(false);
        environ = own;
        for (char *const *e = plumb_environment_of(c); *e; e++, n++)
            assert_string_equal(*e, new);
        assert_int_equal(n, NAMES);
        plumb_environment_free(c);
        munmap(next, LIST_BYTES);
        if (swap_at % 2 == 0)
            munmap(list, LIST_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_what_getenv_finds),
        cmocka_unit_test(a_copy_of_a_list_that_goes_is_one_of_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
