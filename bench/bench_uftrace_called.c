/* bench_uftrace_called.c: the function that bench_uftrace.c calls, built once plain and once
 * instrumented (CALLED is its name). */
#include <stdatomic.h>

void CALLED(void);

void CALLED(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}
