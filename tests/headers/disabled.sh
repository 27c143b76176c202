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

# reports NAME HEADER SED-SCRIPT LINE: after that change of the header the check ends with 1 and says LINE
reports() {
    rm -rf planted
    mkdir planted
    cp -R "$PLUMB_SOURCE_DIR/include/plumb" planted/
    sed -i -e "$3" "planted/plumb/$2"
    cmp -s "planted/plumb/$2" "$PLUMB_SOURCE_DIR/include/plumb/$2" && fail "$1: nothing was changed"
    /usr/bin/python3 "$check" planted "$CC" >out.txt 2>&1
    status=$?
    [ "$status" -eq 1 ] || fail "$1: exit status $status, not 1"
    grep -qxF -- "$4" out.txt || fail "$1: no line '$4': $(head -n 5 out.txt)"
}

/usr/bin/python3 "$check" "$PLUMB_SOURCE_DIR/include" "$CC" || fail 'the headers as they are'
only='#if !defined(PLUMB_DISABLE)'
reports 'a function that is missing' run.h "s/^static inline int plumb_is_recording/$only\n&/; s/^static inline int plumb_run_dir/#endif\n&/" \
    'disabled: plumb_is_recording: missing with PLUMB_DISABLE'
reports 'another number of arguments' plumb.h "s/^#define PLUMB_STAGE_LAP.*/$only\n&\n#else\n#define PLUMB_STAGE_LAP(var)\n#endif/" \
    'disabled: PLUMB_STAGE_LAP: 2 arguments, with PLUMB_DISABLE 1'
reports 'a macro that is missing' plumb.h "s/^#define PLUMB_STAGE_LAP.*/$only\n&\n#endif/" \
    'disabled: PLUMB_STAGE_LAP: missing with PLUMB_DISABLE'
reports 'a name too many' detail/disabled.h 's/^#define PLUMB_CLEANUP_/#define plumb_records() 0\n&/' \
    'disabled: plumb_records: exists only with PLUMB_DISABLE'
[ "$failures" -eq 0 ]
