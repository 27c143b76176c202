/* _scope_forms.c: every way to leave a scope. Prints what the program computes, and into the file
 * given as argument what plumb counted; tf_1_scope_forms.sh builds it with and without plumb. */
#include <stdio.h>
#include <string.h>

#include <plumb/plumb.h>

static int loops(void)
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("loop.body");
        if (i == 2)
            continue;
        if (i == 5)
            break;
        sum += i;
    }
    while (sum < 100) {
        PLUMB_SPAN("while.body");
        sum *= 3;
    }
    do {
        PLUMB_SPAN("do.body");
        sum++;
    } while (0);
    return sum;
}

static int early(int n)
{
    PLUMB_SPAN("early");
    if (n > 2)
        return n;
    {
        PLUMB_SPAN("early.inner");
        if (n == 1)
            return 10 * n;
    }
    return -n;
}

static int by_goto(void)
{
    int count = 0, sum = 0;
again : {
    PLUMB_SPAN("goto.body");
    sum += count;
    if (count++ < 4)
        goto again;
}
    return sum;
}

static int after_if(int n)
{
    if (n % 2) {
        PLUMB_SPAN("if");
        n += 3;
    } else {
        PLUMB_SPAN("else");
        n -= 3;
    }
    return n;
}

static int in_switch(int k)
{
    int r = 0;
    switch (k) {
    case 0: {
        PLUMB_SPAN("case 0");
        r = 5;
        break;
    }
    case 1: {
        PLUMB_SPAN("case 1");
        r = 6;
    } /* fall through */
    case 2: {
        PLUMB_SPAN("case 2");
        r += 7;
        break;
    }
    default:
        r = 100;
    }
    return r;
}

#if !defined(__clang__)
/* C allows these; clang refuses a jump past a variable that is cleaned up. */
static int past_declarations(int k)
{
    int r = 0;
    PLUMB_SPAN("around");
    if (k == 3)
        goto out;
    switch (k) {
    case 0:;
        PLUMB_SPAN("skipped by others");
        PLUMB_PHASE("skipped phase");
        r = 1;
        break;
    case 1:
        r = 2;
        break;
    default:
        r = 3;
    }
    PLUMB_SPAN("skipped by goto");
    PLUMB_STEP(7);
    r *= 10;
out:
    return r;
}
#else
static int past_declarations(int k)
{
    return k == 3 ? 0 : k == 0 ? 10 : k == 1 ? 20 : 30;
}
#endif

static int steps(int leave_at, int how)
{
    int sum = 0;
    for (PLUMB_STEPS (step, 6)) {
        PLUMB_SPAN("step");
        if (step == leave_at && how == 1)
            break;
        if (step == leave_at && how == 2)
            return -sum;
        if (step == leave_at && how == 3)
            goto out;
        if (step % 2)
            continue;
        for (PLUMB_STEPS (inner, step))
            sum += inner + 1;
    }
    sum += 1000;
out:
    return sum;
}

static double doubled(double x)
{
    return 2 * x;
}
PLUMB_WRAP(double, doubled, (double x), (x));

static void other_forms(void)
{
    PLUMB_POINT(point, "begin and end");
    plumb_span span = plumb_begin(&point);
    plumb_node node = plumb_node_get("run time");
    plumb_async async = plumb_async_begin(node);
    plumb_context context;
    PLUMB_LAPS(laps);
    plumb_arg_i64(span, "i", 1);
    plumb_arg_f64(span, "f", 0.5);
    plumb_arg_str(span, "s", "text");
    plumb_end(span);
    PLUMB_LAP(laps, "lap 1");
    PLUMB_LAP(laps, "lap 2");
    {
        PLUMB_SPAN_NODE(node);
        PLUMB_SPAN_DEBUG("debug");
        PLUMB_STAGE(stage, "stage");
        PLUMB_SPAN_AS(named, "failed");
        plumb_span_fail(named, "why");
        plumb_arg_i64(stage, "i", 1);
    }
    {
        PLUMB_SPAN_AS(given_up, "abandoned");
        plumb_span_abandon(given_up);
    }
    plumb_async_end(async);
    plumb_record_ns(node, 1000);
    plumb_record_device_ns(node, 1000);
    plumb_counter_add("things", 3);
    plumb_context_capture(&context);
    {
        PLUMB_ADOPT(&context);
        PLUMB_PHASE("val");
        PLUMB_PIPELINE(plumb_pipeline_get("other"));
        PLUMB_SPAN("elsewhere");
    }
}

static void write_counts(const char *path)
{
    FILE *f = fopen(path, "w");
    plumb_rows *rows = NULL;
    if (!f || plumb_summary_rows(&rows, NULL, NULL, NULL) < 0) {
        if (f)
            fclose(f);
        return;
    }
    for (size_t i = 0; i < plumb_rows_count(rows); i++) {
        const plumb_row *row = plumb_rows_get(rows, i);
        fprintf(f, "%s: %d\n", row->node, (int)row->count);
    }
    plumb_rows_free(rows);
    fclose(f);
}

int main(int argc, char **argv)
{
    printf("loops %d\n", loops());
    for (int i = 0; i < 4; i++)
        printf("%d: early %d if %d switch %d past %d\n", i, early(i), after_if(i), in_switch(i),
               past_declarations(i));
    printf("goto %d\n", by_goto());
    for (int how = 0; how < 4; how++)
        printf("steps %d: %d\n", how, steps(4, how));
    printf("wrapped %.1f\n", doubled_plumb(1.5));
    other_forms();
    if (argc > 1)
        write_counts(argv[1]);
    return 0;
}
