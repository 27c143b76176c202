"""Compares the tables of docs/metrics.md with an answer of /metrics: PAGE ANSWER. Names, types, labels."""
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

TYPES = {"C": "counter", "G": "gauge", "H": "histogram"}
EVERYWHERE = {"program", "pid", "rank"}  # of processes; `le` is a bucket's


def documented(page):
    """{name: (type, labels)}. In a list of names, `_x_total` replaces the last two words of the first name."""
    out, labels = {}, None
    for line in page.split("\n## The metrics\n")[1].splitlines():
        if not line.startswith("| `plumb_"):
            continue
        cells = [c.strip() for c in line.strip("|").split("|")]
        names = re.findall(r"`([^`]*)`", cells[0])
        if cells[2] != "the same":
            labels = frozenset(re.findall(r"`([^`]*)`", cells[2]))
        for name in names:
            words = names[0].split("_")
            full = name if name.startswith("plumb_") else "_".join(words[:-name.count("_")]) + name
            assert full not in out, f"{full} is listed twice"
            out[full] = (TYPES[cells[1]], labels)
    return out


def answered(text):
    out = {}
    for family in text_string_to_metric_families(text):
        name = family.name + ("_total" if family.type == "counter" else "")
        if name.startswith("plumb_"):
            labels = frozenset(k for s in family.samples for k in s.labels) - EVERYWHERE
            out[name] = (family.type, labels - {"le"} if family.type == "histogram" else labels)
    return out


with open(sys.argv[1], encoding="utf-8") as f:
    page = documented(f.read())
with open(sys.argv[2], encoding="utf-8") as f:
    answer = answered(f.read())
assert len(page) > 40, page
assert not set(page) - set(answer), f"documented, and not in the answer: {sorted(set(page) - set(answer))}"
assert not set(answer) - set(page), f"in the answer, and not documented: {sorted(set(answer) - set(page))}"
for name in sorted(page):
    assert page[name] == answer[name], f"{name}: documented {page[name]}, in the answer {answer[name]}"
