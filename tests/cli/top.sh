#!/bin/sh
# plumb top: its table as text, and its screen in tmux at three sizes: keys, resizing, names that would
# speak to the terminal, and a terminal that is restored on every way out.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

# ncurses keeps what it knows of the terminal until the process ends.
echo 'leak:libtinfo' >lsan.supp
echo 'leak:libncurses' >>lsan.supp
export LSAN_OPTIONS="suppressions=$PWD/lsan.supp:print_suppressions=0"

run=$PWD/run
start() { # start [ARGUMENT]: the program, and its pid
    rm -rf "$run" fifo started
    mkfifo fifo
    PLUMB_RUN_DIR=$run PLUMB_QUIET=1 ./prog ${1:+"$1"} <fifo >started 2>prog.err &
    pid=$!
    exec 9>fifo
    for _ in $(seq 300); do
        grep -q ready started && return
        sleep 0.1
    done
    fail "the program does not start: $(cat prog.err)"
}
end() {
    exec 9>&-
    for _ in $(seq 300); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null && fail 'the program does not end'
    wait "$pid" 2>/dev/null
}
top() {
    "$PLUMB_BIN" top "$@"
}

build_linked "$PLUMB_SOURCE_DIR/tests/cli/_top_prog.c" prog

# ---- Text -------------------------------------------------------------------------------------------
start
expect 'text' 0 top --once --interval 0.3 $pid
has out.txt "prog  pid $pid" 'Rate/s' 'attention' 'decode' 'recording' 'cuda:0 caching: 3.00 MiB allocated' \
    'Open spans' 'serve forever' 'requests 1 (1 open, 0 failed)'
# Three times as often as the span around it, in the same time.
awk '$1 == "attention" { a = $2 } $1 == "frame" { f = $2 } END { exit !(f > 0 && a / f > 2 && a / f < 4) }' out.txt ||
    fail "rates: $(cat out.txt)"
# A node that is over has no figures of the interval, one whose first run is open has a row.
grep -q '^begin  *0\.00  *- ' out.txt || fail "not of the interval alone: $(cat out.txt)"
grep -q '^serve forever  *0\.00  *- ' out.txt || fail "no row of an open node: $(cat out.txt)"
# Hostile names are shown, and no byte of them reaches the output as it is.
has out.txt 'red\x1b[31m\x1b]0;evil\x07' 'comb e\u{301}\u{301}\u{301}' 'turn\u{202e}drow' 'wide 日本語' 'tab\x09new\x0aline'
[ "$(LC_ALL=C tr -d '\n\40-\176\200-\377' <out.txt | wc -c)" = 0 ] || fail 'control characters'
iconv -f UTF-8 -t UTF-8 out.txt >/dev/null || fail 'bytes that are no text'
expect 'C locale' 0 env LC_ALL=C "$PLUMB_BIN" top --once --interval 0.1 $pid
[ "$(LC_ALL=C tr -d '\n\40-\176' <out.txt | wc -c)" = 0 ] || fail 'not ASCII in the C locale'
expect 'two tables' 0 top --count 2 --interval 0.1 $pid
[ "$(grep -c 'Rate/s' out.txt)" = 2 ] || fail "tables: $(cat out.txt)"
expect 'JSON' 0 top --once --interval 0.3 --format json $pid
jq -e --argjson pid $pid --arg dir "$run" '
    .pid == $pid and .state == "recording" and .run_dir == $dir and .covers_ns > 1e8 and
    ([.nodes[] | select(.node == "attention")][0] |
        .runs_per_s > 0 and .mean_ns > 0 and .p95_ns >= .p50_ns and .share_percent > 0 and .count > 0 and .depth == 0) and
    ([.nodes[] | select(.node == "serve forever")][0] | .open == 1 and .open_ns > 0 and .mean_ns == null) and
    ([.nodes[].share_percent] | . == (sort | reverse)) and ([.nodes[].share_percent] | add) > 99
    ' out.txt >/dev/null || fail "JSON: $(cat out.txt)"
expect 'JSON of a tree' 0 top --interval 0.2 --format json --tree --filter attention $pid
jq -e '[.nodes[] | select(.node == "attention")] | length > 0 and all(.depth == 1 and .p95_ns == null)' out.txt >/dev/null ||
    fail "JSON of a tree: $(cat out.txt)"
expect 'CSV' 0 top --once --interval 0.2 --format csv --sort name --filter ATTEN $pid
[ "$(head -1 out.txt)" = node,phase,pipeline,depth,runs_per_s,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,share_percent,self_ns,device_ns,open,open_ns,memory_bytes,count,failures ] ||
    fail "CSV: $(cat out.txt)"
awk -F, 'NR == 2 && $1 == "attention" && $5 > 0 && $6 > 0 { found = 1 } END { exit !(found && NR == 2) }' out.txt ||
    fail "CSV: $(cat out.txt)"
expect 'Markdown' 0 top --once --interval 0.2 --format md --filter ATTEN $pid
has out.txt '| Node ' '| attention '
expect 'a form that is none' 2 top --format xml $pid
has err.txt 'plumb top: --format wants text, json'
expect 'several tables of JSON' 2 top --count 2 --format json $pid
has err.txt 'not with --count 2'
expect 'filter' 0 top --once --interval 0.1 --filter ATTEN $pid
has out.txt attention
lacks out.txt decode
expect 'tree' 0 top --once --interval 0.2 --tree --filter attention $pid
has out.txt '  attention'
lacks out.txt decode
expect 'by name' 0 top --once --interval 0.1 --sort name $pid
[ "$(awk '$1 == "attention" || $1 == "decode" || $1 == "frame" { printf "%s ", $1 }' out.txt)" = 'attention decode frame ' ] ||
    fail "order: $(cat out.txt)"
expect 'reversed' 0 top --once --interval 0.1 --sort name --reverse $pid
[ "$(awk '$1 == "attention" || $1 == "decode" || $1 == "frame" { printf "%s ", $1 }' out.txt)" = 'frame decode attention ' ] ||
    fail "order: $(cat out.txt)"
expect 'since the start' 0 top --once --interval 0.1 --total "$run"
has out.txt 'Self ' attention
grep -q '^begin  *[0-9.]*  *[0-9]' out.txt || fail "not since the start: $(cat out.txt)"
expect 'the run by its folder' 0 top --once --interval 0.1 "$run"
expect 'the newest run' 0 env PLUMB_DIR="$PWD" "$PLUMB_BIN" top --once --interval 0.1
expect 'no such process' 2 top --once 4194303
has err.txt 'process 4194303 does not exist'
expect 'a process that records nothing' 2 top --once $$
has err.txt "process $$ records nothing now"
# One that takes part: by the name of its program, and what to do where it records nothing.
mkdir -m 700 runtime
cat >part.c <<'END'
#include <plumb/plumb.h>
#include <poll.h>
int main(void)
{
    struct pollfd in = {0, POLLIN, 0};
    for (int over = 0; !over;) {
        PLUMB_SPAN("part");
        over = poll(&in, 1, 2) > 0;
    }
    return 0;
}
END
build_linked part.c "takes-part-$$"
(
    export XDG_RUNTIME_DIR="$PWD/runtime" PLUMB_CONTROL=1
    mkfifo fifo2
    "./takes-part-$$" <fifo2 >/dev/null 2>part.err &
    part=$!
    exec 8>fifo2
    wait_for sh -c '"$0" ps --format json | grep -q "\"pid\": '$part',"' "$PLUMB_BIN"
    for who in $part "takes-part-$$"; do
        expect 'one that could record' 2 top --once "$who"
        has err.txt "process $part records nothing now: 'plumb attach $part -o DIR' records it"
    done
    if [ "$("$PLUMB_BIN" ps | wc -l)" = 2 ]; then
        expect 'the only one' 2 env PLUMB_DIR="$PWD/none" "$PLUMB_BIN" top --once
        has err.txt "process $part records nothing now: 'plumb attach $part -o DIR' records it"
    fi
    "$PLUMB_BIN" attach $part -o attached >attached.out 2>&1 &
    attach=$!
    wait_for "$PLUMB_BIN" top --once --interval 0.1 $part
    expect 'a program by its name' 0 top --once --interval 0.1 "takes-part-$$"
    has out.txt "pid $part"
    kill -INT $attach
    wait $attach
    exec 8>&-
    wait $part
    [ "$failures" = 0 ]
) || fail 'a process that takes part'
expect 'wrong key' 2 top --sort speed $pid
has err.txt 'plumb top: --sort wants share, rate'
expect 'wrong interval' 2 top --interval 0 $pid
has err.txt '--interval wants'
expect 'not a number' 2 top --interval soon $pid
has err.txt 'plumb top: --interval wants a number'
expect 'not a count' 2 top --count some $pid
has err.txt 'plumb top: --count wants a whole number'

# ---- The screen -------------------------------------------------------------------------------------
if ! command -v tmux >/dev/null; then
    end
    finish
    echo 'skipped: tmux is not installed'
    exit 77
fi
if ! ldd "$PLUMB_BIN" | grep -q ncursesw; then
    end
    finish
    echo 'skipped: this plumb is built without ncurses'
    exit 77
fi
tm() {
    tmux -L "plumb-top-$$" -f /dev/null "$@" 9>&- # the program's input ends when this shell closes it
}
trap 'tm kill-server 2>/dev/null; kill $pid 2>/dev/null' EXIT
tm new-session -d -s keeper 'exec sleep 1000' || fail 'tmux does not start' # the server stays
# show WIDTH HEIGHT COMMAND: the command on a screen of this size
show() {
    tm kill-session -t top 2>/dev/null
    rm -f before after status raw top.pid
    cat >pane.sh <<EOF
stty -g >before
$3
echo \$? >status
stty -g >after
exec sleep 1000
EOF
    tm new-session -d -s top -x "$1" -y "$2" 'exec sh' || fail "tmux does not start"
    tm pipe-pane -t top -o "cat >'$PWD/raw'"
    tm send-keys -t top "cd '$PWD' && clear && exec sh pane.sh" Enter
}
seen() {
    tm capture-pane -t top -p
}
# sees TEXT: it appears on the screen
sees() {
    for _ in $(seq 150); do
        seen | grep -qF -- "$1" && return
        sleep 0.2
    done
    fail "$name: no '$1' on the screen: $(seen)"
}
# sees_not TEXT: it goes away
sees_not() {
    for _ in $(seq 150); do
        seen | grep -qF -- "$1" || return 0
        sleep 0.2
    done
    fail "$name: '$1' stays on the screen: $(seen)"
}
keys() {
    tm send-keys -t top "$@"
}
# ended STATUS: the command has ended, and the terminal is as it was
ended() {
    for _ in $(seq 150); do
        [ -s after ] && break
        sleep 0.2
    done
    [ "$(cat status 2>&1)" = "$1" ] || fail "$name: status $(cat status 2>&1), not $1: $(seen)"
    cmp -s before after || fail "$name: the terminal's modes have changed"
    [ "$(tm display-message -t top -p '#{alternate_on}#{cursor_flag}')" = 01 ] || fail "$name: the screen is not left"
}
top="LC_ALL=C.UTF-8 '$PLUMB_BIN' top --interval 0.3 $pid"

name='80x24'
show 80 24 "$top"
sees 'attention'
sees 'Rate/s'
sees 'Phase'
seen | grep -q '^.*spans/s.*  memory [0-9.]* [KMG]iB  requests' || fail "$name: the head: $(seen)"
sees 'cuda:0 caching'
sees 'turn\u{202e}drow'
[ "$(seen | wc -L)" -le 80 ] || fail "$name: wide lines"
keys h
sees 'PgUp PgDn'
keys h
sees 'Share'
keys s
sees 'sort rate'
keys S S
sees 'sort name'
keys r
sees '(reversed)'
keys /
sees 'filter: _'
keys a t t e n
sees_not 'decode'
sees 'attention'
keys Enter
sees 'filter: atten '
keys Escape
sees 'decode'
keys t
sees '  attention'
keys t
keys o
sees 'thread'
sees 'serve forever'
keys o
keys c
sees 'since start'
keys c
keys p
sees 'PAUSED'
before=$(seen)
sleep 1
[ "$(seen)" = "$before" ] || fail "$name: a paused screen changes"
keys p
sees_not 'PAUSED'
keys +
sees 'every 600 ms'
keys -
tm resize-window -t top -x 40 -y 10
sees 'Rate/s'
sees 'h help'
[ "$(seen | wc -L)" -le 40 ] || fail "40x10: wide lines: $(seen)"
[ "$(seen | wc -l)" -le 10 ] || fail '40x10: too many lines'
tm resize-window -t top -x 250 -y 70
sees 'p99'
sees 'Median'
tm resize-window -t top -x 10 -y 3
sees 'prog  pi..'
tm resize-window -t top -x 80 -y 24
sees 'attention'
keys q
ended 0
# Nothing of a name came through: no title was set, nothing rang.
! grep -q 'evil' raw || grep -a 'evil' raw | grep -qF '\x1b]0;evil\x07' || fail 'a title was set'
! LC_ALL=C grep -q "$(printf '\007')" raw || fail 'it rang'

for size in '40 10' '250 70'; do
    name=$size
    # shellcheck disable=SC2086 # two words
    show $size "$top"
    sees 'Rate/s'
    sees 'attention'
    keys q
    ended 0
done

name='colours'
show 80 24 "NO_COLOR= $top"
sees 'attention'
keys q
ended 0
LC_ALL=C grep -q "$(printf '\033')\\[3[0-9]" raw || fail 'no colours without NO_COLOR'
show 80 24 "NO_COLOR=1 $top"
sees 'attention'
keys q
ended 0
! LC_ALL=C grep -q "$(printf '\033')\\[3[1-7]m" raw || fail 'colours with NO_COLOR'

for signal in 2 15 1 11; do # INT, TERM, HUP, SEGV
    name="signal $signal"
    show 80 24 "sh -c 'echo \$\$ >top.pid; exec env LC_ALL=C.UTF-8 $PLUMB_BIN top --interval 0.3 $pid'"
    sees 'attention'
    kill -$signal "$(cat top.pid)"
    ended $((128 + signal))
done

name='keys from elsewhere'
show 80 24 "$top </dev/null"
sees 'attention'
keys q
ended 0

name='TERM=dumb'
show 80 24 "TERM=dumb '$PLUMB_BIN' top --count 2 --interval 0.2 $pid"
ended 0
! LC_ALL=C grep -aq "$(printf '\033')\\[[0-9]*;[0-9]*H" raw || fail 'a dumb terminal got cursor movements'

name='the process ends'
show 80 24 "$top"
sees 'attention'
end
ended 0
sees "process $pid has ended its run"
start fast
name='the process is killed'
show 80 24 "LC_ALL=C.UTF-8 '$PLUMB_BIN' top --interval 0.3 $pid"
sees 'attention'
kill -KILL $pid
ended 0
sees "process $pid is gone"
end
finish
