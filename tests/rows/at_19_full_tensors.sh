#!/bin/sh
# AT-19: where both sides stored their tensors, these are compared value by value: names that one side
# lacks, other shapes, the largest, mean and median absolute difference, the cosine, the first index, and
# the first name whose values differ.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
mkdir a b
cat >write.py <<'END'
import struct, sys
def npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%df" % len(values), *values))
base = [0.25 * k - 3 for k in range(24)]
npy("a/0.out.npy", (2, 3, 4), base)
npy("b/0.out.npy", (2, 3, 4), base)
other = list(base)
other[5] += 1.5       # [0, 1, 1]
other[13] -= 0.5      # [1, 0, 1]
npy("a/1.out.npy", (2, 3, 4), base)
npy("b/1.out.npy", (2, 3, 4), other)
npy("a/2.out.npy", (2, 3, 4), base)
npy("b/2.out.npy", (2, 3, 5), base + [0] * 6)
npy("a/3.out.npy", (2, 3, 4), base)
npy("b/4.out.npy", (7,), [1.0] * 7)
END
python3 write.py || fail 'cannot write arrays'
expect 'full tensors' 1 "$PLUMB_BIN" diverge a b
has out.txt 'first divergence: 1 out' '3 full tensors compared value by value; the first that differs is 1 out' \
    'their shapes differ' 'only in A: 1 record: 3 out' 'only in B: 1 record: 4 out'
grep '^1  *out' out.txt | tail -1 | sed 's/  */ /g' >row.txt
has row.txt '1 out 1.5 0.0833 0 0.982553' '2 24 [0, 1, 1]: -1.75 against -0.25'
expect 'in JSON' 1 "$PLUMB_BIN" diverge --format json a b
python3 - <<'END' || fail 'JSON says something else'
import json, math
d = json.load(open("out.txt"))
t = {x["a"]["module"]: x for x in d["tensors"]}
base = [0.25 * k - 3 for k in range(24)]
other = list(base)
other[5] += 1.5
other[13] -= 0.5
cosine = sum(x * y for x, y in zip(base, other)) / math.sqrt(sum(x * x for x in base) * sum(y * y for y in other))
one = t["1"]
assert (one["max"], one["median"], one["unequal"], one["first_index"]) == (1.5, 0, 2, [0, 1, 1]), one
assert abs(one["mean"] - 2 / 24) < 1e-12 and abs(one["cosine"] - cosine) < 1e-12, one
assert t["0"]["unequal"] == 0 and t["0"]["cosine"] == 1, t["0"]
assert t["2"]["error"] == "their shapes differ"
assert d["only_in_a"] == ["3 out"] and d["only_in_b"] == ["4 out"]
END
# A value that is NaN, or infinite, on one side alone is a divergence, however small the rest; at the same
# places on both sides it is not.
cat >nan.py <<'END'
import math
exec(open("write.py").read().split("base =")[0].replace("import struct, sys", "import struct, os"))
for folder in "cdef":
    os.mkdir(folder)
for folder, at, what in (("c", 5, 0.5), ("d", 5, math.nan), ("e", 7, math.nan), ("f", 5, math.inf)):
    values = [1.0, -1.0] * 12
    npy(folder + "/0.out.npy", (2, 3, 4), values)
    values[at] = what
    npy(folder + "/1.out.npy", (2, 3, 4), values)
END
python3 nan.py || fail 'cannot write arrays'
for pair in 'c d' 'd c' 'd e' 'd f' 'c f'; do
    # shellcheck disable=SC2086 # two words
    expect "values that are not numbers: $pair" 1 "$PLUMB_BIN" diverge $pair
    has out.txt 'first divergence: 1 out' 'the first that differs is 1 out'
done
has out.txt '[0, 1, 1]: 0.5 against inf'
expect 'the same places' 0 "$PLUMB_BIN" diverge d d
truncate -s 100 b/1.out.npy
expect 'a tensor that is cut' 2 "$PLUMB_BIN" diverge a b
[ "$(wc -l <err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
finish
