#!/bin/sh
# labels: plain
# Commands that a user types before reading any page: names of programs for names of runs, words of other
# tools, and a Python program under plumb record.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
run() {
    "$PLUMB_BIN" "$@"
}

# ---- The program's name ---------------------------------------------------------------------------
printf '\177ELF not a report' >prog
printf '#!/bin/sh\n' >script
chmod +x prog script
expect 'the program before any run' 2 run report prog
[ "$(cat err.txt)" = "plumb report: 'prog' is a program, and 'plumb-out' has no run of it: record one with 'plumb record -- ./prog'" ] ||
    fail "$name: $(cat err.txt)"
expect 'a script' 2 run report ./script
has err.txt "'./script' is a program"
expect 'no run at all' 2 run report
has err.txt "no run in 'plumb-out': record one with 'plumb record -- CMD'"
for n in 1 2; do
    mkdir -p plumb-out/prog/2026010$n-000000-box-$n
    jq ".start_unix_ns += $n * 1000000000 | .nodes[0].total_ns += $n" "$data/golden.json" \
        >plumb-out/prog/2026010$n-000000-box-$n/timing.json
done
expect 'the newest run' 0 run report --format csv
cp out.txt newest.txt
for word in prog ./prog latest show:prog show:latest; do
    case $word in
    show:*) expect "show ${word#show:}" 0 run show --format csv "${word#show:}" ;;
    *) expect "report $word" 0 run report --format csv "$word" ;;
    esac
    cmp -s newest.txt out.txt || fail "$name is not the newest run: $(cat out.txt)"
done
expect 'a pipeline against itself, both with all runs' 0 run compare prog prog
has out.txt 'A: prog (2 runs)'
expect 'no such run' 2 run report nosuch
has err.txt "no run 'nosuch' in 'plumb-out', which has 2 runs of prog: see 'plumb runs'"
expect 'a name that needs a folder' 2 run report no/such
printf 'no report' >text
expect 'a file that is neither' 2 run report text
has err.txt "'text' is not valid JSON"

# ---- Words of other tools -------------------------------------------------------------------------
expect 'ls' 0 run ls
has out.txt prog
expect 'list' 0 run list
expect 'diff' 0 run diff prog prog
expect 'run' 3 run run -- sh -c 'exit 3'
for word in -v -V version --version; do
    expect "$word" 0 run $word
    grep -qE '^plumb [0-9]' out.txt || fail "$word: $(cat out.txt)"
done
answer() {
    expect "$1" 2 run "$1"
    has err.txt "unknown command '$1': it is '$2"
}
answer tree 'plumb report tree'
answer flamegraph 'plumb report --format svg -o flame.svg'
answer trace 'plumb report trace'
answer memory 'plumb report memory'
answer prune 'plumb runs --prune 30d'
expect '--json' 2 run report --json
has err.txt "unknown option '--json': did you mean '--format json'?"
expect '--md' 2 run compare --md prog prog
has err.txt "did you mean '--format md'?"

# ---- Python ---------------------------------------------------------------------------------------
if [ "$PLUMB_BUILD_KIND" = plain ] && command -v /usr/bin/python3 >/dev/null; then
    cd plumb-out || exit 1
    expect 'Python without marks' 0 run record -- /usr/bin/python3 -c 'pass'
    has err.txt 'import plumb_torch_activations'
    lacks err.txt PLUMB_SPAN
    expect 'Python with activations' 0 run record -- /usr/bin/python3 -c \
        'open("torch_activations_7.jsonl", "w").write("{}\n")'
    has err.txt "the program left 'torch_activations_7.jsonl'" 'plumb activations torch_activations_7.jsonl' \
        'plumb diverge GOOD torch_activations_7.jsonl'
    lacks err.txt 'nothing was recorded'
fi
# In a folder that holds a program with the name of a pipeline, the name means the program, for exports as well.
cp "$(command -v true)" words
expect 'a program is no trace' 2 "$PLUMB_BIN" export words
has err.txt "no run 'words'"
expect 'help on a word of other tools' 2 "$PLUMB_BIN" help tracing
has err.txt "no help on 'tracing': the command is 'plumb report trace"
finish
