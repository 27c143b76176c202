#!/bin/sh
# plumb report memory, requests and summary: their forms, the choice of a request, bad input.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
report() {
    "$PLUMB_BIN" report "$@"
}
cp "$data/served.json" "$data/golden.json" .

# ---- memory
expect 'memory' 0 report memory served.json
has out.txt \
    'Node   Stage      Runs     RSS  Peak RSS  Growth  Exact  Device  Pool     Allocated  Reserved' \
    'frame  inference     6  200.00    300.00   -5.00     no  cuda:0  caching      80.00    100.00' \
    'Process: 190.0 MiB resident at the end, peak 300.0 MiB, of 16.0 GiB' \
    'cuda:0  caching  bad\xff name          inference   100.00  33.3' \
    '(outside every node)' 'cuda:0  caching  104857600  0xfffffffffffff000  frame' \
    'peak: 544.00 MiB at after_frame' 'pool overhead there: 250.00 MiB (62.50 % of reserved)' \
    'remaining: 7648.00 MiB of 8192.00 MiB' 'increase since the baseline loaded: 444.00 MiB'
lacks out.txt 'plumb report:'
grep -q ' $' out.txt && fail 'spaces at the end of a line'
expect 'explained' 0 report memory --explain served.json
has out.txt 'the part outside the largest hole'
expect 'the largest' 0 report memory --top 1 served.json
has out.txt '(1 more)'
lacks out.txt 'frame  val'
expect 'a phase' 0 report memory --phase val served.json
has out.txt 'frame  val'
lacks out.txt 'frame  inference     6'
expect 'memory of a request' 0 report memory --request cat served.json
has out.txt "Memory of the request's stages (MiB)" 'after_frame'
lacks out.txt 'loaded  '
expect 'nothing measured' 0 report memory golden.json
[ "$(cat out.txt)" = 'No memory was measured: record with PLUMB_MEMORY=stages (or all), or report pools with plumb_mem_alloc().' ] ||
    fail "without memory: $(cat out.txt)"
jq '.memory.peak_rss_bytes = 3145728 | .memory.rss_bytes = 2097152' golden.json >process.json
expect 'the process alone' 0 report memory process.json
has out.txt 'Process: 2.0 MiB resident' "mark them with PLUMB_STAGE(), or count every allocation by node with 'plumb record --malloc"

expect 'memory in Markdown' 0 report memory --format md served.json
has out.txt '### Pools of the run (MiB)' '| cuda:0 | caching | bad\\xff name | inference | 100.00 | 33.3 |' \
    '- peak: 544.00 MiB at after\_frame'
expect 'memory in JSON' 0 report memory --format json served.json
jq -e --slurpfile whole served.json '
    .format == "plumb-report" and .request == null and .nodes_not_shown == 0 and
    [.nodes[].memory.peak_rss_bytes] == [314572800, 262144000] and
    .memory.analysis == $whole[0].memory.analysis and
    .memory.pools == $whole[0].memory.pools and
    .memory.checkpoints == $whole[0].memory.checkpoints and
    (.memory | has("series") | not)' out.txt >/dev/null || fail "json: $(cat out.txt)"
expect 'JSON of a request' 0 report memory --format json --request cat --top 1 served.json
jq -e '.request == "cat" and (.nodes | length) == 1 and .nodes_not_shown == 1' out.txt >/dev/null ||
    fail "json of a request: $(cat out.txt)"
expect 'memory in CSV' 0 report memory --format csv served.json
[ "$(cut -d, -f1 out.txt | sort | uniq -c | tr -s ' \n' ' ')" = ' 7 checkpoint 1 kind 2 node 3 owner 3 pool ' ] ||
    fail "lines of CSV: $(cut -d, -f1 out.txt)"
[ "$(awk -F, '{ print NF }' out.txt | sort -u)" = 26 ] || fail 'a line of CSV has not all columns'
has out.txt 'node,prog,inference,frame,,,6,209715200,314572800,-5242880,0,cuda:0,caching,83886080,' \
    'pool,,,,,250000000,,,,,,cuda:0,caching,104857600,134217728,314572800,536870912,50,25,7,'

# ---- requests
expect 'requests' 0 report requests served.json
has out.txt 'cat                         open    2026-01-02T03:04:05.500000+00:00    623.46       60.00     4    300.00' \
    'bad\xff id                  failed' 'out of "luck"' '(9 older)'
expect 'the newest' 0 report requests --top 1 served.json
has out.txt '(11 older)' 'cat'
lacks out.txt 'out of'
expect 'one request' 0 report requests --request cat served.json
has out.txt 'Request cat' 'prompt: a "cat"\x0a' \
    'decode  inference      1       1      10.00    10.00     10.00'
expect 'an old request' 0 report requests --request req_20260102_030405_000001 served.json
has out.txt 'Its stages are not kept: newer requests took their place.'
expect 'requests in CSV' 0 report requests --format csv served.json
has out.txt 'cat,open,2026-01-02T03:04:05.500000+00:00,623456789,60000000,4,314572800,335544320,452984832,'
expect 'stages in CSV' 0 report requests --request cat --format csv served.json
has out.txt 'frame,inference,2,0,40000000,30000000,20000000,314572800,335544320,452984832'
expect 'requests in JSON' 0 report requests --format json served.json
jq -e --slurpfile whole served.json '.requests == $whole[0].requests and .requests_lost == 9 and
    .requests_not_shown == 0' out.txt >/dev/null || fail "json: $(cat out.txt)"
expect 'requests in Markdown' 0 report requests --request cat --format md served.json
has out.txt '### Request cat' '| frame | val | 1 | 0 | 20.00 |'
expect 'no requests' 0 report requests golden.json
has out.txt 'No requests were recorded'

# ---- summary
expect 'summary' 0 report summary served.json
[ "$(awk 'length > most { most = length } END { print most }' out.txt)" = 60 ] ||
    fail 'a line of the summary is longer than its rules'
has out.txt 'Request cat' 'wall clock                       623.5 ms' \
    'frame                             60.0 ms (83.3%)' 'rank 3: 60.0 ms, peak 0.42 GB'
expect 'summary of another request' 0 report summary --request req_20260102_030405_000001 served.json
has out.txt 'Request req_20260102_030405_000001' 'not kept: newer requests took their place'
expect 'summary of a run' 0 report summary golden.json
has out.txt 'Run run_20260102-030405' 'node_a                          1000.0 ms (66.7%)'

# ---- bad input
for view in memory requests summary; do
    expect "$view: no such request" 2 report $view --request dog served.json
    has err.txt "plumb report: no request 'dog' among the 3 of the run"
    empty out.txt
    expect "$view: no such run" 2 report $view nowhere.json
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
done
expect 'no such form' 2 report summary --format csv served.json
has err.txt "plumb report: no format 'csv' of the summary: there is text"
finish
