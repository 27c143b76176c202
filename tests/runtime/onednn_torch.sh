#!/bin/sh
# labels: plain
# The convolutions of Debian's PyTorch, which is linked with libdnnl.so and loaded by Python with RTLD_LOCAL,
# are recorded by plumb record --collect onednn, and compute what they do without.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
/usr/bin/python3 -c 'import torch, sys; sys.exit(not torch.backends.mkldnn.is_available())' 2>/dev/null || {
    echo 'onednn_torch: no torch with oneDNN: install python3-torch' >&2
    exit 77
}
cat >work.py <<'PY'
import sys
import torch
torch.manual_seed(0)
torch.set_num_threads(2)
model = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, groups=4, stride=2))
images = torch.randn(4, 16, 56, 56)
with torch.no_grad():
    for step in range(3):
        result = model(images)
print(result.double().sum().item(), result.shape)
sys.exit(9)
PY
expect 'alone' 9 /usr/bin/python3 work.py
cp out.txt alone.txt
expect 'recorded' 9 "$PLUMB_BIN" record --collect onednn --quiet --run-dir run -- /usr/bin/python3 work.py
empty err.txt
cmp -s alone.txt out.txt || fail "it computes other things: $(cat alone.txt out.txt)"
"$PLUMB_BIN" export --format csv -o run.csv run >export.txt 2>&1 || fail "export: $(cat export.txt)"
/usr/bin/python3 "$PLUMB_SOURCE_DIR/tests/runtime/_onednn.py" run.csv | grep '^convolution' | sort | uniq -c |
    sed 's/^ *//' >found.txt
# 4*32*54*54 places of 16*9 products; 4*32*26*26 places of 8*9.
cat >wanted.txt <<'TXT'
3 convolution 107495424 2314372 src:4x16x56x56 wei:32x16x3x3 bias:32 dst:4x32x54x54
3 convolution 12460032 1848452 src:4x32x54x54 wei:4x8x8x3x3 bias:32 dst:4x32x26x26
TXT
diff wanted.txt found.txt >difference.txt || fail "wanted, recorded: $(cat difference.txt)"
jq -r '.collectors[] | select(.name == "onednn") | .lanes | length' run/timing.json | grep -qx 1 ||
    fail "lanes: $(jq .collectors run/timing.json)"
finish
