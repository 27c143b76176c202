/* count_called.c: two functions of a library: one that is counted, and one that is not. */
#include <stdatomic.h>

void bench_counted(void);
void bench_not_counted(void);

void bench_counted(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

void bench_not_counted(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}
