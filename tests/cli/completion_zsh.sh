#!/bin/sh
# What zsh completes, asked of zsh itself: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program behind --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
command -v zsh >/dev/null || { echo "skipped: zsh is not installed"; exit 77; }
mkdir functions
"$PLUMB_BIN" help --completion=zsh >functions/_plumb || fail "cannot make it"
completes() {
    name="completion of '$1'"
    timeout 60 zsh -f "$PLUMB_SOURCE_DIR/tests/cli/_complete.zsh" "$PWD/functions" "$1" >out.txt 2>err.txt || fail "$name: hangs"
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
