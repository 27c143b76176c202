#!/bin/sh
# labels: plain
# FV-1: tracing is off and leaves no file unless it is asked for; then files are in the run directory
# alone, below the folder that PLUMB_TRACE_DIR, or PLUMB_DIR, names, which may begin with ~ and is made.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"
mkdir home

# left FOLDER...: prints the files that the program left, without itself and the files of this test
left() {
    find . -type f ! -name prog ! -name out.txt ! -name err.txt | sort
}

expect 'unset' 7 ./prog
[ "$(left)" = '' ] || fail "unset: it left $(left)"
expect 'empty' 7 env PLUMB_TRACE= PLUMB_DIR= PLUMB_TRACE_NODES= ./prog
[ "$(left)" = '' ] || fail "empty: it left $(left)"
expect 'off' 7 env PLUMB=1 PLUMB_TRACE=0 PLUMB_RUN_DIR=off ./prog
[ ! -e off/trace.pftrace ] || fail 'off: there is a trace'
rm -r off

expect 'set' 7 env "HOME=$PWD/home" PLUMB_TRACE=1 'PLUMB_DIR=~/deep/traces' ./prog
[ "$(find home/deep/traces -name trace.pftrace | wc -l)" = 1 ] || fail "set: $(left)"
[ "$(left | grep -v '^\./home/deep/traces/')" = '' ] || fail "set: it left $(left)"
rm -r home/deep
# One variable does both; PLUMB_DIR is then not looked at.
expect 'one variable' 7 env "HOME=$PWD/home" 'PLUMB_TRACE_DIR=~/deep/one' PLUMB_DIR=other ./prog
[ "$(find home/deep/one -name trace.pftrace | wc -l)" = 1 ] || fail "one variable: $(left)"
[ "$(left | grep -v '^\./home/deep/one/')" = '' ] || fail "one variable: it left $(left)"
rm -r home/deep
expect 'one variable, empty' 7 env PLUMB_TRACE_DIR= ./prog
[ "$(left)" = '' ] || fail "one variable, empty: it left $(left)"
expect 'one variable, forbidden' 7 env PLUMB=0 PLUMB_TRACE_DIR=one ./prog
[ "$(left)" = '' ] || fail "one variable, forbidden: it left $(left)"
expect 'regions' 7 env PLUMB_REGIONS=model_loading PLUMB_RUN_DIR=run ./prog
[ -s run/trace.pftrace ] || fail 'regions: no trace'
rm -r run
expect 'forbidden' 7 env PLUMB=0 PLUMB_TRACE=1 ./prog
[ "$(left)" = '' ] || fail "forbidden: it left $(left)"

# Where the folder cannot be made the program goes on, and that is said.
expect 'no folder' 7 env PLUMB_TRACE=1 PLUMB_DIR=/proc/plumb ./prog
has err.txt /proc/plumb
has out.txt done
finish
