#!/bin/sh
# labels: plain
# AT-9: what fails says so in its field; the others and the tensor are untouched. Tensors of a device
# come through a copy function.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'failures' 0 a PLUMB_ACTIVATIONS_STATS=abs_mean,broken_too,answer,silent,broken,sum,shape ./layers failures
field() {
    jq -c -s "map(select(.tensor == \"$1\"))[0] | $2" a/activations.jsonl
}
want() {
    [ "$(field "$1" "$2")" = "$3" ] || fail "$1: $2: $(field "$1" "$2"), not $3"
}
want good '[.answer, .broken, .sum]' '[42.5,"<error: no answer \"today\">",13]'
# Each that failed has its own reason.
want good '[.broken_too, .silent, .broken]' \
    '["<error: no answer \"never\">","<error: no reason given>","<error: no answer \"today\">"]'
want null '[.abs_mean, .sum, .answer, .shape]' \
    '["<error: the tensor has no data>","<error: the tensor has no data>",42.5,[2,3]]'
want dtype .sum '"<error: no statistics of dlpack(99,32,1): the element type is unknown>"'
want dtype .dtype '"dlpack(99,32,1)"'
want ndim '[.shape, .dtype]' '[null,null]'
want device .sum '"<error: the tensor lies in memory of vulkan:0>"'
want copied '[.sum, .abs_mean]' '[13,2.8333333333333335]'
want 'copied strides' '[.sum, .shape]' '[13,[2,3]]'
want 'not copied' .sum '"<error: the copy from the device failed with 5>"'
finish
