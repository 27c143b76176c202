/* _calls_prog.c: a program whose functions fv_23_calls.sh records: it is built with
 * -finstrument-functions. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "_calls_other.h"

static jmp_buf back;
static volatile int sum;

static int leaf(int x)
{
    return x + 1;
}

int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

int deep(int n)
{
    return n ? 1 + deep(n - 1) : 0;
}

static void jumper(void)
{
    longjmp(back, 1);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 100; i++)
        sum += leaf(*(int *)arg);
    return NULL;
}

static void on_signal(int sig)
{
    sum += leaf(sig);
}

int main(void)
{
    pthread_t id;
    int one = 1;
    for (int i = 0; i < 10; i++)
        sum += leaf(i);
    sum += factorial(5) + other(3) + deep(600);
    if (setjmp(back) == 0)
        jumper();
    pthread_create(&id, NULL, worker, &one);
    pthread_join(id, NULL);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    printf("%d\n", sum);
    return 4;
}
