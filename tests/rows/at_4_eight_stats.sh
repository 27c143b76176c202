#!/bin/sh
# labels: plain
# AT-4: the statistics of fixed tensors in every width are those of a reference; std is that of a
# sample. With NumPy where it is installed, on random tensors too.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

all=abs_mean,sum,min,max,mean,std,rms,l2,nan,inf,neg_inf,zeros,shape,dtype
trace 'every type' 0 kinds PLUMB_ACTIVATIONS_STATS=$all ./layers kinds
same kinds/activations.jsonl 'map(.tensor == .dtype) | all' true
same kinds/activations.jsonl 'map([.abs_mean, .sum, .min, .max, .mean, .nan, .zeros, .shape] |
    tojson) | unique' "[\"[2.8333333333333335,13,-2,6,2.1666666666666665,0,1,[2,3]]\"]"
# 1, -2, 3, 0, 5, 6: the squares round 13/6 add up to 46.833; the raw ones to 75.
same kinds/activations.jsonl 'map((.std - (46.833333333333336 / 5 | sqrt) | fabs) < 1e-6 and
    (.l2 - (75 | sqrt) | fabs) < 1e-6 and (.rms - (12.5 | sqrt) | fabs) < 1e-6) | all' true

python=/usr/bin/python3
"$python" -c 'import numpy' 2>err.txt || { echo 'NumPy is not installed: not compared with it'; finish; exit 0; }
cat >make.py <<'PY'
import numpy as np
rng = np.random.default_rng(7)
cases = [("f32", "<f4", 2, 32), ("f64", "<f8", 2, 64), ("f16", "<f2", 2, 16), ("i32", "<i4", 0, 32),
         ("u8", "u1", 1, 8), ("i16", "<i2", 0, 16), ("bf16", "<f4", 4, 16)]
with open("list", "w") as out:
    for name, dtype, code, bits in cases:
        for n in (1, 2, 127, 1000, 100003):
            for mean in (0, 1e4 if bits >= 32 else 100):
                x = rng.normal(mean, 1 if dtype[-2] == "f" else 30, n)
                x = (np.clip(x, 0, 255) if dtype == "u1" else x).astype(dtype)
                file = "%s_%d_%g" % (name, n, mean)
                if name == "bf16":  # which NumPy lacks: the upper halves of float32
                    halves = (x.view("<u4") >> 16).astype("<u2")
                    halves.tofile(file + ".bin")
                    x = (halves.astype("<u4") << 16).view("<f4")
                else:
                    x.tofile(file + ".bin")
                np.save(file + ".npy", x)
                print(file + ".bin", code, bits, n, file=out)
PY
cat >check.py <<'PY'
import json, math, sys
import numpy as np
bad = 0
for line in open(sys.argv[1]):
    r = json.loads(line)
    x = np.load(r["tensor"][:-4] + ".npy").astype(np.float64)
    magnitude = np.abs(x).sum()
    near = lambda a, b, within: abs(a - b) <= within
    good = near(r["sum"], math.fsum(x), 1e-6 * magnitude) and r["min"] == x.min() and r["max"] == x.max()
    good = good and near(r["abs_mean"], magnitude / x.size, 1e-6 * magnitude / x.size)
    good = good and near(r["l2"], np.sqrt((x * x).sum()), 1e-6 * np.sqrt((x * x).sum()))
    good = good and r["zeros"] == int((x == 0).sum()) and r["shape"] == list(x.shape)
    if x.size > 1:
        good = good and near(r["std"], x.std(ddof=1), 1e-6 * x.std(ddof=1))
    if not good:
        print("not NumPy's:", line, x.sum(), x.std(ddof=1) if x.size > 1 else None)
        bad += 1
sys.exit(bad > 0)
PY
"$python" make.py || fail 'make.py'
while read -r file code bits n; do
    PLUMB_RUN_DIR=$PWD/one PLUMB_QUIET=1 PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=$all \
        ./layers file "$file" "$code" "$bits" "$n" 2>err.txt || fail "$file: $(cat err.txt)"
    cat one/activations.jsonl >>all.jsonl
    rm -rf one
done <list
[ "$(wc -l <all.jsonl)" = "$(wc -l <list)" ] || fail 'records are missing'
"$python" check.py all.jsonl || fail 'NumPy finds something else'
finish
