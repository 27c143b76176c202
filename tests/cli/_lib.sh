# Shared by the tests of the command line, which source it.
# shellcheck shell=sh
# expect NAME STATUS COMMAND...: runs it into out.txt and err.txt and compares the exit status.
set -u
failures=0
data=$PLUMB_SOURCE_DIR/tests/cli/data

fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

expect() {
    name=$1
    expected_status=$2
    shift 2
    "$@" >out.txt 2>err.txt
    status=$?
    if [ "$status" != "$expected_status" ]; then
        fail "$name: exit status $status, not $expected_status; it printed:"
        cat out.txt err.txt >&2
    fi
}

# decided NAME STATUS COMMAND...: expect, of a command that measures times: while its answer is inconclusive, because the
# machine is busy, it is tried again
decided() {
    name=$1
    expected_status=$2
    shift 2
    for _ in 1 2 3 4 5; do
        "$@" >out.txt 2>err.txt
        status=$?
        [ $status = 3 ] || break
    done
    [ $status = "$expected_status" ] ||
        fail "$name: exit status $status, not $expected_status; it printed: $(cat out.txt err.txt)"
}

# wait_for COMMAND...: until it succeeds
wait_for() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "waiting for: $*"
        [ "$tries" -lt 600 ] || break
        sleep 0.1
    done
}

# build_linked SOURCE OUT [ARGUMENT...]: a C program linked with libplumb, with the sanitizer of this build
build_linked() {
    built_from=$1
    built=$2
    shift 2
    case $PLUMB_BUILD_KIND in
    asan) sanitizer=-fsanitize=address,undefined ;;
    tsan) sanitizer=-fsanitize=thread ;;
    *) sanitizer= ;;
    esac
    # shellcheck disable=SC2086 # a flag or none
    $CC -std=c11 -D_GNU_SOURCE -O1 "-I$PLUMB_SOURCE_DIR/include" $sanitizer -DPLUMB_LINKED "$built_from" -o "$built" \
        "$PLUMB_LIB" "-Wl,-rpath,$(dirname "$PLUMB_LIB")" "$@" -lpthread || exit 1
}

# has FILE TEXT...: each TEXT, a fixed string, is in FILE
has() {
    file=$1
    shift
    for text in "$@"; do
        if ! grep -qF -- "$text" "$file"; then
            fail "$name: no '$text' in $file, which holds:"
            cat "$file" >&2
        fi
    done
}

# lacks FILE TEXT
lacks() {
    if grep -qF -- "$2" "$1"; then
        fail "$name: '$2' is in $1:"
        cat "$1" >&2
    fi
}

# empty FILE
empty() {
    if [ -s "$1" ]; then
        fail "$name: $1 is not empty:"
        cat "$1" >&2
    fi
}

finish() {
    if [ "$failures" != 0 ]; then
        echo "$failures failed" >&2
        exit 1
    fi
}
