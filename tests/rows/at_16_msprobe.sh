#!/bin/sh
# labels: traces
# AT-16: dumps of msprobe, of ResNet-50 in two training steps: a step against itself is the same; against
# the other it differs from the first record on, its images; and a fault written into one module's
# output is named there.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
traces=${PLUMB_TRACES:-}/msprobe-gpu-dump
[ -d "$traces" ] || {
    echo "no traces: set PLUMB_TRACES"
    exit 77
}
for step in 0 1; do
    mkdir -p step$step
    for file in dump construct stack; do
        gzip -dc "$traces/step$step/$file.json.gz" >step$step/$file.json || exit 1
    done
done
expect 'a step and itself' 0 "$PLUMB_BIN" diverge step0 step0
has out.txt 'equal in every statistic' 'by name'
expect 'two steps' 1 "$PLUMB_BIN" diverge step0 step1
has out.txt 'different from the first record on: Functional.conv2d in[0]'

mkdir fault
cp step0/construct.json step0/stack.json fault/
python3 - <<'END' || fail 'cannot plant a fault'
import json
data = json.load(open("step0/dump.json"))
names = list(data["data"])
begin = names.index("Module.layer3.2.bn2.BatchNorm2d.forward.0")
for name in names[begin:]:
    for part in ("output", "input_args"):
        for value in data["data"][name].get(part) or []:
            if isinstance(value, dict) and "Mean" in value and (part == "output" or name != names[begin]):
                for key in ("Mean", "Norm", "Max", "Min"):
                    value[key] = (value[key] or 0) * 1.01
json.dump(data, open("fault/dump.json", "w"))
END
expect 'a planted fault' 1 "$PLUMB_BIN" diverge step0 fault
has out.txt 'first divergence: layer3.2.bn2 out' 'inputs equal'
grep -Eq '^Note: layer3\.2\.bn2 out.* ran from [^ ]+\.py:[0-9]+ in A$' out.txt || fail "no line of source: $(cat out.txt)"
expect 'the line of source in JSON' 1 "$PLUMB_BIN" diverge --format json step0 fault
jq -e '.culprit.source | test("\\.py:[0-9]+$")' out.txt >/dev/null || fail "no line of source: $(jq .culprit out.txt)"
finish
