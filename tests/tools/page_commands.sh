#!/bin/sh
# labels: plain
# tools/page_commands.py finds each command of README.md and CONTRIBUTING.md, in blocks and tables; a new
# one runs as it stands, and a rule for a command that is gone is an error.
set -eu
fail() {
    echo "page_commands: $*" >&2
    exit 1
}
list=$PLUMB_SOURCE_DIR/tools/page_commands.py
"$list" "$PLUMB_SOURCE_DIR" >all.txt
for command in 'make demo' 'make test' 'make bench' 'make tsan' 'plumb record -- ./prog' 'tools/deps.sh test' \
    'cmake --preset dev && cmake --build --preset dev'; do
    [ "$(cut -f4 all.txt | grep -cxF "$command")" = 1 ] || fail "'$command' is not there once: $(cat all.txt)"
done
grep -F 'FUZZ_SECONDS=2 make fuzz' all.txt | cut -f4 | grep -qx 'make fuzz' || fail 'make fuzz is not shortened'

mkdir -p page/tools
cp "$PLUMB_SOURCE_DIR/README.md" "$PLUMB_SOURCE_DIR/CONTRIBUTING.md" page/
for script in tools/deps.sh docs/man/update.sh tests/abi/abi.sh; do
    mkdir -p "page/$(dirname $script)"
    cp "$PLUMB_SOURCE_DIR/$script" "page/$script"
done
printf '\n```sh\nmake new   # something new\nfollows it\n```\n| command | |\n|---|---|\n| `make other` | |\n' >>page/CONTRIBUTING.md
"$list" page | diff all.txt - >diff.txt && fail 'new commands are not seen'
sed -n 's/^> //p' diff.txt | cut -f4,5 >new.txt
printf 'make new\tmake new\nfollows it\tfollows it\nmake other\tmake other\n' | cmp - new.txt || fail "$(cat new.txt)"

grep -v 'make size' "$PLUMB_SOURCE_DIR/CONTRIBUTING.md" | grep -v 'make fuzz' >page/CONTRIBUTING.md
"$list" page >/dev/null 2>err.txt && fail 'a rule without a command passes'
grep -q "RULES has 'make fuzz', which is on no page" err.txt || fail "$(cat err.txt)"
