#!/bin/sh
# Completions, as fish itself offers them: commands, options of the command that stands first, values of
# a choice, names of runs, topics of the help, and another program after --.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_completion.sh"
needs_shell fish
"$PLUMB_BIN" help --completion=fish >plumb.fish || fail "cannot make it"
export HOME="$PWD"
offer() {
    fish --no-config -c 'source plumb.fish; complete -C "$argv"' "$1" | cut -f 1
}
check_completion
finish
