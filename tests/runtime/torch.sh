#!/bin/sh
# labels: plain
# timeout: 300
# libplumb is opened in a process that holds torch, before it and after it: the thread-local storage
# that it wants at once must still be there, and torch computes what it did.
set -eu
python=/usr/bin/python3
if ! $python -c 'import torch' 2>/dev/null; then
    echo 'torch: no torch for /usr/bin/python3 (package python3-torch)' >&2
    exit 77
fi
$CC -std=gnu11 -O2 -fPIC -shared -I"$PLUMB_SOURCE_DIR/include" \
    "$PLUMB_SOURCE_DIR/tests/runtime/_plug.c" -o plug.so
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
    PLUMB_RUN_DIR="$PWD/$order" PLUMB_QUIET=1 $python both.py $order "$PLUMB_LIB" >out.txt
    grep -q 'done' out.txt
    [ "$(jq '.nodes[] | select(.name == "plug") | .count' $order/timing.json)" = 100 ]
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
$python followed.py >alone.txt
"$PLUMB_BIN" record --malloc --quiet --run-dir followed -- $python followed.py >out.txt
cmp alone.txt out.txt
jq -e '.memory.pools[] | select(.pool == "malloc") | .allocs > 100000 and
    .allocated_bytes == .held_before_bytes + .alloc_bytes - .free_bytes' followed/timing.json >/dev/null
