#!/bin/sh
# labels: plain
# The trace of a run says what its report says: the same count of each node, whether the process ended, was
# killed, or still runs.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
export PLUMB_QUIET=1

# same_counts RUN: by node, spans of the trace and samples of timing.json.
same_counts() {
    expect "trace of $1" 0 "$PLUMB_BIN" report trace --format json "$1"
    jq -cS '[.nodes[] | select(.count > 0) | {key: (.name + " " + .category), value: .count}] |
        group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add' out.txt >traced.txt
    jq -cS '[.nodes[] | select(.count > 0) | {key: (.name + " " + .phase), value: .count}] |
        group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add' "$1/timing.json" >timed.txt
    [ "$(cat traced.txt)" != null ] && cmp -s traced.txt timed.txt ||
        fail "$1: the trace has $(cat traced.txt), the report $(cat timed.txt)"
}

PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/ended ./linked
same_counts ended
jq -e '(.nodes | map({(.name): .count}) | add) == {"frame": 20, "work": 80, "step": 60} and
       (.stepped_nodes[] | select(.name == "step") | .steps == 3) and .open == 0 and .cut == 0 and
       (.facts | keys | any(startswith("plumb."))) and .remarks == []' out.txt >/dev/null ||
    fail "the trace of a run that ended: $(cat out.txt)"

cat >busy.c <<'END'
#include <pthread.h>
#include <plumb/plumb.h>
static void *work(void *name)
{
    PLUMB_PHASE("train");
    for (PLUMB_STEPS (step, 500)) {
        PLUMB_SPAN("outer");
        plumb_span s = plumb_begin_node(plumb_node_get(name));
        plumb_async request = plumb_async_begin(plumb_node_get("request"));
        plumb_arg_str(s, "name", name);
        if (step % 50 == 0)
            plumb_span_fail(s, "on purpose");
        plumb_async_end(request);
        plumb_end(s);
    }
    return NULL;
}
int main(void)
{
    static char names[][8] = {"a\xff", "b\n\"", "c", "\\x41"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, names[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    work(names[2]);
    return 0;
}
END
build -DPLUMB_LINKED busy.c -o busy -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir" -lpthread
PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/busy.run ./busy
same_counts busy.run
jq -e '([.threads[].thread] | length > 5) and (.nodes[] | select(.name == "c") | .failed == 20 and .threads == 2)
       and (.stepped_nodes[] | select(.name == "outer") | .steps == 500)' out.txt >/dev/null ||
    fail "the trace of several threads: $(jq -c '.threads, .nodes, .stepped_nodes' out.txt)"

PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/killed ./linked signal 9 2>/dev/null
[ -e killed/live.plumb ] || fail 'no mapping is left of the killed run'
same_counts killed
jq -e '.open == 1 and (.nodes[] | select(.name == "last") | .open == 1 and .count == 0)' \
    out.txt >/dev/null || fail "the open span of a killed run: $(jq -c .nodes out.txt)"

# Addresses of call stacks have the names of the functions that called, from the files they lay in; a file
# that is another one now has no say.
build -DPLUMB_LINKED -O0 -fno-omit-frame-pointer "$prog" -o stacked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
PLUMB=1 PLUMB_TRACE=1 PLUMB_TRACE_STACK=1 PLUMB_RUN_DIR=$PWD/stacks ./stacked
expect 'call stacks' 0 "$PLUMB_BIN" report slowest work --top 1 stacks
grep -Eq 'stack\.[0-9]+=(work|frame|main) \(stacked\)' out.txt || fail "no names in the call stack: $(cat out.txt)"
build -DPLUMB_LINKED -O2 "$prog" -o stacked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
expect 'call stacks of another build' 0 "$PLUMB_BIN" report slowest work --top 1 stacks
lacks out.txt '(stacked)'
has out.txt '=stacked+0x'

# While it records: what has reached the file.
mkfifo fifo
PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/live ./linked wait <fifo >live.txt &
exec 3>fifo
tries=0
until [ -s live/trace.pftrace ] || [ $tries = 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
expect 'a run that records' 0 "$PLUMB_BIN" report trace live
exec 3>&-
wait
same_counts live
finish
