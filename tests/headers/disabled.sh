#!/bin/sh
# labels: plain
# A program can use the same names with PLUMB_DISABLE, and tools/check_disabled.py notices a difference.
set -u
check=$PLUMB_SOURCE_DIR/tools/check_disabled.py
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# reports NAME SED-SCRIPT LINE: after that change of disabled.h the check ends with 1 and says LINE
reports() {
    rm -rf planted
    mkdir planted
    cp -R "$PLUMB_SOURCE_DIR/include/plumb" planted/
    sed -i -e "$2" planted/plumb/disabled.h
    cmp -s planted/plumb/disabled.h "$PLUMB_SOURCE_DIR/include/plumb/disabled.h" && fail "$1: nothing was changed"
    /usr/bin/python3 "$check" planted "$CC" >out.txt 2>&1
    status=$?
    [ "$status" -eq 1 ] || fail "$1: exit status $status, not 1"
    grep -qxF -- "$3" out.txt || fail "$1: no line '$3': $(head -n 5 out.txt)"
}

/usr/bin/python3 "$check" "$PLUMB_SOURCE_DIR/include" "$CC" || fail 'the headers as they are'
reports 'a function that is missing' '/define plumb_counter(/d' 'disabled: plumb_counter: missing with PLUMB_DISABLE'
reports 'another number of arguments' 's/plumb_instant(name) ((void)(name))/plumb_instant(name, x) ((void)(name))/' \
    'disabled: plumb_instant: 1 arguments, with PLUMB_DISABLE 2'
reports 'a macro that is missing' '/define PLUMB_STAGE_LAP(/d' 'disabled: PLUMB_STAGE_LAP: missing with PLUMB_DISABLE'
reports 'a name too many' 's/define plumb_is_recording()/define plumb_records()/' \
    'disabled: plumb_records: exists only with PLUMB_DISABLE'
[ "$failures" -eq 0 ]
