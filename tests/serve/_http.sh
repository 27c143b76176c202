# Shared by the tests of HTTP in plumb-serve, which source it.
# shellcheck shell=sh
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
if [ ! -x "${PLUMB_BIN%/*}/plumb-serve" ]; then
    echo 'skipped: this build has no plumb-serve'
    exit 77
fi
if ! grep -q microhttpd "${PLUMB_BIN%/*}/plumb-serve"; then
    echo 'skipped: this plumb-serve has no HTTP (libmicrohttpd-dev)'
    exit 77
fi
command -v curl >/dev/null || { echo 'skipped: no curl'; exit 77; }
export XDG_RUNTIME_DIR=$PWD/runtime
mkdir -m 700 -p runtime runs
started=
trap 'for p in $started; do kill -9 $p 2>/dev/null; done' EXIT

# start_program RUN [ARGUMENT [STDIN]]: records tests/rows/_metrics.c in runs/p/RUN, and waits until it is ready
start_program() {
    [ -x program ] || build_linked "$PLUMB_SOURCE_DIR/tests/rows/_metrics.c" ./program
    PLUMB_RUN_DIR=$PWD/runs/p/$1 PLUMB_QUIET=1 ./program "${2:-loop}" <"${3:-/dev/null}" 2>"$1.ready" &
    program_pid=$!
    started="$started $program_pid"
    for _ in $(seq 600); do
        grep -q ready "$1.ready" && return
        sleep 0.1
    done
    fail "the program does not get ready: $(cat "$1.ready")"
}

# start_serve LOG OPTION...: starts `plumb serve`; sets `url` to its first address of HTTP
start_serve() {
    log=$1
    shift
    "$PLUMB_BIN" serve --runs "$PWD/runs" "$@" 2>"$log" &
    serve_pid=$!
    started="$started $serve_pid"
    for _ in $(seq 600); do
        grep -q 'http: listens on' "$log" && break
        kill -0 $serve_pid 2>/dev/null || break
        sleep 0.1
    done
    url=$(sed -n 's/.*http: listens on \(http.*\)/\1/p' "$log" | head -1)
}

stop_serve() {
    kill -TERM $serve_pid
    wait $serve_pid
    [ $? = 0 ] || fail "plumb serve ended badly: $(cat "$log")"
}
