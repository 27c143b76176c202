/* _count_lib.c: a library whose calls count_calls.sh counts. It knows how often it was called where
 * a function can say so itself. Built also as a second version, and as one that is unloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "_count_lib.h"

static __thread unsigned long own;

unsigned long own_calls(void)
{
    return own;
}

int plain(int x)
{
    own++;
    return x + 1;
}

double sum_of(int n, ...)
{
    double sum = 0;
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return sum;
}

struct large large_of(int a, double b, struct large from)
{
    for (int i = 0; i < 16; i++)
        from.word[i] += (long)i * a;
    from.real += b;
    return from;
}

struct small small_of(double x, long n)
{
    return (struct small){n, x};
}

long many(long a, long b, long c, long d, long e, long f, long g, long h, double x, float y)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)x + (long)y;
}

__attribute__((target("avx"))) wide wide_sum(wide a, wide b, wide c, wide d)
{
    return a + b * 2 + c * 3 + d * 4;
}

__attribute__((target("avx512f"))) widest widest_sum(widest a, widest b)
{
    return a + b * 2;
}

void jump(jmp_buf *to, int value)
{
    longjmp(*to, value);
}

int again(jmp_buf *to)
{
    return setjmp(*to);
}

/* Recursion of two functions: each calls the other one through the PLT. */
long depth(long n)
{
    return n == 0 ? 0 : 1 + deeper(n);
}

long deeper(long n)
{
    return depth(n - 1);
}

static int fast(int x)
{
    return x * 3;
}

static int (*choose(void))(int)
{
    return fast;
}
int chosen(int x) __attribute__((ifunc("choose")));

int call_back(int (*fn)(int), int x)
{
    return fn(x);
}

#ifdef COUNT_STAMPS
/* For a library whose first segment is writable: what it writes lies next to its relocations. */
extern char __ehdr_start[] __attribute__((visibility("hidden")));
__attribute__((constructor)) static void stamp(void)
{
    ((volatile char *)__ehdr_start)[15] = 1;
}
#endif

/* A table with addresses in it, as a library of operators has. */
int (*const operators[])(int) = {plain, chosen};
