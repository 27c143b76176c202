#!/bin/sh
# labels: plain
# TF-19: what is collected follows from what the machine has, without a setting; a machine with a processor and nothing
# else records all that its programs do, and a device that is asked for and missing is a line, not a failure.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >prog.c <<'C'
#include <plumb/plumb.h>

int main(void)
{
    for (int i = 0; i < 5; i++) {
        PLUMB_STAGE(stage, "work");
    }
    return 3;
}
C
build_linked prog.c prog
export OCL_ICD_VENDORS=$PWD/none

# recorded NAME ARGUMENT...: five runs of the stage, and the program's status
recorded() {
    dir=$1
    shift
    expect "$dir" 3 "$PLUMB_BIN" record "$@" --run-dir "$dir" -- ./prog
    [ "$(jq -c '[.nodes[] | [.name, .count]]' "$dir/timing.json")" = '[["work",5]]' ] || fail "$dir: $(jq -c .nodes "$dir/timing.json")"
}

# By itself: no device, and not a word of one.
recorded default
[ "$(jq '[.collectors[]? | select(.lanes | length > 0)] | length' default/timing.json)" = 0 ] || fail "$(jq -c .collectors default/timing.json)"
lacks err.txt collector
recorded auto --collect auto
lacks err.txt collector
recorded none --collect none

# The platform is found in the order rocm, cuda, npu, cpu; the doctor says which, and what it is called in a trace.
"$PLUMB_BIN" doctor >doctor.txt 2>err.txt
grep -Eq '^seen +platform +(cpu: activity CPU alone; looked for rocm, cuda, npu$|rocm: .* CUDA |cuda: .* CUDA |npu: .* PrivateUse1 )' doctor.txt ||
    fail "doctor: $(cat doctor.txt)"

# Asked for by name, and not there.
if [ -e "$(dirname "$PLUMB_LIB")/libplumb-opencl.so" ]; then
    recorded opencl --collect opencl
    has err.txt "collector 'opencl' saw nothing: the program did not use OpenCL"
fi
expect nonsense 3 "$PLUMB_BIN" record --collect tpu --run-dir nonsense -- ./prog
has err.txt "collector 'tpu' is not known"
exit "$((failures > 0))"
