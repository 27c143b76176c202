# Builds _one_table.c; sourced after _lib.sh.
# shellcheck shell=sh
build_linked "$PLUMB_SOURCE_DIR/tests/rows/_one_table.c" one_table

# same_table NAME [FRAMES]: what the program prints of its run is what `plumb report` prints; it is in
# out.txt
same_table() {
    rm -rf run
    PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/run PLUMB_CLOCK=virtual PLUMB_COLLECT=fake \
        expect "$1" 0 ./one_table "$@"
    cp out.txt program.txt
    expect "$1" 0 "$PLUMB_BIN" report ${2:+--frames "$2"} run
    cmp -s program.txt out.txt || fail "$1: $(diff program.txt out.txt)"
}
