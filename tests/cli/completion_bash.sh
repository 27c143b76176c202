#!/bin/sh
# What bash completes, asked of bash itself: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program behind --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
command -v bash >/dev/null || { echo "skipped: bash is not installed"; exit 77; }
"$PLUMB_BIN" help --completion >plumb.bash || fail "cannot make it"
completes() {
    name="completion of '$1'"
    bash -c '. ./plumb.bash
        COMP_LINE=$1; read -ra COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _plumb
        printf "%s\n" "${COMPREPLY[@]}"' bash "$1" >out.txt 2>err.txt
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
