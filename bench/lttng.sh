#!/bin/sh
# Runs a command while an LTTng session records the tracepoints plumb_bench:*, then takes the session and
# its daemon down again. Everything lives in temporary folders; other sessions are not touched.
#
#   bench/lttng.sh COMMAND...
#
# With BENCH_LTTNG_JSON=FILE, writes there how many bytes of trace the session left and how many events it lost.
#
# Discard mode (LTTng's default: events that do not fit are dropped and counted), traces to disk, four
# sub-buffers of 1 MiB a processor, no contexts: as a user who wants speed would set it up. Exits with the
# command's status; without a working session the command runs all the same and finds out by itself.
set -u

# The daemon's sockets need a short path, whatever folder the traces go to.
home=$(mktemp -d /tmp/plumb-bench-lttng-XXXXXX) || exit 1
traces=$(mktemp -d "${TMPDIR:-/tmp}/plumb-bench-lttng-XXXXXX") || { rmdir "$home"; exit 1; }
export LTTNG_HOME="$home" LTTNG_RUNDIR="$home/run" LTTNG_UST_REGISTER_TIMEOUT=5000
BENCH_LTTNG_MODE="UST, discard, to disk, 4 sub-buffers of 1 MiB"
export BENCH_LTTNG_MODE
mkdir -p "$LTTNG_RUNDIR"
daemon=
log=$home/log

finish() {
    status=$?
    trap - EXIT HUP INT TERM
    if [ -n "$daemon" ]; then
        lttng --no-sessiond stop plumb-bench >>"$log" 2>&1
        lost=$(lttng --no-sessiond list plumb-bench 2>>"$log" | awk '/Discarded events:/ { print $3; exit }')
        bytes=$(find "$traces" -type f -name 'bench_*' -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')
        echo "  lttng: $bytes bytes of trace, ${lost:-0} events were discarded"
        if [ -n "${BENCH_LTTNG_JSON:-}" ]; then
            printf '{"lttng_trace_bytes": %s, "lttng_lost": %s}\n' "$bytes" "${lost:-0}" >"$BENCH_LTTNG_JSON"
        fi
        lttng --no-sessiond destroy --no-wait plumb-bench >>"$log" 2>&1
        kill "$daemon" 2>/dev/null
        # It reaps its consumers; not waiting would remove the folder under their hands.
        wait "$daemon" 2>/dev/null
    fi
    rm -rf "$home" "$traces"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' HUP INT TERM

session() {
    lttng --no-sessiond create plumb-bench --output="$traces/trace" &&
        lttng --no-sessiond enable-channel --userspace --session=plumb-bench --discard \
            --subbuf-size=1M --num-subbuf=4 bench &&
        lttng --no-sessiond enable-event --userspace --session=plumb-bench --channel=bench \
            'plumb_bench:*' &&
        lttng --no-sessiond start plumb-bench
}

if command -v lttng-sessiond >/dev/null 2>&1; then
    lttng-sessiond --no-kernel >>"$log" 2>&1 &
    daemon=$!
    tries=0
    until lttng --no-sessiond list >>"$log" 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -ge 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
            break
        fi
        sleep 0.1
    done
    if ! session >>"$log" 2>&1; then
        echo "lttng: no session: $(tail -n 1 "$log")" >&2
    fi
fi
"$@"
