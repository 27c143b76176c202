#!/bin/sh
# labels: plain
# Programs can do the same under plumb as without it: leave main() by pthread_exit() and end with the
# last thread, end from a thread with hardly any stack, close every descriptor that they find, and open
# files of their own under the same numbers.
set -u
failed=0
fail() {
    echo "undisturbed: $*" >&2
    failed=1
}
cat >prog.c <<'END'
#define _GNU_SOURCE
#include <dlpack/dlpack.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <plumb/plumb.h>

static void work(int steps)
{
    float values[4] = {1, 2, 3, 4};
    int64_t shape[] = {4};
    DLTensor tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    plumb_node layer = plumb_node_get("layer");

    for (PLUMB_STEPS(step, steps)) {
        PLUMB_STAGE(stage, "work");
        plumb_stage_input(stage, "x", &tensor);
        plumb_activation(layer, "out", &tensor);
    }
}

static void *worker(void *arg)
{
    usleep(20000);
    work(10);
    if (arg)
        exit(5);
    puts("worked");
    return NULL;
}

static void bye(void)
{
    puts("bye");
}

static int start(size_t stack, int ends)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, stack);
    return pthread_create(&thread, &attr, worker, ends ? &attr : NULL) || pthread_join(thread, NULL);
}

static int reuse(void)
{
    int own[16];
    for (int i = 3; i < 1024; i++)
        close(i);
    for (int i = 0; i < 16; i++) {
        char name[32];
        snprintf(name, sizeof name, "own.%d", i);
        own[i] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (own[i] < 0 || write(own[i], "mine\n", 5) != 5)
            return 1;
    }
    for (int i = 0; i < 20; i++) {
        work(100);
        usleep(5000);
    }
    return 5;
}

int main(int argc, char **argv)
{
    work(1);
    if (argc > 1 && strcmp(argv[1], "small") == 0)
        return start(PTHREAD_STACK_MIN, 1);
    if (argc > 1 && strcmp(argv[1], "reuse") == 0)
        return reuse();
    pthread_t thread;
    atexit(bye);
    if (pthread_create(&thread, NULL, worker, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}
END
lib_dir=$(dirname "$PLUMB_LIB")
$CC -std=gnu11 -O2 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" -lpthread || exit 1

number=0
for variables in PLUMB=0 PLUMB=1 'PLUMB=1 PLUMB_TRACE=1 PLUMB_ACTIVATIONS=1 PLUMB_TRACE_NODES=* PLUMB_MEMORY=all'; do
    number=$((number + 1))
    for case in last small reuse; do
        run=$PWD/run.$number.$case
        set -f
        # shellcheck disable=SC2086
        PLUMB_RUN_DIR=$run timeout -k 1 60 env $variables ./prog "$case" >out.txt 2>err.txt
        status=$?
        set +f
        expected=5
        [ "$case" = last ] && expected=0
        [ "$status" = "$expected" ] || fail "$case, $variables: status $status: $(cat err.txt)"
        [ "$case" != last ] || [ "$(cat out.txt)" = 'worked
bye' ] || fail "$case, $variables: it printed $(cat out.txt)"
        for own in own.*; do
            [ "$case" != reuse ] || [ "$(cat "$own")" = mine ] ||
                fail "$variables: $own, which is the program's, was written to"
        done
        [ "$number" = 1 ] && continue
        count=$(jq '.nodes[] | select(.name == "work") | .count' "$run/timing.json")
        [ "$count" = "$([ "$case" = reuse ] && echo 2001 || echo 11)" ] ||
            fail "$case, $variables: $count runs are in the report"
        [ "$number" = 2 ] && continue
        # Each run records its input and the output of the layer.
        lines=$(wc -l <"$run/activations.jsonl")
        [ "$lines" = $((count * 2)) ] || fail "$case: $lines activations of $count runs"
    done
done
exit "$failed"
