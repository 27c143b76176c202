#!/bin/sh
# AT-16: each statistic is held to its own tolerance: abs_mean, std and the like to that of the element
# type, min and max to four times that of the largest value; just within is close, just beyond differs.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
# record NAME DTYPE ABS_MEAN MIN MAX STD
record() {
    printf '{"module": "m", "tensor": "out", "step": 0, "abs_mean": %s, "min": %s, "max": %s, "std": %s, "dtype": "%s", "shape": [64], "nan": 0, "inf": 0, "neg_inf": 0}\n' \
        "$3" "$4" "$5" "$6" "$2" >"$1.jsonl"
}
# b DTYPE ABS_MEAN MIN MAX STD: exit status STATUS against a
against() {
    name=$1 status=$2
    shift 2
    record b "$@"
    expect "$name: $*" "$status" "$PLUMB_BIN" diverge a.jsonl b.jsonl
}
# Of a type, its relative tolerance R as parts of 1: figures within 0.9 R and beyond 1.1 R.
for type in float64:0.9e-6:1.1e-6 float32:0.9e-4:1.1e-4 float16:0.9e-3:1.1e-3 bfloat16:4.5e-3:5.5e-3; do
    dtype=${type%%:*}
    within=$(echo "$type" | cut -d: -f2) beyond=$(echo "$type" | cut -d: -f3)
    figure() { # SIGN BASE PART: BASE * (1 + SIGN * PART)
        awk -v s="$1" -v b="$2" -v p="$3" 'BEGIN { printf "%.12g", b * (1 + s * p) }'
    }
    record a "$dtype" 1 -4 8 2
    against 'equal' 0 "$dtype" 1 -4 8 2
    against 'abs_mean within' 0 "$dtype" "$(figure 1 1 "$within")" -4 8 2
    against 'abs_mean beyond' 1 "$dtype" "$(figure 1 1 "$beyond")" -4 8 2
    has out.txt 'm out step 0: abs_mean 1 against'
    against 'std within' 0 "$dtype" 1 -4 8 "$(figure -1 2 "$within")"
    against 'std beyond' 1 "$dtype" 1 -4 8 "$(figure -1 2 "$beyond")"
    has out.txt 'm out step 0: std 2 against'
    # Four times that, of the largest magnitude, which is 8.
    against 'max within' 0 "$dtype" 1 -4 "$(awk -v p="$within" 'BEGIN { printf "%.12g", 8 - 8 * 4 * p }')" 2
    against 'max beyond' 1 "$dtype" 1 -4 "$(awk -v p="$beyond" 'BEGIN { printf "%.12g", 8 - 8 * 4 * p }')" 2
    has out.txt 'm out step 0: max 8 against'
    against 'min within' 0 "$dtype" 1 "$(awk -v p="$within" 'BEGIN { printf "%.12g", -4 - 8 * 4 * p }')" 8 2
    against 'min beyond' 1 "$dtype" 1 "$(awk -v p="$beyond" 'BEGIN { printf "%.12g", -4 - 8 * 4 * p }')" 8 2
    has out.txt 'm out step 0: min -4 against'
done
finish
