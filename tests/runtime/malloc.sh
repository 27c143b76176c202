#!/bin/sh
# labels: plain
# plumb record --malloc: every allocation of a program as it is counts once and for the node it was
# made in, and the program does what it does without.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -O2 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$@" || exit 1
}
lib() {
    cc -fno-builtin -fPIC -shared -D"$1" "$here/_malloc_lib.c" -o "$2"
}
lib LOCKED liblocked.so
lib LATE late.so
lib OTHER libother.so
lib MUTE libmute.so
cc "$here/_malloc.c" -o prog -L. -llocked -Wl,-rpath,"$PWD" -ldl -lpthread
cc -DFOREIGN "$here/_malloc.c" -o prog_other -L. -lother -llocked -Wl,-rpath,"$PWD" -ldl -lpthread
cc -fno-builtin -DINSIDE "$here/_malloc.c" "$here/_malloc_lib.c" -o prog_inside -L. -llocked \
    -Wl,-rpath,"$PWD" -ldl -lpthread
cc -DPLUMB_LINKED "$here/_malloc.c" -o prog_linked -L. -llocked -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$PWD:$lib_dir" -ldl -lpthread
cc -DPLUMB_LINKED "$here/_malloc.c" "$lib_dir/libplumb.a" -o prog_holding -L. -llocked \
    -Wl,-rpath,"$PWD" -ldl -lpthread -lm
$CXX -std=c++17 -O2 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$here/_malloc.cc" -o prog_cc \
    -lpthread || exit 1

# accounts RUN: what the run has, in the words of the programs.
accounts() {
    jq -r '.memory.pools[] | select(.pool == "malloc") | .owners[] | select(.node != "") |
        "\(.node) \(.allocs) \(.alloc_bytes) \(.frees) \(.free_bytes)"' "$1" | sort
}
# malloc_of RUN EXPRESSION: of malloc's pool
malloc_of() {
    jq -r ".memory.pools[] | select(.pool == \"malloc\") | $2" "$1"
}
# alike FILE FILE: the same output. How large an aligned block really is depends on what lies around it in
# the heap, which is other with plumb than without, and with another path; how often is the same.
alike() {
    for file in "$1" "$2"; do
        sed -E 's/^(memalign|aligned) ([0-9]+) [0-9]+ ([0-9]+) [0-9]+$/\1 \2 \3/' "$file" >"$file.steady"
    done
    cmp -s "$1.steady" "$2.steady"
}
# followed NAME STATUS COMMAND...: prints and ends as without plumb, into out.txt; the run is in run/
followed() {
    rm -rf run
    what=$1
    wanted=$2
    shift 2
    expect "$what, alone" "$wanted" "$@"
    cp out.txt alone.txt
    expect "$what" "$wanted" "$PLUMB_BIN" record --malloc --quiet --run-dir run -- "$@"
    empty err.txt
    alike out.txt alone.txt || fail "$what: it prints other things"
    [ -f run/timing.json ] || fail "$what: no run"
}
# same NAME: what the program says it did is what was counted
same() {
    sort out.txt >said.txt
    accounts run/timing.json >counted.txt
    diff said.txt counted.txt >difference.txt || fail "$1: said, counted:
$(cat difference.txt)"
}
# sound NAME: what holds in any run
sound() {
    malloc_of run/timing.json '.allocated_bytes == .held_before_bytes + .alloc_bytes - .free_bytes
        and .peak_allocated_bytes >= .allocated_bytes
        and .allocs == ([.owners[].allocs] | add) and .free_bytes == ([.owners[].free_bytes] | add)' |
        grep -q true || fail "$1: $(malloc_of run/timing.json .)"
}

for program in prog prog_linked prog_holding prog_other; do
    followed "calls of $program" 7 ./$program calls
    same "calls of $program"
    sound "calls of $program"
done
# The report: largest first, and no claim about what was held at the peak.
followed 'report' 7 ./prog calls
"$PLUMB_BIN" report memory run >report.txt
has report.txt 'Who allocated (MiB)'
lacks report.txt 'held when the pool was at its peak'
[ "$(sed -n '/Who allocated/,$p' report.txt | awk 'NR == 4 { print $3 }')" = realloc ] ||
    fail "report: $(cat report.txt)"
followed 'C++' 5 ./prog_cc
same 'C++'
followed 'threads' 0 ./prog threads
same 'threads'
sound 'threads'
# counts NAME: calls of malloc and free of the run in run/
counts() {
    malloc_of run/timing.json '"\(.allocs) \(.frees)"'
}
followed 'quiet thread ends' 0 ./prog 'quiet ends'
before=$(counts)
followed 'thread ends' 0 ./prog ends
sound 'thread ends'
# 100 threads, each with a pair and three more in rounds of destructors.
[ "$(counts)" = "$((${before% *} + 400)) $((${before#* } + 400))" ] ||
    fail "thread ends: $(counts) calls; without theirs $before"
followed 'nothing' 0 ./prog
sound 'nothing'
# The constructor's 5000 bytes are there before, or counted; the destructor's pair may be too late.
malloc_of run/timing.json '.held_before_bytes + .alloc_bytes >= 5060' | grep -q true ||
    fail "constructor: $(malloc_of run/timing.json .)"

followed 'no handler' 0 ./prog 'no handler'
before=$(counts)
rm -rf run
expect 'handler' 0 "$PLUMB_BIN" record --malloc --quiet --run-dir run -- ./prog handler
handled=$(cat out.txt)
sound 'handler'
[ "$(counts)" = "$((${before% *} + handled)) $((${before#* } + handled))" ] ||
    fail "handler: $(counts) calls, $handled of them in handlers; without $before"

followed 'dlopen' 0 ./prog dlopen
[ "$(accounts run/timing.json | cut -d ' ' -f 1,2,4)" = 'late 1 1' ] ||
    fail "dlopen: $(accounts run/timing.json)"
followed 'no address space' 3 ./prog limit
sound 'no address space'
followed 'fork' 0 ./prog fork
sound 'fork'
[ "$(find . -maxdepth 1 -name 'run.*' | wc -l)" = 1 ] || fail "fork: $(ls -d run*)"
mv run.* child
accounts run/timing.json | grep -q '^parent 1 335[0-9]* 1 335[0-9]*$' ||
    fail "fork: the parent has $(accounts run/timing.json)"
accounts child/timing.json | grep -q '^child 1 104 2 335[0-9]*$' ||
    fail "fork: the child has $(accounts child/timing.json)"
malloc_of child/timing.json '.held_before_bytes > 33554432 and .allocated_bytes < 1000000' |
    grep -q true || fail "fork: $(malloc_of child/timing.json .)"
rm -rf child
followed 'locks of others in fork' 0 ./prog atfork
sound 'locks of others in fork'

# Interpreters: the same output and status, signals as they found them.
cat >work.py <<'PY'
import signal, subprocess, sys, threading
data = [bytes(n) for n in range(5000)]
threads = [threading.Thread(target=lambda: [bytearray(1000) for _ in range(1000)]) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(map(len, data)), subprocess.run(["echo", "hi"], capture_output=True).stdout)
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
sys.exit(9)
PY
followed 'python' 9 /usr/bin/python3 work.py
sound 'python'
cat >exit_early.py <<'PY'
import os
print("out", flush=True)
os._exit(4)
PY
expect 'python that does not pass by its handlers' 4 "$PLUMB_BIN" record --malloc --quiet --run-dir none -- \
    /usr/bin/python3 exit_early.py
has err.txt 'nothing was recorded' 'ended without passing by its exit handlers'
# A descriptor that a shell takes by its number is not that of the run.
cat >three.sh <<'SH'
exec 3>three.txt
for i in 1 2 3 4 5 6 7 8; do ./prog calls >/dev/null; done
echo three >&3
SH
expect 'descriptor 3' 0 "$PLUMB_BIN" record --malloc --quiet --run-dir three -- bash three.sh
[ "$(cat three.txt)" = three ] || fail "descriptor 3: it holds $(wc -c <three.txt) bytes"
[ "$(find . -maxdepth 1 -name 'three*' -type d | wc -l)" = 9 ] ||
    [ -f three/timing.json ] || fail "descriptor 3: $(ls -d three*)"

# A wrapper that becomes the program, and helpers that end soon, leave nothing.
rm -rf plumb-out
expect 'wrapper' 0 "$PLUMB_BIN" record --malloc --quiet -- env A=1 ./prog marks
[ "$(ls plumb-out)" = prog ] || fail "wrapper: $(ls plumb-out)"
cat >helpers.sh <<'SH'
for i in 1 2 3 4 5 6; do /bin/true; done
./prog marks
exec /bin/true
SH
rm -rf plumb-out
expect 'helpers' 0 "$PLUMB_BIN" record --malloc --quiet -- bash helpers.sh
[ -d plumb-out/prog ] && [ "$(find plumb-out/prog -name timing.json | wc -l)" -ge 1 ] ||
    fail "helpers: $(find plumb-out)"
[ "$(accounts plumb-out/prog/latest/timing.json | cut -d ' ' -f 1,2,4)" = 'frame 3 3' ] ||
    fail "helpers: $(accounts plumb-out/prog/latest/timing.json)"

# A program without marks has a run while it works, and leaves it when it is killed.
rm -rf run
expect 'until open' 0 "$PLUMB_BIN" record --malloc --quiet --run-dir run -- ./prog 'until open'
empty err.txt
sound 'until open'
rm -rf run
expect 'until killed' 137 "$PLUMB_BIN" record --malloc --quiet --run-dir run -- ./prog 'until killed'
has err.txt 'was ended by signal 9' 'recovered 0 samples of 0 nodes'
lacks err.txt 'nothing was recorded'
malloc_of run/timing.json '.alloc_bytes > 3145728 and .allocs > 500' | grep -q true ||
    fail "until killed: $(malloc_of run/timing.json .)"
# So has a process below, after a while.
rm -rf plumb-out
expect 'below' 0 "$PLUMB_BIN" record --malloc --quiet -- \
    bash -c "./prog 'until open' plumb-out/prog/latest; exit 0"
malloc_of plumb-out/prog/latest/timing.json '.alloc_bytes > 3145728' | grep -q true ||
    fail "below: $(find plumb-out)"

# By hand, with nothing else loaded.
rm -rf run
LD_PRELOAD="$lib_dir/libplumb-malloc.so" PLUMB_RUN_DIR="$PWD/run" PLUMB_QUIET=1 ./prog calls >out.txt 2>err.txt
[ $? = 7 ] || fail 'by hand: the status'
same 'by hand'
LD_PRELOAD="$lib_dir/libplumb-malloc.so" ./prog calls >off.txt 2>err.txt
[ $? = 7 ] || fail 'recording off: the status'
alike out.txt off.txt || fail 'recording off: the output'
empty err.txt
mkdir alone
cp "$lib_dir/libplumb-malloc.so" alone
LD_PRELOAD="$PWD/alone/libplumb-malloc.so" ./prog calls >off.txt 2>err.txt
[ $? = 7 ] || fail 'without libplumb: the status'
has err.txt 'plumb: malloc is not followed: no libplumb in this process, and none at ' alone/libplumb.so.0

# A program whose malloc cannot be followed runs, after a line that says so.
rm -rf plumb-out
expect 'its own allocator' 7 "$PLUMB_BIN" record --malloc -- ./prog_inside calls
has err.txt "'./prog_inside' has an allocator of its own inside" 'malloc is not followed'
[ "$(jq '.memory.pools | length' plumb-out/prog_inside/latest/timing.json)" = 0 ] ||
    fail 'its own allocator: a pool'
LD_PRELOAD="$lib_dir/libplumb-malloc.so" PLUMB_RUN_DIR="$PWD/own" ./prog_inside calls >out.txt 2>err.txt
has err.txt 'malloc is not followed: another allocator comes first, that of ./prog_inside'
expect 'an allocator that knows no sizes' 7 "$PLUMB_BIN" record --malloc -- \
    env LD_PRELOAD="$lib_dir/libplumb-malloc.so:$lib_dir/libplumb.so.0:$PWD/libmute.so" ./prog calls
has err.txt 'malloc is not followed: the allocator of this process cannot tell the size of a block' \
    'malloc was followed in no process'
cc -static "$here/_malloc.c" -DLOCKED "$here/_malloc_lib.c" -o prog_static -lpthread 2>/dev/null
expect 'static' 7 "$PLUMB_BIN" record --malloc -- ./prog_static calls
has err.txt "'./prog_static' is statically linked"
lacks err.txt 'its malloc'
if cc -fsanitize=address "$here/_malloc.c" -DLOCKED "$here/_malloc_lib.c" -o prog_asan -lpthread \
    2>/dev/null; then
    expect 'AddressSanitizer' 0 "$PLUMB_BIN" record --malloc -- ./prog_asan marks
    has err.txt "'./prog_asan' is built with AddressSanitizer"
    lacks err.txt 'does not come first'
fi
if cc -fsanitize=thread "$here/_malloc.c" -DLOCKED "$here/_malloc_lib.c" -o prog_tsan -lpthread \
    2>/dev/null; then
    expect 'ThreadSanitizer' 0 "$PLUMB_BIN" record --malloc -- ./prog_tsan marks
    has err.txt "'./prog_tsan' is built with a sanitizer" 'its malloc is not followed'
fi
mkdir elsewhere
cp -P "$lib_dir"/libplumb.so* elsewhere
expect 'no library' 125 env PLUMB_LIBRARY="$PWD/elsewhere/libplumb.so.0" "$PLUMB_BIN" record --malloc -- \
    ./prog calls
has err.txt '--malloc needs ' elsewhere/libplumb-malloc.so 'which is not there'
[ "$(wc -l <err.txt)" = 1 ] || fail "no library: more than a line"
empty out.txt
expect 'forbidden' 7 env PLUMB=0 "$PLUMB_BIN" record --malloc -- ./prog calls
has err.txt 'PLUMB=0 forbids it'

name=doctor
"$PLUMB_BIN" doctor >out.txt 2>/dev/null # whose status is about this machine
has out.txt 'malloc' libplumb-malloc.so
"$PLUMB_BIN" doctor -- ./prog_inside >out.txt 2>/dev/null
has out.txt "'plumb record --malloc' sees nothing: ./prog_inside has an allocator of its own"
"$PLUMB_BIN" doctor -- ./prog_static >out.txt 2>/dev/null
has out.txt "'plumb record --malloc' sees nothing: ./prog_static is statically linked"
"$PLUMB_BIN" doctor -- ./prog >out.txt 2>/dev/null
has out.txt 'malloc can be followed'
finish
