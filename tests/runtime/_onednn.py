"""What a run has of oneDNN: _onednn.py CSV, as 'plumb export --format csv' writes it.

A line "kind flops bytes shapes" for each primitive, in the order of their begins; "-": unknown."""
import csv
import json
import sys

events = []
for row in csv.DictReader(open(sys.argv[1], newline="")):
    if not row["lane"].startswith("oneDNN "):
        continue
    args = json.loads(row["args"])
    kind, impl = row["name"].split(" ", 1)
    assert impl == args["impl"], row
    assert int(row["duration_ns"]) > 0, row
    assert len(args["dtypes"].split()) == len(args["shapes"].split()), row
    events.append((int(row["start_ns"]), kind, args.get("flops", "-"), args.get("bytes", "-"), args["shapes"]))
for event in sorted(events):
    print(*event[1:])
