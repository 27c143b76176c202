"""Checks a text of metrics with Debian's python3-prometheus-client: check.py FORMAT FILE VALUES."""
import math
import sys
import warnings

warnings.simplefilter("ignore")
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_text

form, path, values_path = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    text = f.read()
values = [float(line) for line in open(values_path, encoding="ascii")]
families = list((read_open if form == "openmetrics" else read_text)(text))
# Other processes of the user may be in the answer of a server.
samples = [s for family in families for s in family.samples if s.labels.get("program", "program") == "program"]
seen = set()
for s in samples:
    key = (s.name, tuple(sorted((k, v) for k, v in s.labels.items() if v)))  # as Prometheus has it
    assert key not in seen, f"twice: {key}"
    seen.add(key)


def of(name, **labels):
    found = [s for s in samples if s.name == name and labels.items() <= s.labels.items()]
    assert len(found) == 1, f"{name} {labels}: {len(found)} samples"
    return found[0]


def compare(name, shift, **buckets):
    registry = CollectorRegistry()
    theirs = Histogram(name, "help", registry=registry, **buckets)
    for v in values:
        theirs.observe(v + shift)
    expected = {s.labels["le"]: s.value for m in registry.collect() for s in m.samples if s.name == name + "_bucket"}
    got = {s.labels["le"]: s.value for s in samples if s.name == name + "_bucket"}
    as_numbers = lambda d: {float(k): v for k, v in d.items()}
    assert as_numbers(got) == as_numbers(expected), f"{name}: {got} is not {expected}"
    assert "+Inf" in got
    return sum(v + shift for v in values)


DEFAULT = (.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10)
total = compare("latency_seconds", 0, buckets=DEFAULT)
assert math.isclose(of("latency_seconds_sum").value, total, rel_tol=1e-12)
compare("custom", -1.5, buckets=(-1, 0, 1e-3, 0.5, 1, 3.25, 1e6))

kept = sorted(values[-1024:])
for q, percent in ((0.5, 50), (0.9, 90), (0.95, 95), (0.99, 99)):
    assert of("size_bytes", quantile=str(q)).value == kept[percent * (len(kept) - 1) // 100], q

# Stages: success and failure, synchronous and async.
of("plumb_stage_runs_total", stage='decode "frame"').value == 20 or sys.exit("runs")
of("plumb_stage_errors_total", stage='decode "frame"').value == 4 or sys.exit("errors")
of("plumb_stage_duration_seconds_count", stage='decode "frame"').value == 16 or sys.exit("count")
of("plumb_stage_runs_total", stage="upload").value == 20 or sys.exit("async runs")
of("plumb_stage_errors_total", stage="upload").value == 0 or sys.exit("async errors")
# 1 to 100 ms, known in ns: every bucket is exact. One more run of the stage took next to nothing.
bounds = sorted((float(s.labels["le"]), s.value) for s in samples
                if s.name == "plumb_stage_duration_seconds_bucket" and s.labels["stage"] == "known")
assert len(bounds) == 50, len(bounds)
for bound, count in bounds:
    if bound > 1e-3:
        expected = min(100, math.floor(bound * 1e3 + 1e-9)) if math.isfinite(bound) else 100
        assert count == expected + 1, (bound, count, expected)

# A time that is the bound of a bucket is in it; the other run took next to nothing.
bounds = {float(s.labels["le"]): s.value for s in samples
          if s.name == "plumb_stage_duration_seconds_bucket" and s.labels["stage"] == "edge"}
assert [bounds[(f * 2**28 - 1) / 1e9] for f in (3, 4)] == [1, 2], bounds
# The runs of one stage in two phases are apart.
for phase, value in (("train", 3), ("val", 2)):
    assert of("plumb_stage_runs_total", stage="phased", phase=phase).value == value, phase
    of("plumb_stage_duration_seconds_count", stage="phased", phase=phase).value == value or sys.exit(phase)
for name in ("runs_total", "errors_total", "open", "self_seconds_total", "duration_seconds_count"):
    assert {"program", "pipeline", "phase"} <= of(f"plumb_stage_{name}", stage="known").labels.keys(), name

for name, value in (("created", 20), ("completed", 16), ("failed", 2), ("cancelled", 2)):
    assert of(f"plumb_requests_{name}_total").value == value, name
assert of("plumb_requests_open").value == 0
assert of("plumb_request_duration_seconds_count").value == 20
for name, value in (("created", 6), ("completed", 1), ("failed", 1), ("cancelled", 2)):
    assert of(f"plumb_queue_tasks_{name}_total", queue="gpu").value == value, name
assert of("plumb_queue_waiting", queue="gpu").value == 1
assert of("plumb_queue_running", queue="gpu").value == 1
assert of("plumb_queue_wait_seconds_count", queue="gpu").value == 4
assert of("plumb_queue_wait_seconds_sum", queue="gpu").value >= 4 * 0.02  # they slept for so long
assert of("plumb_queue_task_duration_seconds_count", queue="gpu").value == 3

# Hostile names: all there, and apart.
counters = [s for s in samples if s.name.endswith("_total") and not s.name.startswith(("plumb_", "wanted_"))]
assert sorted(s.value for s in counters) == [*map(float, range(1, 11)), 100.0], counters
assert of("a_b_total").value == 4, "a valid name is kept"
assert len([s for s in samples if s.name == "hostile_keys"]) == 11
keys = [s for s in samples if s.name == "hostile_values"]
assert len(keys) == 13 and {"a.b", "größe", 'x"y', "x\ny", ""} <= {s.labels.get("key", "") for s in keys}
assert of("hostile_values", exported_overflow="true").value == 102
assert of("latency_seconds_count").value == 1000
# Those of a program that have plumb's names, and which of two has its own name whoever was made first.
assert of("plumb_recording").value in (0, 1)
assert [s.value for s in samples if s.name.startswith("plumb_recording_")] == [77]
wanted = {name: of(f"wanted_{name}_total").value for name in "abcd"}
assert wanted == {"a": 21, "b": 22, "c": 24, "d": 25}, wanted
assert len([s for s in samples if s.name.startswith("wanted_")]) == 8

if form == "openmetrics":
    exemplars = [s for s in samples if s.exemplar]
    ids = {s.exemplar.labels["request_id"] for s in exemplars if s.name == "plumb_request_duration_seconds_bucket"}
    assert ids and all(i.startswith("req-") for i in ids), ids
    assert any(s.name == "plumb_stage_duration_seconds_bucket" for s in exemplars)
    assert text.endswith("# EOF\n")
