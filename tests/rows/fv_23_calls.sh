#!/bin/sh
# labels: plain
# FV-23: plumb record --calls ROOT records entries and returns of the functions whose source lies below
# ROOT, of a program and of its libraries, and of no others; without it nothing is recorded.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
here=$PLUMB_SOURCE_DIR/tests/rows
if ! "$PLUMB_BIN" record --calls . -- /nowhere 2>&1 | grep -q 'cannot run'; then
    echo 'no libdw'
    exit 77
fi
mkdir src other
cp "$here/_calls_prog.c" src/prog.c
cp "$here/_calls_other.c" "$here/_calls_other.h" other
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -g -Wall -Wextra -Werror -Iother "$@" || exit 1
}
cc -O1 -finstrument-functions -fPIC -shared other/_calls_other.c -o libother.so
cc -O0 -finstrument-functions src/prog.c -o prog libother.so -Wl,-rpath,"$PWD" -lpthread
cc -O2 -finstrument-functions -no-pie src/prog.c -o fast libother.so -Wl,-rpath,"$PWD" -lpthread
cc -O1 src/prog.c -o plain libother.so -Wl,-rpath,"$PWD" -lpthread
./prog >wanted.txt
# nodes RUN: "count node", sorted
nodes() {
    "$PLUMB_BIN" report --format json "$1" | jq -r '.pipelines[0].rows[] | "\(.count) \(.node)"' | sort
}
line() { # of a text in prog.c
    grep -n "$1" src/prog.c | head -1 | cut -d: -f1
}
for prog in prog fast; do
    expect "$prog" 4 "$PLUMB_BIN" record --quiet --calls src --run-dir "run_$prog" -- "./$prog"
    cmp -s out.txt wanted.txt || fail "$prog: it prints other things"
    empty err.txt
    nodes "run_$prog" >"$prog.txt"
    lacks "$prog.txt" other
    # Each call of a thread and of a handler; the jump leaves one call without a return.
    has "$prog.txt" "111 leaf (prog.c:$(line 'int leaf'))" "1 main (prog.c:$(line 'int main'))" \
        "1 worker (prog.c:$(line 'worker(void'))" "1 on_signal (prog.c:$(line 'on_signal(int'))"
done
has prog.txt "5 factorial (prog.c:$(line '^int factorial'))" "0 jumper (prog.c:$(line 'jumper(void'))"

expect 'everything' 4 "$PLUMB_BIN" record --quiet --calls "$PWD" --run-dir all -- ./prog
nodes all >all.txt
has all.txt '1 other (other/_calls_other.c:4)' "111 leaf (src/prog.c:$(line 'int leaf'))"
expect 'a part' 4 "$PLUMB_BIN" record --quiet --calls other --run-dir part -- ./prog
[ "$(nodes part)" = '1 other (_calls_other.c:4)' ] || fail "a part: $(nodes part)"
expect 'a trace' 4 "$PLUMB_BIN" record --quiet --trace --calls src --run-dir traced -- ./prog
expect 'its call tree' 0 "$PLUMB_BIN" report tree traced
has out.txt "    factorial (prog.c:$(line '^int factorial'))"

# C++: members, lambdas, and functions with a part that is unlikely and lies elsewhere (throw), with each compiler that is
# there. gcc gives lambdas no line but in the table of lines; clang calls the unit's own file number 0.
cat >src/klass.cc <<'CC'
#include <stdexcept>
namespace ns {
struct Base {
    virtual ~Base() {}
    virtual int f(int x) = 0;
};
static int thrower(int x)
{
    if (x > 9)
        throw std::runtime_error("large");
    return x;
}
struct Derived : Base {
    int f(int x) override;
};
int Derived::f(int x)
{
    return thrower(x);
}
} // namespace ns
template <class F> static int apply(F fn, int x)
{
    return fn(x) + fn(x);
}
int main()
{
    ns::Derived d;
    ns::Base *b = &d;
    int sum = 0;
    for (int i = 0; i < 9; i++)
        sum += b->f(i);
    try {
        b->f(10);
    } catch (const std::exception &) {
        sum++;
    }
    sum += apply([](int x) { return x * 2; }, 3);
    return sum == 36 + 1 + 12 ? 7 : 1;
}
CC
for cxx in "$CXX" clang++; do
    command -v "${cxx%% *}" >/dev/null || continue
    for flag in -O0 -O2; do
        $cxx -std=c++17 -g $flag -finstrument-functions src/klass.cc -o klass || exit 1
        rm -rf klasses
        expect "$cxx $flag" 7 "$PLUMB_BIN" record --quiet --calls src --run-dir klasses -- ./klass
        nodes klasses >klass.txt 2>/dev/null
        has klass.txt '1 main (klass.cc:25)' 'ns::Derived::f (klass.cc:16)' 'ns::thrower (klass.cc:7)' '1 ns::Base::~Base (klass.cc:4)'
        grep -q '^2 main::.*::operator() (klass.cc:37)' klass.txt || fail "$name: the lambda: $(cat klass.txt)"
    done
done

# A program that ends in its depths has no span that ended.
printf '#include <stdlib.h>\nvoid leave(void) { exit(3); }\nint main(void) { leave(); }\n' >src/leaves.c
cc -O0 -finstrument-functions src/leaves.c -o leaves
expect 'it leaves' 3 "$PLUMB_BIN" record --calls src --run-dir left -- ./leaves
has err.txt "still open at the end: 'main (leaves.c:3)'" "still open at the end: 'leave (leaves.c:2)'"
lacks err.txt 'nothing was recorded'

# Off, and where there is nothing: no span.
expect 'off' 4 "$PLUMB_BIN" record --run-dir off -- ./prog
has err.txt 'nothing was recorded'
expect 'not instrumented' 4 "$PLUMB_BIN" record --calls src --run-dir bare -- ./plain
has err.txt 'nothing was recorded'
expect 'another folder' 125 "$PLUMB_BIN" record --calls /usr/include -- ./prog
has err.txt "no function of './prog' or its libraries has its source below '/usr/include'" '-finstrument-functions'
expect 'no folder' 125 "$PLUMB_BIN" record --calls nowhere -- ./prog
has err.txt "--calls: 'nowhere': No such file or directory"
cc -static -finstrument-functions src/prog.c other/_calls_other.c -o still -lpthread
expect 'a static program' 125 "$PLUMB_BIN" record --calls src -- ./still
has err.txt 'is statically linked'
exit $((failures > 0))
