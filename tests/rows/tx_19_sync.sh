#!/bin/sh
# labels: plain
# TX-19: the device is synchronised before and after every timed call, in plumb bench and in the generated program.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --warmup 1 --repeat 3
grep '^call [sr][yu]n' err.txt >calls.txt
for i in 1 2 3 4; do printf 'call sync\ncall run\ncall sync\n'; done | cmp -s - calls.txt || fail "$(cat calls.txt)"
sh -c "cd run && $(sed -n '1s,^/\* ,,p' run/profile_plain.c)" || fail 'the program'
run/profile_plain --warmup 1 --runs 3 >result.json 2>err.txt
grep '^call [sr][yu]n' err.txt | cmp -s - calls.txt || fail "the program: $(cat err.txt)"
