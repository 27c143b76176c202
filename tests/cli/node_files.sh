#!/bin/sh
# labels: plain
# The file of a node says of its spans what the export of the whole trace says: arguments, steps, failures,
# and what process it was.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export PLUMB_QUIET=1
lib_dir=$(dirname "$PLUMB_LIB")

cat >nodes.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_SPAN("whole");
    for (int i = 0; i < 4; i++) {
        PLUMB_STEP(i);
        PLUMB_SPAN_AS(s, "part");
        plumb_arg_i64(s, "count", i - 2);
        plumb_arg_f64(s, "loss.value", 0.5 * i);
        plumb_arg_str(s, "what", "a \"text\"");
        {
            PLUMB_SPAN("inner");
        }
        if (i == 3)
            plumb_span_fail(s, "too many");
    }
    return 0;
}
END
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" nodes.c -o nodes -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" || exit 1
PLUMB=1 PLUMB_TRACE=1 PLUMB_TRACE_NODES=whole PLUMB_RUN_DIR=$PWD/run ./nodes
expect export 0 "$PLUMB_BIN" export -o exported.json run
gzip -dc run/whole_rank0.trace.json.gz >node.json

# spans FILE: names, arguments and durations in the order of their begins.
spans() {
    jq -cS '[.traceEvents[] | select(.ph == "X" and (.name | startswith("ProfilerStep") | not))] | sort_by(.ts, -.dur)[] |
            [.name, .dur, .args]' "$1"
}
spans exported.json >exported.txt
spans node.json >node.txt
[ "$(wc -l <node.txt)" = 9 ] || fail "spans of the node: $(cat node.txt)"
cmp -s exported.txt node.txt || fail "the node's file has $(cat node.txt), the export $(cat exported.txt)"
grep -q '"count":-2,"loss.value":0.0*,*.*"step":0,"what":"a \\"text\\""' node.txt || fail "arguments: $(cat node.txt)"
grep -q '"failed":"too many"' node.txt || fail "failures: $(cat node.txt)"
names='[.traceEvents[] | select(.name == "process_name" and .args.name == "nodes") | .pid] | length'
[ "$(jq "$names" node.json)" = 1 ] || fail "the process: $(jq -c '.traceEvents[] | select(.ph == "M")' node.json)"
finish
