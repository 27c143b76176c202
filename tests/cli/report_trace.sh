#!/bin/sh
# plumb report of a trace: nodes, threads, gaps, steps, the slowest runs, in every format;
# and files that are not traces.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
report() {
    "$PLUMB_BIN" report "$@"
}
python3 "$PLUMB_SOURCE_DIR/tests/cli/_trace.py" trace.pftrace || exit 1

expect 'overview' 0 report trace.pftrace
has out.txt 'Trace: 0.200 s, 2 threads, 12 spans, 2 instants' \
    'step     inference        1      3      70.00     36.00  10000.0     20000.0  40000.0  40000.0' \
    'io \x1b[31m|   12'
has err.txt '4 spans are not in the trace' '1 span had not ended' "1 span's end was lost"
grep -Eq '^request +inference +1 +0 +0\.00 +0\.00 +1$' out.txt || fail "the failed run: $(cat out.txt)"
# The gap of the main thread, and what was dropped.
grep -Eq '^main +11 +100\.00 +50000\.0 +request +save$' out.txt || fail "the gap: $(cat out.txt)"
grep -Eq '^io .* 12 +16\.00 +load +4$' out.txt || fail "the drops: $(cat out.txt)"

expect 'a tree of a trace' 2 report tree trace.pftrace
has err.txt "plumb report: 'trace.pftrace' is a trace, which has no view 'tree': it has trace, gaps, steps, slowest and kernels, and 'plumb export --format folded' has its stacks for a flame graph (see"
expect 'an option of nodes' 2 report --wide trace.pftrace
has err.txt "plumb report: --wide is an option of the view nodes, not of 'trace' (see"
expect 'no node' 2 report slowest
has err.txt 'plumb report: slowest wants the name of a node: plumb report slowest NODE (see'
for view in trace gaps steps 'slowest step'; do
    # shellcheck disable=SC2086 # words
    expect "the old spelling of $view" 0 report --$view --format json trace.pftrace
    cp out.txt old.txt
    # shellcheck disable=SC2086 # words
    expect "$view" 0 report $view --format json trace.pftrace
    cmp -s old.txt out.txt || fail "--$view and $view differ"
done
expect 'the old spelling of a part' 0 report --trace --gaps --format csv trace.pftrace
[ "$(head -n 1 out.txt | cut -d, -f1-4)" = "$(report gaps --format csv trace.pftrace | head -n 1 | cut -d, -f1-4)" ] ||
    fail '--trace --gaps are not the gaps'
expect 'csv' 0 report trace --format csv trace.pftrace
[ "$(head -n 1 out.txt)" = 'name,category,thread,tid,pid,count,total_ns,self_ns,min_ns,median_ns,p99_ns,max_ns,failed,no_sample,cut,open' ] ||
    fail "the header of CSV: $(head -n 1 out.txt)"
has out.txt 'request,inference,main,11,,0,0,0,,,,,1,,,' \
    'load,inference,io \x1b[31m|,12,,2,12000000,12000000,5000000,6000000,7000000,7000000,,,1,' \
    'open,inference,main,11,,0,0,0,,,,,,,,1'

expect 'json' 0 report --format json trace.pftrace
jq -e '.slices == 12 and .open == 1 and .cut == 1 and .spans_dropped == 4 and
       .zero_unix_ns == 1700000000000000000 and .facts["plumb.version"] == "9.9" and
       (.nodes[] | select(.name == "step") | .count == 3 and .total_ns == 70000000) and
       (.threads[0] | .busy_ns == 140000000 and .idle_ns == 60000000 and .gaps == 2) and
       (.stepped_nodes[] | select(.name == "step") | .steps == 3 and .slowest == 2) and
       .gaps[0].dur_ns == 50000000 and (.remarks | length) == 3' out.txt >/dev/null || fail "json: $(cat out.txt)"

expect 'md' 0 report --format md trace.pftrace
has out.txt '### Nodes by thread' '| step | inference |' 'io \\x1b\[31m\|'

expect 'gaps' 0 report gaps --top 1 --format csv trace.pftrace
[ "$(tail -n +2 out.txt)" = 'main,11,,100000000,50000000,request,save' ] || fail "gaps: $(cat out.txt)"
expect 'steps' 0 report steps --format csv trace.pftrace
[ "$(tail -n +2 out.txt | tr '\n' ' ')" = \
    'step,0,1,10000000,10000000 step,1,1,20000000,20000000 step,2,1,40000000,40000000 unet,2,1,30000000,30000000 copy,2,2,4000000,2000000 ' ] ||
    fail "steps: $(cat out.txt)"

expect 'slowest' 0 report slowest step --top 2 trace.pftrace
has out.txt 'Slowest runs of step, 2 of 3' '1.  40000.0 us at 50.000 ms on main, inside request, step=2' \
    '30000.0 us   75.0 %  unet' '4000.0 us   10.0 %  copy (2 runs)' '6000.0 us   15.0 %  (itself)'
expect 'slowest, json' 0 report slowest step --format json trace.pftrace
jq -e '.slowest[0].step == 2 and .slowest[0].inside[0].name == "unet" and .slowest[0].self_ns == 6000000' \
    out.txt >/dev/null || fail "slowest: $(cat out.txt)"
expect 'slowest, csv' 0 report slowest request --format csv trace.pftrace
has out.txt 'prompt=a ""cat""\x0a failed=out of memory'
expect 'slowest, misspelt' 2 report slowest unett trace.pftrace
has err.txt "no whole span of the trace is called 'unett': did you mean 'unet'?"
expect 'a name that has not ended' 2 report slowest open trace.pftrace

expect 'output' 0 report -o view.txt trace.pftrace
has view.txt 'Largest gaps'
expect 'onto itself' 2 report -o trace.pftrace trace.pftrace
expect 'explain' 0 report --explain gaps trace.pftrace
has out.txt 'Idle(us)' 'how long nothing runs'
expect 'svg' 2 report --format svg trace.pftrace
has err.txt "no format 'svg' of a trace's report"

# A file that was cut is read up to the cut; foreign and damaged files are reported in one line.
size=$(stat -c %s trace.pftrace)
head -c $((size - 3)) trace.pftrace >cut.pftrace
expect 'cut' 0 report cut.pftrace
has err.txt 'bytes at the end of the file are not read: its last packet or event is not whole'
for bad in empty text middle; do
    case $bad in
    empty) : >bad.pftrace ;;
    text) echo 'not a trace' >bad.pftrace ;;
    middle)
        head -c 300 trace.pftrace >bad.pftrace
        head -c 100 /dev/zero | tr '\0' '\377' >>bad.pftrace
        ;;
    esac
    expect "bad: $bad" 2 report bad.pftrace
    empty out.txt
    [ "$(wc -l <err.txt)" = 1 ] || fail "bad $bad: not one line: $(cat err.txt)"
done
expect 'not there' 2 report none.pftrace
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"

# Chrome's JSON, which may end early.
cat >chrome.json <<'END'
{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "displayTimeUnit": "ms", "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "prog"}},
  {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "main"}},
  {"ph": "X", "name": "launch", "cat": "cuda_runtime", "pid": 7, "tid": 8, "ts": 1.001, "dur": 2.002, "args": {"step": 4}},
  {"ph": "s", "id": 5, "name": "ac2g", "cat": "ac2g", "pid": 7, "tid": 8, "ts": 1.001},
  {"ph": "f", "bp": "e", "id": 5, "name": "ac2g", "cat": "ac2g", "pid": 0, "tid": "s 7", "ts": "4"},
  {"ph": "X", "name": "kernel", "cat": "kernel", "pid": 0, "tid": "s 7", "ts": "4", "dur": "1.5"},
  {"ph": "C", "name": "mem", "pid": 7, "ts": 5, "args": {"bytes": 12}},
  {"ph": "b", "id": "0x9", "cat": "a", "name": "async", "pid": 7, "ts": 5}, {"ph": "e", "id": "0x9", "cat": "a", "name": "async", "pid": 7, "ts": 6},
  {"ph": "B", "name": "open", "pid": 7, "tid": 8, "ts": 9},
END
expect 'chrome' 0 report --format json chrome.json
jq -e '.slices == 4 and .open == 1 and .counters == 1 and .flows == 1 and .zero_unix_ns == 1700000000000001001 and
       (.nodes[] | select(.name == "launch") | .total_ns == 2002 and .category == "cuda_runtime") and
       ([.threads[].thread] | sort) == ["async", "main", "s 7"] and .steps == null and
       .stepped_nodes[0].slowest == 4' out.txt >/dev/null || fail "chrome: $(cat out.txt)"
jq -e '.rank == null and .world_size == null' out.txt >/dev/null || fail "a rank from nowhere: $(cat out.txt)"
cat >rank.json <<'END'
{"distributedInfo": {"backend": "nccl", "rank": 34, "world_size": 300, "pg_config": [{"ranks": [0, 1]}], "nccl_version": "2.19"},
 "traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 2}]}
END
expect 'rank' 0 report rank.json
has out.txt 'Trace: 0.000 s, 1 thread, 1 span, rank 34 of 300'
"$PLUMB_BIN" export rank.json -o again.json >/dev/null 2>&1 || fail 'a trace with a rank is not exported'
expect 'rank, again' 0 report --format json again.json
jq -e '.rank == 34 and .world_size == 300 and .facts["distributedInfo.backend"] == "nccl"' out.txt >/dev/null || fail "rank: $(cat out.txt)"
head -c 800 chrome.json >short.json
expect 'chrome, cut' 0 report short.json
has err.txt 'its last packet or event is not whole'
sed 's/"ph": "X"/ph: "X"/' chrome.json >broken.json
expect 'chrome, broken' 2 report trace broken.json
has err.txt "'broken.json' is not valid JSON: line 4, column 4"

# A window of a long run: its length is that of its spans.
printf '[{"ph": "i", "s": "g", "name": "begin", "pid": 1, "tid": 2, "ts": 0}, {"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 86400000000, "dur": 500000}]' >window.json
expect 'a late window' 0 report window.json
has out.txt 'Trace: 0.500 s from 86400.000 s on, 1 thread, 1 span, 1 instant'

# A file that is nearly JSON is read, and its first mistake is reported, once.
printf '[{"ph": "X", "name": "a\nb", "pid": 1, "tid": 2, "ts": 1, "dur": 2, "args": {"x": 1,}},]' >nearly.json
expect 'chrome, nearly JSON' 0 report nearly.json
has out.txt '1 thread, 1 span'
has err.txt 'the file is not valid JSON: line 1, column 24: a control character in a string (and 2 more); it is read all the same'
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"

# Compressed by gzip, under any name; damage and a file cut short are reported in one line.
expect 'chrome, plain' 0 report trace chrome.json
cp out.txt plain.txt
gzip -c chrome.json >chrome.any
expect 'chrome, packed' 0 report trace chrome.any
sed 's/chrome\.any/chrome.json/' out.txt | cmp -s - plain.txt || fail "packed: $(diff out.txt plain.txt)"
gzip -c trace.pftrace >packed.pftrace.gz
expect 'perfetto, packed' 0 report packed.pftrace.gz
has out.txt 'Trace: 0.200 s, 2 threads, 12 spans, 2 instants'
"$PLUMB_BIN" export packed.pftrace.gz --format perfetto -o unpacked.pftrace >/dev/null 2>&1 || fail 'a packed trace is not exported'
cmp -s trace.pftrace unpacked.pftrace || fail 'the export of a packed trace is not its packets'
packed=$(stat -c %s packed.pftrace.gz)
head -c $((packed - 20)) packed.pftrace.gz >cut.gz
expect 'packed, cut' 2 report cut.gz
has err.txt "'cut.gz' is cut short: it ends within what is packed; zcat unpacks what is left of it"
{
    head -c $((packed - 6)) packed.pftrace.gz
    printf '\001\002\003\004\005\006'
} >damaged.gz
expect 'packed, damaged' 2 report damaged.gz
has err.txt 'it cannot be unpacked (incorrect'
echo '{"rubbish": [1]}' | gzip >rubbish.gz
expect 'packed, other JSON' 2 report rubbish.gz
has err.txt "'rubbish.gz' is not a trace: it has no \"traceEvents\""
echo '[{"file": "a"}, {"file": "b"}]' >list.json
expect 'a list of other things' 2 report trace list.json
has err.txt "'list.json' is not a trace: it is a list of 2 values, and none of them is an event"
echo '[[1, "a", 2], [3, "b", 4], 5]' >arrays.json
expect 'a list of lists' 2 report trace arrays.json
has err.txt "'arrays.json' is not a trace: it is a list of 3 values, and none of them is an event"
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
echo '{"traceEvents": [[1, 2], [3]]}' >inner.json
expect 'events that are lists' 2 report trace inner.json
has err.txt "'inner.json' is not a trace: it is a list of 2 values"
# A profile of XLA: each of its planes begins as a packet of Perfetto's does.
printf '\012\017\010\001\022\003gpu\032\002\010\001\062\002\010\001\042\004host' >x.xplane.pb
expect 'a profile of XLA' 2 report trace x.xplane.pb
has err.txt "'x.xplane.pb' is not a trace: none of its 1 messages is a packet of Perfetto's format"
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
# Samples are left out, and said so.
cat >samples.json <<'END'
{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 2}],
 "samples": [{"cpu": 0, "tid": 2, "ts": 1.5, "name": "cycles", "sf": 1}, {"cpu": 0, "tid": 2, "ts": 2.5, "name": "cycles", "sf": 1}],
 "stackFrames": {"1": {"name": "main"}}}
END
expect 'samples' 0 report trace samples.json
has err.txt '2 packets or events are of kinds that plumb does not read (samples, scheduling, logs)'
# Dropped events: the advice names the bound that was reached.
python3 "$PLUMB_SOURCE_DIR/tests/cli/_trace.py" full.pftrace 'at its bound, PLUMB_TRACE_MAX' || exit 1
expect 'a trace at its bound' 0 report full.pftrace
has err.txt '4 spans are not in the trace: the file was at its bound (raise PLUMB_TRACE_MAX)'
lacks err.txt 'PLUMB_TRACE_RING'
echo 'not a trace' | gzip >text.gz
expect 'packed, no trace' 2 report text.gz
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"

# A trace without the usual name is known by how it begins; a run without one says how to get one.
cp trace.pftrace other
expect 'any name' 0 report other
mkdir run && cp "$data/golden.json" run/timing.json
expect 'a run without a trace' 2 report trace run
has err.txt "'run' has no trace: record with PLUMB_TRACE=1 to have one"
cp trace.pftrace run/trace.pftrace
expect 'a run with a trace' 0 report trace run
has out.txt 'run/trace.pftrace'
expect 'its table' 0 report run
has out.txt 'node_a'
mkdir alone && cp trace.pftrace alone
expect 'a folder with a trace alone' 0 report trace alone
has out.txt 'alone/trace.pftrace'
expect 'it has no table' 2 report alone
has err.txt "no run in 'alone'"
echo '{"traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}' >torch.json
expect 'no steps' 0 report steps torch.json
has out.txt 'mark steps with PLUMB_STEPS() or PLUMB_STEP(), and with step() of torch.profiler.'
finish
