/* trampoline_x86_64.c: see trampoline.h. The trampolines are part of the library's code, so no page
 * of the process is ever writable and executable. */
#include "inject/count/trampoline.h"

#include <cpuid.h>
#include <stddef.h>

#include "inject/count/bare.h"

_Static_assert(offsetof(struct plumb_counted_thread, cell) == PLUMB_CELLS_AT, "trampolines");
_Static_assert(sizeof(struct plumb_cell) == PLUMB_CELL_BYTES, "trampolines");

PLUMB_BARE_HIDDEN __thread struct plumb_counted_thread *plumb_own_counts;
PLUMB_BARE_HIDDEN int64_t plumb_record_at;
PLUMB_BARE_HIDDEN uintptr_t plumb_targets[PLUMB_CALLS_FUNCTIONS];
PLUMB_BARE_HIDDEN const struct plumb_no_record plumb_no_record = {{1, 1, 1, 1, 1, 1, 1, 1}};

/* The state that is saved: x87, SSE, AVX and AVX-512, not AMX, which no call passes anything in. */
enum { VECTOR_STATE = 0xe7, LEGACY_BYTES = 512, HEADER_BYTES = 64 };

PLUMB_BARE_HIDDEN uint32_t plumb_save_bytes; /* 0: fxsave */
PLUMB_BARE_HIDDEN uint32_t plumb_save_mask;

extern const char plumb_trampolines[] PLUMB_BARE_HIDDEN;
extern const char plumb_leave_stubs[] PLUMB_BARE_HIDDEN;

uintptr_t plumb_trampoline(uint32_t function)
{
    return (uintptr_t)plumb_trampolines + (uintptr_t)function * PLUMB_TRAMPOLINE_BYTES;
}

uintptr_t plumb_leave_stub(uint32_t stub)
{
    return (uintptr_t)plumb_leave_stubs + (uintptr_t)stub * PLUMB_LEAVE_BYTES;
}

void plumb_vectors_init(void)
{
    uint32_t a, b, c, d, low, high, bytes = LEGACY_BYTES + HEADER_BYTES;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    plumb_save_mask = low & VECTOR_STATE;
    for (uint32_t i = 2; i < 8; i++) {
        if (!(plumb_save_mask >> i & 1) || !__get_cpuid_count(13, i, &a, &b, &c, &d))
            continue;
        bytes = a + b > bytes ? a + b : bytes;
    }
    plumb_save_bytes = bytes;
}

/* r11 is the only register that is free; rax (for functions with variable arguments, the number of
 * vector registers), rcx and the rest are the call's. The jump is a trampoline's own, so that the
 * processor predicts it by its place. */
__asm__(".text\n"
        ".balign 128\n"
        ".hidden plumb_trampolines\n"
        ".globl plumb_trampolines\n"
        "plumb_trampolines:\n"
        ".cfi_startproc\n"
        ".set function, 0\n"
        ".rept 2048\n"
        ".balign 128\n"
        "endbr64\n"
        "push %rax\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rcx\n"
        ".cfi_adjust_cfa_offset 8\n"
        "mov plumb_record_at(%rip), %rcx\n"
        "mov %fs:(%rcx), %rcx\n"
        "lea plumb_no_record(%rip), %rax\n"
        "test %rcx, %rcx\n"
        "cmovz %rax, %rcx\n"
        "mov plumb_own_counts@gottpoff(%rip), %rax\n"
        "mov %fs:(%rax), %rax\n"
        "test %rax, %rax\n"
        "jz 1f\n"
        "mov 8(%rcx), %r11\n"
        "cmp %r11, 64 + 32 * function(%rax)\n"
        "jne 1f\n"
        "mov 32(%rcx), %r11\n"
        "cmp %r11, 64 + 32 * function + 8(%rax)\n"
        "jne 1f\n"
        "mov 64 + 32 * function + 16(%rax), %r11\n"
        "test %r11, %r11\n"
        "jz 1f\n"
        "incq (%r11)\n"
        "pop %rcx\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rax\n"
        ".cfi_adjust_cfa_offset -8\n"
        "jmp *plumb_targets + 8 * function(%rip)\n"
        ".cfi_adjust_cfa_offset 16\n"
        "1: mov $function, %r11d\n"
        "jmp plumb_slowly\n"
        ".cfi_adjust_cfa_offset -16\n"
        ".set function, function + 1\n"
        ".endr\n"
        ".cfi_endproc\n"

        /* rax and rcx are on the stack above the return address; r11 is the number. With seven
         * more words the stack is aligned. */
        ".macro save_arguments\n"
        ".irp register, rdx, rsi, rdi, r8, r9, r10, r11\n"
        "push %\\register\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".endr\n"
        "mov %r11d, %edi\n"
        "cld\n"
        ".endm\n"
        /* Jumps to entry r11 of the table. */
        ".macro restore_and_jump table\n"
        ".irp register, r11, r10, r9, r8, rdi, rsi, rdx\n"
        "pop %\\register\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".endr\n"
        "lea \\table(%rip), %rcx\n"
        "mov (%rcx,%r11,8), %r11\n"
        "pop %rcx\n"
        ".cfi_adjust_cfa_offset -8\n"
        "pop %rax\n"
        ".cfi_adjust_cfa_offset -8\n"
        "jmp *%r11\n"
        ".endm\n"

        ".balign 64\n"
        "plumb_slowly:\n"
        ".cfi_startproc\n"
        ".cfi_adjust_cfa_offset 16\n"
        "save_arguments\n"
        "call plumb_count_slow\n"
        "restore_and_jump plumb_targets\n"
        ".cfi_endproc\n"

        ".balign 64\n"
        ".hidden plumb_leave_stubs\n"
        ".globl plumb_leave_stubs\n"
        "plumb_leave_stubs:\n"
        ".cfi_startproc\n"
        ".set stub, 0\n"
        ".rept 64\n"
        ".balign 16\n"
        "endbr64\n"
        "mov $stub, %r11d\n"
        "jmp plumb_leave_slowly\n"
        ".set stub, stub + 1\n"
        ".endr\n"
        ".cfi_endproc\n"

        ".balign 64\n"
        "plumb_leave_slowly:\n"
        ".cfi_startproc\n"
        "push %rax\n"
        ".cfi_adjust_cfa_offset 8\n"
        "push %rcx\n"
        ".cfi_adjust_cfa_offset 8\n"
        "save_arguments\n"
        "call plumb_leave_now\n"
        "restore_and_jump plumb_leave_targets\n"
        ".cfi_endproc\n"

        /* void plumb_with_vectors_saved(void (*fn)(void *), void *arg). An area of xsave wants its
             * header zeroed, and 64 bytes of alignment. */
        ".balign 64\n"
        ".hidden plumb_with_vectors_saved\n"
        ".globl plumb_with_vectors_saved\n"
        "plumb_with_vectors_saved:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset %rbp, 0\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rdi, %r11\n"
        "mov %rsi, %rdi\n"
        "mov plumb_save_bytes(%rip), %eax\n"
        "test %eax, %eax\n"
        "jz 2f\n"
        "sub %rax, %rsp\n"
        "and $-64, %rsp\n"
        "xor %edx, %edx\n"
        "mov %rdx, 512(%rsp)\n"
        "mov %rdx, 520(%rsp)\n"
        "mov %rdx, 528(%rsp)\n"
        "mov %rdx, 536(%rsp)\n"
        "mov %rdx, 544(%rsp)\n"
        "mov %rdx, 552(%rsp)\n"
        "mov %rdx, 560(%rsp)\n"
        "mov %rdx, 568(%rsp)\n"
        "mov plumb_save_mask(%rip), %eax\n"
        "xsave (%rsp)\n"
        "call *%r11\n"
        "mov plumb_save_mask(%rip), %eax\n"
        "xor %edx, %edx\n"
        "xrstor (%rsp)\n"
        "leave\n"
        ".cfi_remember_state\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_restore_state\n"
        "2: sub $512, %rsp\n"
        "and $-16, %rsp\n"
        "fxsave (%rsp)\n"
        "call *%r11\n"
        "fxrstor (%rsp)\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n");
