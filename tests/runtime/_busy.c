/* A host that uses most of plumb and computes something: prints it, and ends with 3. */
#include <pthread.h>
#include <stdio.h>

#include <plumb/plumb.h>

static int part(int from, int n)
{
    PLUMB_SPAN("part");
    int sum = 0;
    for (int i = from; i < from + n; i++) {
        PLUMB_SPAN("item");
        sum += i;
    }
    return sum;
}

static void *on_a_thread(void *sum)
{
    PLUMB_PHASE("thread");
    *(int *)sum = part(100, 100);
    return NULL;
}

static int with_names(void)
{
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        char name[32];
        plumb_span s;
        plumb_async request;
        snprintf(name, sizeof name, "name.%d", i);
        s = plumb_begin_node(plumb_node_get(name));
        plumb_arg_str(s, name, name);
        request = plumb_async_begin(plumb_node_get("request"));
        if (i % 10 == 0)
            plumb_span_fail(s, name);
        sum += i;
        plumb_counter_add(name, 1);
        plumb_async_end(request);
        plumb_end(s);
    }
    return sum;
}

int main(void)
{
    int sum = part(0, 100), other = 0;
    plumb_rows *rows = NULL;
    char *text = NULL;
    pthread_t thread;
    if (pthread_create(&thread, NULL, on_a_thread, &other) != 0)
        return 1;
    sum += with_names();
    pthread_join(thread, NULL);
    if (plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK)
        plumb_rows_free(rows);
    if (plumb_summary_text(&text, NULL, NULL, 0, NULL) == PLUMB_OK)
        plumb_text_free(text);
    plumb_reset(NULL, NULL);
    sum += part(200, 100);
    plumb_stop(NULL);
    plumb_start(NULL, NULL);
    sum += part(300, 100);
    printf("sum %d\n", sum + other);
    return 3;
}
