#!/bin/sh
# plumb help: every command explains itself; man pages and completion are those of the build.
#
# After a change of an option: docs/man/update.sh BUILD_DIR/bin/plumb
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

expect 'version' 0 "$PLUMB_BIN" --version
grep -qE '^plumb [0-9]+\.[0-9]+\.[0-9]+$' out.txt || fail "version: $(cat out.txt)"
expect 'no command' 2 "$PLUMB_BIN"
empty out.txt
expect 'unknown command' 2 "$PLUMB_BIN" frobnicate
has err.txt "unknown command 'frobnicate' (see 'plumb help')"
expect 'misspelt command' 2 "$PLUMB_BIN" reprot
has err.txt "unknown command 'reprot': did you mean 'report'?"
expect 'help' 0 "$PLUMB_BIN" --help
commands=$(sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p' out.txt)
[ "$(echo "$commands" | tr '\n' ' ')" = 'record report compare diverge activations bench gate ab deep runs history recover export doctor count-launches serve ps top attach help ' ] ||
    fail "commands are: $commands"
[ "$(sed -n '/^Commands/,/^$/s/^\(  [a-z-]*  *\).*/\1/p' out.txt | awk '{ print length($0) }' | sort -u | wc -l)" = 1 ] ||
    fail 'what the commands do does not stand in one column'
for command in $commands; do
    expect "$command --help" 0 "$PLUMB_BIN" "$command" --help
    has out.txt "Usage: plumb $command" 'Examples' 'Exit status' '--help'
    empty err.txt
    cp out.txt help.txt
    expect "help $command" 0 "$PLUMB_BIN" help "$command"
    cmp -s out.txt help.txt || fail "help $command and $command --help differ"
    [ "$(awk 'length($0) > 80' out.txt)" = '' ] || fail "help $command has lines over 80 columns"
    expect "bad option of $command" "$([ "$command" = record ] && echo 125 || echo 2)" \
        "$PLUMB_BIN" "$command" --no-such-option
    has err.txt "unknown option '--no-such-option'"
done
expect 'environment' 0 "$PLUMB_BIN" help environment
has out.txt PLUMB_DIR PLUMB_SKIP_FIRST PLUMB_MAX_STATE
lacks out.txt PLUMB_RECORD_LOG
expect 'no such topic' 2 "$PLUMB_BIN" help frobnicate
has err.txt "no help on 'frobnicate' (see"
expect 'misspelt topic' 2 "$PLUMB_BIN" help recrod
has err.txt "no help on 'recrod': did you mean 'record'?"
for pair in environmnt:environment region:regions PLUMB_SIGNAL:PLUMB_SIGNALS; do
    expect "misspelt ${pair#*:}" 2 "$PLUMB_BIN" help "${pair%:*}"
    has err.txt "no help on '${pair%:*}': did you mean '${pair#*:}'?"
done
expect 'one variable' 0 "$PLUMB_BIN" help PLUMB_SIGNALS
[ "$(wc -l <out.txt)" = 2 ] && has out.txt 'Variable  ' 'PLUMB_SIGNALS  ' ||
    fail "one variable: $(cat out.txt)"
expect 'misspelt option of a setting' 125 "$PLUMB_BIN" record --skip-frist 3 -- true
has err.txt "unknown option '--skip-frist': did you mean '--skip-first'?"

# Every variable but the master switch is an option of record.
for variable in $("$PLUMB_BIN" help environment | sed -n 's/^PLUMB_\([A-Z0-9_]*\).*/\1/p'); do
    option=--$(echo "$variable" | tr 'A-Z_' 'a-z-')
    "$PLUMB_BIN" help record | grep -q -e "$option" || fail "record has no option $option"
done

name='man pages'
mkdir man
"$PLUMB_SOURCE_DIR/docs/man/update.sh" "$PLUMB_BIN" "$PWD" || fail 'docs/man/update.sh'
for file in "$PLUMB_SOURCE_DIR"/docs/man/*.1 man/*.1; do
    cmp "$PLUMB_SOURCE_DIR/docs/man/${file##*/}" "man/${file##*/}" ||
        fail "run docs/man/update.sh: ${file##*/} is not that of this build"
done
for shell in bash zsh fish; do
    cmp "$PLUMB_SOURCE_DIR/completions/plumb.$shell" plumb.$shell ||
        fail "run docs/man/update.sh: the completion of $shell is not that of this build"
    for command in record report compare diverge; do
        grep -q "$command" plumb.$shell || fail "$shell does not know $command"
    done
    grep -q 'us ms s' plumb.$shell || fail "$shell does not know the words of --unit"
done
# Where the shells are installed they read what was made for them.
if command -v zsh >/dev/null; then zsh -n plumb.zsh || fail 'zsh cannot read its completion'; fi
if command -v fish >/dev/null; then fish --no-execute plumb.fish || fail 'fish cannot read its completion'; fi
expect 'no such shell' 2 "$PLUMB_BIN" help --completion=csh
has err.txt "--completion wants bash, zsh or fish, not 'csh'"

name='completion'
cat >complete.bash <<'END'
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_plumb
printf '%s\n' "${COMPREPLY[@]}"
END
complete() {
    bash complete.bash plumb.bash "$@" | tr '\n' ' '
}
[ "$(complete plumb rec)" = 'record recover ' ] || fail "commands: $(complete plumb rec)"
[ "$(complete plumb report --fr)" = '--frames ' ] || fail 'options'
[ "$(complete plumb report --sort p)" = 'p95 ' ] || fail "choices: $(complete plumb report --sort p)"
[ "$(complete plumb record --skip)" = '--skip-first ' ] || fail 'options of settings'
[ "$(complete plumb export --format o)" = 'otf2 otlp ' ] || fail 'formats of export'
complete plumb diverge --map '' | grep -q RULE && fail 'RULE is no word to be typed'
complete plumb record -- ls | grep -q 'ls ' || fail 'programs'
finish
