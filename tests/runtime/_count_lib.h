/* _count_lib.h: the functions of _count_lib.c. */
#ifndef TESTS_RUNTIME_COUNT_LIB_H
#define TESTS_RUNTIME_COUNT_LIB_H

#include <setjmp.h>

struct large {
    long word[16];
    double real;
};
struct small {
    long n;
    double x;
};
typedef double wide __attribute__((vector_size(32)));
typedef double widest __attribute__((vector_size(64)));

unsigned long own_calls(void);
int plain(int x);
double sum_of(int n, ...); /* int, double, int, double, ... */
struct large large_of(int a, double b, struct large from);
struct small small_of(double x, long n);
long many(long a, long b, long c, long d, long e, long f, long g, long h, double x, float y);
wide wide_sum(wide a, wide b, wide c, wide d);
widest widest_sum(widest a, widest b); /* where the processor has AVX-512 */
void jump(jmp_buf *to, int value) __attribute__((noreturn));
int again(jmp_buf *to) __attribute__((returns_twice));
long depth(long n);
long deeper(long n);
int chosen(int x);
int call_back(int (*fn)(int), int x);
extern int (*const operators[])(int);

#endif
