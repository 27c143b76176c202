#!/bin/sh
# labels: plain
# `plumb record` preloads libplumb into every process of a script. One in which nothing has trace points stays as
# it is, with one thread; a marked library that it loads later is recorded, with its trace.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export PLUMB_QUIET=1
record() {
    rm -rf run
    "$PLUMB_BIN" record --run-dir run "$@"
}

# ls looks at its own threads.
expect 'no second thread' 0 record -- ls /proc/self/task
[ "$(wc -l <out.txt)" = 1 ] || fail "$name: $(cat out.txt)"
expect 'malloc is followed by one' 0 record --malloc -- ls /proc/self/task
[ "$(wc -l <out.txt)" = 2 ] || fail "$name: $(cat out.txt)"

# With a second thread libc ends it: one thread keeps a capability that the other has lost.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    expect 'gives up rights' 0 record -- setpriv --reuid=65534 --clear-groups id -u
    [ "$(cat out.txt)" = 65534 ] || fail "$name: $(cat out.txt)"
fi

cat >plugin.c <<'C'
#include <plumb/plumb.h>
void work(void)
{
    PLUMB_SPAN("work");
}
C
cat >loads.c <<'C'
#include <dlfcn.h>
int main(void)
{
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    void (*work)(void) = plugin ? (void (*)(void))dlsym(plugin, "work") : 0;
    for (int i = 0; work && i < 1000; i++)
        work();
    return work ? 3 : 4;
}
C
$CC -std=gnu11 -O1 -shared -fPIC "-I$PLUMB_SOURCE_DIR/include" plugin.c -o plugin.so || exit 1
$CC -std=gnu11 -O1 loads.c -o loads -ldl || exit 1
expect 'a plug-in with trace points' 3 record --trace -- ./loads
[ "$(jq '.nodes[0].count' run/timing.json)" = 1000 ] || fail "$name: $(jq -c .nodes run/timing.json)"
[ -s run/trace.pftrace ] || fail "$name: there is no trace"
finish
