"""Asks a Prometheus server for every panel of the dashboard until each has data: URL DASHBOARD."""
import json
import math
import sys
import time
import urllib.parse
import urllib.request

url, path = sys.argv[1:]


def query(expression):
    full = f"{url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(full, timeout=30) as f:
        answer = json.load(f)
    assert answer["status"] == "success", answer
    return [float(r["value"][1]) for r in answer["data"]["result"]]


def has_data(expression):
    return any(math.isfinite(v) for v in query(expression))


with open(path, encoding="utf-8") as f:
    dashboard = json.load(f)
wanted = {f'{p["title"]}: {t["expr"]}': t["expr"].replace("$__rate_interval", "30s").replace("$program", ".*")
          for p in dashboard["panels"] for t in p["targets"]}
assert len(wanted) >= 16
deadline = time.monotonic() + 150
missing = dict(wanted)
while missing and time.monotonic() < deadline:
    missing = {k: v for k, v in missing.items() if not has_data(v)}
    time.sleep(0.5 if missing else 0)
assert not missing, "no data: " + "; ".join(missing)

# 1 to 100 ms in steps of 1 ms, and a run of nearly nothing: the answers lie in the bucket of the truth.
for q, truth in ((0.5, 0.050), (0.9, 0.090), (0.99, 0.099)):
    got = query(f'histogram_quantile({q}, plumb_stage_duration_seconds_bucket{{stage="known"}})')
    bounds = [(2 ** o * f - 1) / 1e9 for o in range(13, 38) for f in (1, 1.5)]
    low = max(b for b in bounds if b < truth)
    high = min(b for b in bounds if b >= truth)
    assert len(got) == 1 and low <= got[0] <= high, (q, got, low, high)
