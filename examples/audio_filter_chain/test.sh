#!/bin/sh
# The promises of the example: fused, unfused, in blocks, recorded and compiled without plumb it gives the same
# samples; a chain of filters is one dispatch, or one for each filter when it is not fused; audio comes back from a
# file as it went in; the stage runs alone; bad input gives one line.
#
#   test.sh AUDIO_FILTER_CHAIN AUDIO_FILTER_CHAIN_DISABLED LIBIIR_STAGES
set -eu
program=$1
disabled=$2
library=$3

fail()
{
    echo "audio_filter_chain: $*" >&2
    exit 1
}

# run NAME PROGRAM ARGUMENT...: half a second of noise; NAME.txt is what it printed, NAME.wav what it wrote
run()
{
    name=$1
    shift
    "$@" --seconds 0.5 --out "$name.wav" >"$name.txt" || fail "$name: exit status $?"
}

# equal NAME WHAT: NAME printed and wrote what the first run did
equal()
{
    cmp first.txt "$1.txt" && cmp first.wav "$1.wav" || fail "$2 changed the output"
}

# refused STATUS ARGUMENT...: one line on stderr
refused()
{
    wanted=$1
    shift
    status=0
    "$program" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status, not $wanted, of: $*"
    [ "$(wc -l <err.txt)" = 1 ] || fail "not one line on stderr of: $* $(cat err.txt)"
}

# Equal samples; fused and unfused are rounded in another order.
run first "$program"
run blocks "$program" --block 100
equal blocks '--block'
PLUMB_RUN_DIR=$PWD/recorded PLUMB_QUIET=1 run recorded "$program"
equal recorded 'recording'
run disabled "$disabled"
equal disabled 'PLUMB_DISABLE'
! nm -u "$disabled" | grep plumb_ || fail "PLUMB_DISABLE left references to plumb"
run unfused "$program" --no-fuse
cmp -s first.txt unfused.txt || fail "unfused: $(cat first.txt unfused.txt)"
run short "$program" --type f32
! cmp -s first.wav short.wav || fail '--type changes nothing'

# What was written is read back as it was, and filtered again gives what filtering twice gives.
"$program" --in first.wav --chain '' --out again.wav >again.txt
cmp first.wav again.wav || fail 'a file did not come back as it was written'
"$program" --in first.wav --chain lowpass:2:900 --out twice.wav >twice.txt
! cmp -s first.wav twice.wav || fail 'the chain changes nothing'

# Bad input.
for wrong in --nonsense stray --in --seconds '--seconds -1' '--seconds nan' '--rate 10' '--channels 0' '--seed x' \
    '--type f16' '--depth 65' '--block -1' '--block 1.5' '--repeat 0'; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 $wrong
done
refused 1 --chain flanger:1
refused 1 --seconds 0.1 --chain lowpass:2:24000
grep -q 'below half the sample rate' err.txt || fail "$(cat err.txt)"
refused 1 --in missing.wav
head -c 30 first.wav >cut.wav
refused 1 --in cut.wav
: >empty.wav
refused 1 --in empty.wav
refused 1 --seconds 0.1 --out missing/folder.wav
if [ -w /dev/full ]; then
    status=0
    "$program" --seconds 0.1 >/dev/full 2>err.txt || status=$?
    [ "$status" = 1 ] && grep -q stdout err.txt || fail "a full disk under stdout: $status"
fi
"$program" --seconds 0 >nothing.txt || fail 'no samples: not done'
"$program" --help | grep -q 'Butterworth' || fail 'no effects in --help'

# Dispatches, as nodes: chains of 2, 5 and 10 filters, fused and not, of the length that gates use.
[ -n "$PLUMB_BIN" ] || exit 0
# calls RUN: its nodes in the pass over the samples, with their counts
calls()
{
    "$PLUMB_BIN" report --format csv "$1" | awk -F, '$2 ~ /^(biquad|sos|delay|gain)$/ { print $2, $4 }' | sort
}
for depth in 2 5 10; do
    PLUMB_RUN_DIR=$PWD/fused.$depth PLUMB_QUIET=1 "$program" --depth $depth --rate 16000 --channels 1 \
        --seconds 0.512 >out.txt
    [ "$(calls fused.$depth)" = 'sos 1' ] || fail "fused, $depth filters: $(calls fused.$depth)"
    PLUMB_RUN_DIR=$PWD/unfused.$depth PLUMB_QUIET=1 "$program" --depth $depth --rate 16000 --channels 1 \
        --seconds 0.512 --no-fuse >out.txt
    [ "$(calls unfused.$depth)" = "biquad $depth" ] || fail "unfused, $depth filters: $(calls unfused.$depth)"
done

# The stage alone gives what it gave in the program. A sanitizer's runtime must come first in the process, where plumb
# bench has its collectors.
[ "$PLUMB_BUILD_KIND" = plain ] || exit 0
PLUMB_CAPTURE=filter PLUMB_RUN_DIR=$PWD/captured PLUMB_QUIET=1 "$program" --seconds 0.5 --block 4096 >out.txt
"$PLUMB_BIN" bench captured --stage filter --from "$library" --config '--block 4096' --steps 6 --repeat 3 \
    >bench.txt 2>&1 || fail "bench: $(cat bench.txt)"
jq -e '.plumb.steps == 6 and .plumb.loop_steps == 6 and .plumb.outputs_equal == true' captured/bench.json >/dev/null ||
    fail "bench: $(jq -c .plumb captured/bench.json)"
"$PLUMB_BIN" bench captured --stage filter --from "$library" --config '--block nonsense' >bench.txt 2>&1 &&
    fail 'a wrong configuration was taken'
grep -q 'not a command line of audio_filter_chain' bench.txt || fail "$(cat bench.txt)"
