#!/bin/sh
# AT-16: NaN and the infinities are values: how many of which kind both sides have is compared, by the
# counts, by the figures where a recorder wrote no counts, and by samples.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
# record MODULE FIELDS: one line; the rest of it is the same everywhere
record() {
    printf '{"module": "%s", "tensor": "out", "step": 0, "abs_mean": 1, "dtype": "bfloat16", "shape": [1024], %s}\n' "$1" "$2"
}
# two NAME FIELDS: layer 0 is sound, layer 1 has FIELDS
two() {
    { record layer.0 '"sum": 3, "min": -1, "max": 2, "nan": 0, "inf": 0, "neg_inf": 0' && record layer.1 "$2"; } >"$1.jsonl"
}
# apart NAME TEXT: B is another run, and so is A
apart() {
    expect "$1" 1 "$PLUMB_BIN" diverge a.jsonl b.jsonl
    has out.txt "first divergence: layer.1 out step 0: $2"
    expect "$1, the other way" 1 "$PLUMB_BIN" diverge b.jsonl a.jsonl
    expect "$1, --rtol 0" 1 "$PLUMB_BIN" diverge --rtol 0 --atol 0 a.jsonl b.jsonl
    expect "$1, the same" 0 "$PLUMB_BIN" diverge --rtol 0 --atol 0 b.jsonl b.jsonl
}
two a '"sum": 3, "min": -1, "max": 2, "nan": 1'
two b '"sum": 3, "min": -1, "max": 2, "nan": 1024'
apart 'more NaN' 'NaN on both sides, but not the same: 1 in A, 1024 in B of 1024 values'
two b '"sum": 3, "min": -1, "max": 2, "nan": 0'
apart 'NaN in A' 'NaN is born here: 1 in A, none in B of 1024 values'

two a '"nan": 0, "inf": 1, "neg_inf": 0'
two b '"nan": 0, "inf": 0, "neg_inf": 1'
apart 'another sign' 'Inf on both sides, but not the same: 1 of +Inf and 0 of -Inf in A, 0 of +Inf and 1 of -Inf in B'
two b '"nan": 0, "inf": 7, "neg_inf": 0'
apart 'more Inf' 'Inf on both sides, but not the same: 1 of +Inf and 0 of -Inf in A, 7 of +Inf and 0 of -Inf in B'
two b '"nan": 0, "inf": 0, "neg_inf": 0'
apart 'Inf in A' 'Inf is born here: 1 in A, none in B'

# Without counts, as other recorders write them.
two a '"sum": Infinity, "min": -1, "max": Infinity'
two b '"sum": -Infinity, "min": -Infinity, "max": 2'
apart 'figures' 'Inf on both sides, but not the same: sum Inf, max Inf in A, sum -Inf, min -Inf in B'
two a '"sum": NaN, "min": NaN, "max": NaN'
two b '"sum": 3, "min": -1, "max": 2'
apart 'NaN in figures' 'NaN is born here: some in A, none in B'
# One NaN swallows the figures of other recorders: nothing is known against the rest.
two b '"sum": 3, "min": -1, "max": 2, "nan": 5'
expect 'a NaN with and without a count' 0 "$PLUMB_BIN" diverge a.jsonl b.jsonl

two a '"sum": 3, "sample": [1, "NaN", 2]'
two b '"sum": 3, "sample": [1, 1, 2]'
apart 'a sample' 'a sampled value is NaN or Inf on one side only (1 nan 2 against 1 1 2)'
two b '"sum": 3, "sample": [1, "NaN", 2]'
expect 'the same NaN' 0 "$PLUMB_BIN" diverge a.jsonl b.jsonl
finish
