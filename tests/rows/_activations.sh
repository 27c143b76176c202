# For the rows about activations: builds their program as ./layers. `records DIR` are the lines of a run.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
lib_dir=$(dirname "$PLUMB_LIB")
build() {
    $CC -std=c11 -D_GNU_SOURCE -O1 -I"$PLUMB_SOURCE_DIR/include" "$@" || exit 1
}
build -DPLUMB_LINKED "$PLUMB_SOURCE_DIR/tests/rows/_activations.c" -o layers \
    -L"$lib_dir" -lplumb -lpthread -lm -Wl,-rpath,"$lib_dir"

# trace NAME STATUS DIR [VARIABLE=VALUE]... ./layers ...: with activations on, into the run DIR.
trace() {
    trace_name=$1
    trace_status=$2
    trace_dir=$3
    shift 3
    expect "$trace_name" "$trace_status" env PLUMB_RUN_DIR="$PWD/$trace_dir" PLUMB_ACTIVATIONS=1 "$@"
    [ ! -s out.txt ] || fail "$trace_name: stdout: $(cat out.txt)"
}

# same FILE FILTER TEXT: what jq finds in all lines of a file.
same() {
    [ "$(jq -c -s "$2" "$1")" = "$3" ] || fail "$name: $2 of $1: $(jq -c -s "$2" "$1"), not $3"
}
