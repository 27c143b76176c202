#!/bin/sh
# labels: plain
# Every reader of a list of steps gives one answer: doctor, the trace, the activations of libplumb, and the
# hooks for PyTorch, which have a copy of the grammar because they may be used alone.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

cat >hooks.py <<'PY'
import sys
from unittest import mock
sys.modules["torch"] = mock.MagicMock()
sys.path.insert(0, sys.argv[1])
import plumb_torch_activations as activations
try:
    activations.chosen_steps(sys.argv[2])
except ValueError as why:
    sys.exit(str(why))
PY

# answers STATUS LIST: 0 where the list is good, 1 where each of the four refuses it and shows it.
answers() {
    PLUMB_TRACE=1 PLUMB_TRACE_STEPS=$2 PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STEPS=$2 "$PLUMB_BIN" doctor >doctor.txt 2>&1
    rm -rf run
    trace "'$2'" 0 run PLUMB_TRACE=1 PLUMB_TRACE_STEPS="$2" PLUMB_ACTIVATIONS_STEPS="$2" ./layers 2
    /usr/bin/python3 hooks.py "$PLUMB_SOURCE_DIR/bindings/python" "$2" >hooks.txt 2>&1
    for said in "doctor.txt PLUMB_TRACE_STEPS" "doctor.txt PLUMB_ACTIVATIONS_STEPS" \
        "err.txt PLUMB_TRACE_STEPS" "err.txt PLUMB_ACTIVATIONS_STEPS" "hooks.txt PLUMB_ACTIVATIONS_STEPS"; do
        grep -q "${said#* }: '.*' is not a list of steps, as 0,5-9" "${said% *}"
        [ $? = $((1 - $1)) ] || fail "'$2' for $said, wanted $1: $(grep STEPS "${said% *}")"
    done
}

answers 0 ''
answers 0 ' '
answers 0 0
answers 0 '0,1,'
answers 0 ' 1 - 2 , 0 , '
answers 0 0-9223372036854775807
answers 1 ,
answers 1 0,,5
answers 1 1,,2
answers 1 '1, ,2'
answers 1 ,5
answers 1 0,5,,
answers 1 5-1
answers 1 1-
answers 1 0x1
answers 1 9223372036854775808
answers 1 "$(seq -s, 65)"
finish
