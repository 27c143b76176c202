/* labels: plain
 * Code that libplumb-count.so calls in the middle of a call of the program may use vector
 * registers, in which the program's arguments lie: they are restored. The file under test is
 * included, because the library exports nothing but what the dynamic linker calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)
#include "inject/count/trampoline_x86_64.c"

void plumb_count_slow(uint32_t function)
{
    (void)function;
}

uintptr_t plumb_leave_targets[PLUMB_LEAVE_STUBS];

void plumb_leave_now(uint32_t stub)
{
    (void)stub;
}

static int calls;

static void change_registers(void *arg)
{
    (void)arg;
    calls++;
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm7, %%xmm7\n pcmpeqd %%xmm15, %%xmm15\n"
                     "fninit\n fldz\n"
                     :
                     :
                     : "xmm0", "xmm7", "xmm15");
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vxorps %%ymm1, %%ymm1, %%ymm1" : : : "xmm1");
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile("vpxord %%zmm0, %%zmm0, %%zmm0\n vpxord %%zmm17, %%zmm17, %%zmm17\n"
                         "kxnorw %%k1, %%k1, %%k1\n"
                         :
                         :
                         : "xmm0");
}

/* Fills xmm0, xmm7 and xmm15, makes the call, and stores what is in them then. */
static void call_with(const double in[3], double out[3])
{
    void (*fn)(void *) = change_registers;
    __asm__ volatile("movsd (%1), %%xmm0\n movsd 8(%1), %%xmm7\n movsd 16(%1), %%xmm15\n"
                     "mov %0, %%rdi\n xor %%esi, %%esi\n"
                     "mov %%rsp, %%rbx\n sub $256, %%rsp\n and $-16, %%rsp\n"
                     "call plumb_with_vectors_saved\n"
                     "mov %%rbx, %%rsp\n"
                     "movsd %%xmm0, (%2)\n movsd %%xmm7, 8(%2)\n movsd %%xmm15, 16(%2)\n"
                     :
                     : "r"(fn), "r"(in), "r"(out)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "xmm0", "xmm7", "xmm15");
}

static void check(void)
{
    const double in[3] = {1.25, -7.5, 1e300};
    double out[3] = {0, 0, 0};
    int before = calls;
    call_with(in, out);
    assert_int_equal(calls, before + 1);
    assert_memory_equal(in, out, sizeof in);
}

static void registers_are_restored(void **state)
{
    (void)state;
    plumb_vectors_init();
    check();
}

/* Likewise zmm0, zmm17 and k1, in 17 numbers. */
static void call_with_512_bits(const double in[17], double out[17])
{
    void (*fn)(void *) = change_registers;
    __asm__ volatile("vmovupd (%1), %%zmm0\n vmovupd 64(%1), %%zmm17\n kmovw 128(%1), %%k1\n"
                     "mov %0, %%rdi\n xor %%esi, %%esi\n"
                     "mov %%rsp, %%rbx\n sub $256, %%rsp\n and $-16, %%rsp\n"
                     "call plumb_with_vectors_saved\n"
                     "mov %%rbx, %%rsp\n"
                     "vmovupd %%zmm0, (%2)\n vmovupd %%zmm17, 64(%2)\n kmovw %%k1, 128(%2)\n"
                     "vzeroupper\n"
                     :
                     : "r"(fn), "r"(in), "r"(out)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "xmm0");
}

static void registers_of_512_bits_are_restored(void **state)
{
    double in[17], out[17] = {0};
    (void)state;
    if (!__builtin_cpu_supports("avx512f"))
        skip();
    unsigned short mask = 0x5a5a;
    for (int i = 0; i < 16; i++)
        in[i] = i + 0.25;
    in[16] = 0;
    memcpy(&in[16], &mask, sizeof mask);
    plumb_vectors_init();
    call_with_512_bits(in, out);
    assert_memory_equal(in, out, sizeof in);
}

static void registers_are_restored_on_a_processor_without_xsave(void **state)
{
    uint32_t bytes = plumb_save_bytes;
    (void)state;
    plumb_save_bytes = 0;
    check();
    plumb_save_bytes = bytes;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_are_restored),
        cmocka_unit_test(registers_of_512_bits_are_restored),
        cmocka_unit_test(registers_are_restored_on_a_processor_without_xsave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 77;
}
#endif
