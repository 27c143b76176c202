#!/bin/sh
# labels: plain
# AT-10: every line is strict JSON, with NaN, infinities and hostile names too.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'special values' 0 a PLUMB_ACTIVATIONS_STATS=abs_mean,sum,min,max,std,nan,inf,neg_inf ./layers special
/usr/bin/python3 - a/activations.jsonl <<'PY' || fail 'a line is not strict JSON'
import json, sys
def never(token):
    raise ValueError(token)
for line in open(sys.argv[1], encoding="utf-8"):
    json.loads(line, parse_constant=never)
PY
same a/activations.jsonl '.[0] | [.abs_mean, .sum, .min, .std, .nan, .inf]' '["NaN","NaN","NaN","NaN",1,0]'
same a/activations.jsonl '.[1] | [.abs_mean, .sum, .min, .max, .std, .nan, .inf]' \
    '["Infinity","Infinity",1,"Infinity","NaN",0,1]'
same a/activations.jsonl '.[2] | [.sum, .min, .max, .inf, .neg_inf]' '["NaN","-Infinity","Infinity",1,1]'
same a/activations.jsonl '.[3] | [.module, .tensor]' '["quote\"\\\n\\xff","tab\t"]'
finish
