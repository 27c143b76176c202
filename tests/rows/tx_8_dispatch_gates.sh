#!/bin/sh
# TX-8, TX-9, TX-10, TX-11, TX-12: the gates of examples/audio_filter_chain (gates.rules), on the samples that they are
# meant for: 8192 of 16 kHz, one channel, f64. They hold, they do not waver in a hundred runs, and a chain that has lost
# its fusion fails them.
# TX-13: adjacent filters fuse, an echo splits them, a filter alone stays one, and only reading runs them.
set -eu
program=$PLUMB_BUILD_DIR/examples/audio_filter_chain/audio_filter_chain
[ -e "$program" ] || { echo 'the example audio_filter_chain is not built'; exit 77; }
rules=$PLUMB_SOURCE_DIR/examples/audio_filter_chain/gates.rules

fail()
{
    echo "audio_filter_chain: $*" >&2
    exit 1
}

# filtered RUN ARGUMENT...: records one run over the samples
filtered()
{
    PLUMB_RUN_DIR=$PWD/$1 PLUMB_QUIET=1
    export PLUMB_RUN_DIR PLUMB_QUIET
    shift
    "$program" --seconds 0.512 --rate 16000 --channels 1 --type f64 --seed 1 "$@" >out.txt
    unset PLUMB_RUN_DIR PLUMB_QUIET
}

# holds RULE RUN..., broken RULE RUN
holds()
{
    rule=$1
    shift
    "$PLUMB_BIN" gate "$rules" --rule "$rule" "$@" >gate.txt 2>&1 || fail "$rule: $(cat gate.txt)"
}
broken()
{
    status=0
    "$PLUMB_BIN" gate "$rules" --rule "$1" "$2" >gate.txt 2>&1 || status=$?
    [ "$status" = 1 ] || fail "$1 has status $status for $2: $(cat gate.txt)"
    grep -q "^regression: $1 " gate.txt || fail "$1 is not named: $(cat gate.txt)"
}

# One cascade when fused, a dispatch for each filter when not.
for depth in 2 5 10; do
    filtered "fused.$depth" --depth $depth
    holds 'fused: one dispatch' "fused.$depth"
    holds 'fused: by the cascade' "fused.$depth"
    filtered "unfused.$depth" --depth $depth --no-fuse
    holds "unfused $depth" "unfused.$depth"
    broken 'fused: one dispatch' "unfused.$depth"
    "$PLUMB_BIN" gate "$rules" --rule 'fused: by the cascade' "unfused.$depth" >gate.txt 2>&1 &&
        fail "unfused, and by the cascade: $(cat gate.txt)"
done
broken 'unfused 10' fused.10

# A constant gain between two filters, and at both ends, joins them; an echo does not.
filtered gain --chain gain:3,lowpass:2:5000,gain:-6,highpass:2:100,gain:1
holds 'fused: one dispatch' gain
holds 'fused: by the cascade' gain
filtered echo --chain lowpass:2:5000,echo:0.1:0.3,highpass:2:100
broken 'fused: one dispatch' echo

# dispatches RUN: kinds and numbers of a run
dispatches()
{
    "$PLUMB_BIN" report counts --by node --format csv "$1" | sed 1d | grep -o 'dispatches,[a-z]*,[0-9]*' | sort | tr '\n' ' '
}
[ "$(dispatches echo)" = 'dispatches,biquad,2 dispatches,delay,1 ' ] || fail "two filters and an echo: $(dispatches echo)"
filtered runs --chain lowpass:2:5000,lowpass:2:6000,echo:0.1:0.3,highpass:2:100,gain:1,highpass:4:20
[ "$(dispatches runs)" = 'dispatches,delay,1 dispatches,sos,2 ' ] || fail "two runs and an echo: $(dispatches runs)"

# A hundred runs give a hundred equal answers, while two processes keep the machine busy. Under a sanitizer, some of them.
busy=
for _ in 1 2; do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
trap 'kill $busy 2>/dev/null || :' EXIT
runs=100
[ "$PLUMB_BUILD_KIND" = plain ] || runs=10
i=0
while [ $i -lt $runs ]; do
    filtered "again.$i" --depth 10
    i=$((i + 1))
done
holds 'fused: by the cascade' again.*
holds 'fused: one dispatch' again.*
# shellcheck disable=SC2086 # two ids
kill $busy

# Time, fused against unfused, measured in turn. A busy machine may leave it open; it is never a regression.
[ "$PLUMB_BUILD_KIND" = plain ] || exit 0
status=0
"$PLUMB_BIN" ab --rule "$rules:fused is not slower" -- \
    "$program" --seconds 0.512 --rate 16000 --channels 1 --depth 10 --repeat 20 --no-fuse ::: \
    "$program" --seconds 0.512 --rate 16000 --channels 1 --depth 10 --repeat 20 >ab.txt 2>&1 || status=$?
[ "$status" = 0 ] || [ "$status" = 3 ] || fail "fused against unfused: status $status: $(cat ab.txt)"
grep -q 'fused is not slower' ab.txt || fail "$(cat ab.txt)"
