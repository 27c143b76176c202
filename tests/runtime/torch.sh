#!/bin/sh
# labels: plain
# timeout: 900
# libplumb is opened in a process that holds torch, before it and after it: the thread-local storage
# that it wants at once must still be there, and torch computes what it did.
set -u
# fail WHAT [FILE...]: what did not hold, and what the files say
fail() {
    echo "torch: $1" >&2
    shift
    [ $# = 0 ] || tail -n 30 "$@" >&2
    exit 1
}
python=/usr/bin/python3
if ! $python -c 'import torch' 2>/dev/null; then
    echo 'torch: no torch for /usr/bin/python3 (package python3-torch)' >&2
    exit 77
fi
$CC -std=gnu11 -O2 -fPIC -shared -I"$PLUMB_SOURCE_DIR/include" \
    "$PLUMB_SOURCE_DIR/tests/runtime/_plug.c" -o plug.so || fail 'no plug.so'
cat >both.py <<'PY'
import ctypes, sys
def plumb():
    ctypes.CDLL(sys.argv[2])
    return ctypes.CDLL("./plug.so").plug_work
if sys.argv[1] == "before":
    work = plumb()
import torch
if sys.argv[1] == "after":
    work = plumb()
torch.set_num_threads(2)
a = torch.ones(64, 64)
for _ in range(50):
    assert work(2) == 2
    assert float((a @ a).sum()) == 64.0 ** 3
print("done")
PY
for order in before after; do
    PLUMB_RUN_DIR="$PWD/$order" PLUMB_QUIET=1 $python both.py $order "$PLUMB_LIB" >out.txt 2>err.txt ||
        fail "libplumb $order torch: status $?" out.txt err.txt
    grep -q 'done' out.txt || fail "libplumb $order torch: not done" out.txt err.txt
    [ "$(jq '.nodes[] | select(.name == "plug") | .count' $order/timing.json)" = 100 ] ||
        fail "libplumb $order torch: not 100 spans" err.txt $order/timing.json
done

# Every allocation of torch, of its threads and of loaders that it forks, followed: it computes the same.
cat >followed.py <<'PY'
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(2)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(512, 64), torch.randint(0, 10, (512,)))
for inputs, labels in DataLoader(data, batch_size=128, num_workers=2):
    optimiser.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimiser.step()
print("%.9g" % loss.item())
PY
$python followed.py >alone.txt 2>err.txt || fail "without plumb: status $?" err.txt
"$PLUMB_BIN" record --malloc --quiet --run-dir followed -- $python followed.py >out.txt 2>err.txt ||
    fail "followed: status $?" err.txt
cmp alone.txt out.txt || fail 'followed, it computes something else' alone.txt out.txt err.txt
jq -e '.memory.pools[] | select(.pool == "malloc") | .allocs > 100000 and
    .allocated_bytes == .held_before_bytes + .alloc_bytes - .free_bytes' followed/timing.json >/dev/null ||
    fail 'the bytes of its allocations do not add up' err.txt followed/timing.json
