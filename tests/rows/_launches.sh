# Shared by the tests of plumb count-launches, which source it.
# shellcheck shell=sh
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/rows/_launches_host.c" host
export PLUMB_COLLECT=fake

# count_launches HOW OPTION...: runs the host
count_launches() {
    how=$1
    shift
    "$PLUMB_BIN" count-launches "$@" -- ./host '{depth}' '{fused}' '{iters}' '{output}' "$how"
}
# field NAME: of all rows, in one line
field() {
    jq -c "[.[].$1]" out.txt
}
# fields NAME VALUE: they are that
fields() {
    got=$(field "$1")
    [ "$got" = "$2" ] || fail "$name: $1 is $got, not $2"
}
