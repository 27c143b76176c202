#!/bin/sh
# Completions, as bash itself offers them: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program after --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
needs_shell bash
"$PLUMB_BIN" help --completion >plumb.bash || fail "cannot make it"
offer() {
    bash -c '. ./plumb.bash
        COMP_LINE=$1; read -ra COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _plumb
        printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
check_completion
finish
