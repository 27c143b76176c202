#!/bin/sh
# Completions, as zsh itself offers them: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program after --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
needs_shell zsh
mkdir functions
"$PLUMB_BIN" help --completion=zsh >functions/_plumb || fail "cannot make it"
offer() {
    timeout 60 zsh -f "$PLUMB_SOURCE_DIR/tests/cli/_complete.zsh" "$PWD/functions" "$1"
}
check_completion
finish
