#!/bin/sh
# What fish completes, asked of fish itself: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program behind --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
command -v fish >/dev/null || { echo "skipped: fish is not installed"; exit 77; }
"$PLUMB_BIN" help --completion=fish >plumb.fish || fail "cannot make it"
export HOME="$PWD"
completes() {
    name="completion of '$1'"
    fish --no-config -c 'source plumb.fish; complete -C "$argv"' "$1" 2>err.txt | cut -f 1 >out.txt
    shift
    for word in "$@"; do
        case $word in
        !*) ! grep -qxF -- "${word#!}" out.txt || fail "$name: has '${word#!}': $(tr '\n' ' ' <out.txt)" ;;
        *) grep -qxF -- "$word" out.txt || fail "$name: lacks '$word': $(tr '\n' ' ' <out.txt)" ;;
        esac
    done
    ! grep -iE 'error|unknown|not found|bad' err.txt >&2 || fail "$name: $(cat err.txt)"
}
check_completion
finish
