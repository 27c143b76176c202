# What the tests of plumb bench share: builds _denoise.c as program and as stage library, and records it in the
# run `run`.

fail()
{
    echo "FAIL: $1" >&2
    exit 1
}

# denoise OUT FLAG...
denoise()
{
    out=$1
    shift
    $CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" "$@" "$PLUMB_SOURCE_DIR/tests/rows/_denoise.c" \
        -o "$out" || fail "$out is not built"
}

# bench OPTION...: the result is in run/bench.json, what the library printed in err.txt
bench()
{
    "$PLUMB_BIN" bench --from ./libdenoise.so "$@" run >out.txt 2>err.txt || fail "bench $*: $(cat err.txt)"
}

# is JQ [FILE]: holds for the result
is()
{
    jq -e "$1" "${2:-run/bench.json}" >/dev/null || fail "$1: $(jq -c .plumb "${2:-run/bench.json}")"
}

# spans FILE NAME: how often a trace has it
spans()
{
    gzip -dc "$1" | jq --arg name "$2" '[.traceEvents[] | select(.ph == "X" and .name == $name)] | length'
}

denoise denoise
denoise libdenoise.so -DAS_LIBRARY -shared -fPIC
PLUMB_TRACE=1 "$PLUMB_BIN" record --run-dir run -- ./denoise >record.txt 2>&1 || fail "recording: $(cat record.txt)"
