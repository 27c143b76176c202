#!/usr/bin/python3
"""_docs_samples.py: compares samples of the pages with what the commands print.

usage: _docs_samples.py PLUMB SOURCE_DIR

The working folder has a run of each example, called as the example is, further ones of it called NAME-...,
and in NAME.txt what the first one said. Of each sample these must be so in the output of today, for one of
the example's runs:

    titles      the line above a table, and its columns in their order
    nodes       of every row of a table of nodes and of every line of a tree
    `(N more)`  where --top left out nodes of a trace
    `N nodes`   in the block at the end of a run
    all lines   of `plumb help`, and of `plumb doctor` without a program

A sample may leave out tables, rows and, where its header has "...", columns; never have others.
"""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGES = {"docs/layer1.md": "text_to_video",
         "docs/reading.md": "text_to_video", "docs/trace.md": "text_to_video",
         "docs/compare.md": "text_to_video", "docs/training.md": "train_classifier",
         "docs/video.md": "video_nodes"}
HELPED = ["README.md", *PAGES, "docs/coming-from.md", "docs/regions.md"]
# Tables of nodes by the column that has the name; the tree is known by its last column.
NAMED_FIRST = ("Node", "Name")
# Options that name something in the run that the page shows, not in this one; and views without a table.
OTHERS = {"--request", "summary", "llm"}
VIEWS = {"nodes", "tree", "memory", "requests", "signatures", "activations", "trace", "gaps", "steps",
         "slowest"}
RULE = re.compile(r"^-{10,}$")
problems = []


def columns(line):
    """The headings; the unit of a column depends on the run."""
    line = re.sub(r"\((ns|us|ms|s)\)", "(time)", line)
    return re.split(r"\s{2,}| (?=Std\(|Min\(|Max\(|Median\(|Total\(|Self\(|Share\(|P9|to |from |p table|B/A )", line.strip())


def samples(path):
    """(line number, command, lines of output) of each command in the blocks without a language."""
    language, command, output, at = None, None, [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            if command:
                yield at, command, output
            language, command = line[3:].strip() if language is None else None, None
        elif language == "" and line.startswith("$ "):
            if command:
                yield at, command, output
            at, command, output = number, line[2:], []
        elif command:
            output.append(line)
    if language is not None:
        sys.exit("_docs_samples.py: %s: a block has no end" % path)


def tables(lines):
    """(title, header, rows) of each table; the title is empty where there is none."""
    rules = [i for i, line in enumerate(lines) if RULE.match(line)]
    heads = [i for i in rules if i and not (lines[i + 1:i + 2] or [""])[0].startswith("TOTAL")]
    for i in heads:
        end = i + 1
        while end < len(lines) and lines[end].strip() and end not in rules:
            end += 1
        if end + 1 in heads:
            end -= 1  # a title without an empty line before it
        elif end in heads:
            end -= 2
        above = lines[i - 2].strip() if i > 1 else ""
        title = above if re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*", above) else ""
        yield title, lines[i - 1], [row for row in lines[i + 1:end] if row != "..."]


def same_columns(shown, real):
    if "..." not in shown:
        return columns(shown) == columns(real)
    before, after = (columns(part) if part.strip() else [] for part in shown.split("...", 1))
    there = columns(real)
    return there[:len(before)] == before and there[len(there) - len(after):] == after


def arguments(command):
    """Those of a `plumb report` or `plumb compare`, without runs; None where it shows none of the example's."""
    if not re.match(r"plumb (report|compare)( |$)", command):
        return None
    given, result = shlex.split(command)[1:], []
    if set(given) & OTHERS:
        return None
    values = ("--top", "--sort", "slowest", "--phase", "--frames", "--by", "--format")
    for i, word in enumerate(given):
        if i == 0 or word.startswith("-") or given[i - 1] in values or (i == 1 and word in VIEWS):
            result.append(word)
        elif given[0] == "report" and "." in word:
            return None  # a file of another program
    return result


def sides(run):
    """For `plumb compare`: two runs, and two folders of repeats, which are that run with other starts."""
    report = json.loads(Path(run, "timing.json").read_text())
    for i in range(6):
        folder = Path("repeats", "ab"[i % 2], "2026010%d-000000-h-%d" % (i + 1, i + 1))
        folder.mkdir(parents=True, exist_ok=True)
        report["start_unix_ns"] += 10**9
        Path(folder, "timing.json").write_text(json.dumps(report))
    return [[run, str(folder)], ["repeats/a", "repeats/b"]]


def output(plumb, given, runs):
    """The output of the command, for each of the runs."""
    lines = []
    for last in sides(runs[0]) if given[0] == "compare" else [[run] for run in runs]:
        ran = subprocess.run([plumb] + given + last, capture_output=True, text=True)
        if ran.returncode != 0:
            problems.append("`plumb %s` failed: %s" % (" ".join(given), ran.stderr.strip()))
        lines += ran.stdout.splitlines() + [""]
    return lines


def check(where, lines, real, nodes, whole_trace):
    there = list(tables(real))
    for title, header, rows in tables(lines):
        same = [t for t in there if same_columns(header, t[1])]
        if not same:
            problems.append("%s: no table of this command has the columns: %s" % (where, header.strip()))
            continue
        if title and title not in [t[0] for t in same]:
            problems.append("%s: no table is called '%s'" % (where, title))
        tree = columns(header)[0] == "Count" and columns(header)[-1] == "Node"
        if columns(header)[0] not in NAMED_FIRST and not tree:
            continue
        names = [row.split()[-1 if tree else 0] for row in rows if len(re.split(r"\s{2,}", row)) > 2]
        for name in set(names) - nodes:
            problems.append("%s: the example has no node '%s'" % (where, name))
        more = [int(row[1:-6]) for row in rows if re.fullmatch(r"\(\d+ more\)", row)]
        if whole_trace and more and len(names) + more[0] != len(nodes):
            problems.append("%s: %d more, and the example has %d nodes" % (where, more[0], len(nodes)))


def check_lines(plumb, where, command, lines):
    """Every line of the sample is printed by the command, which is said with its variables."""
    words = shlex.split(command)
    variables = words[:words.index("plumb")]
    ran = subprocess.run([plumb] + words[len(variables) + 1:], capture_output=True, text=True,
                         env={**os.environ, **dict(word.split("=", 1) for word in variables)})
    printed = ran.stdout.splitlines()
    for line in lines:
        if line.strip() and line != "..." and line not in printed:
            problems.append("%s: `%s` does not print: %s" % (where, command, line))


def main():
    plumb, source = sys.argv[1:]
    checked = 0
    for page in HELPED:
        for number, command, lines in samples(Path(source, page)):
            if re.match(r"([A-Z_]+=\S+ )*plumb (help .+|doctor)$", command):
                check_lines(plumb, "%s:%d" % (page, number), command, lines)
                checked += 1
    for page, example in PAGES.items():
        runs = sorted(str(path.parent) for path in Path().glob(example + "*/timing.json"))
        nodes = {n["name"] for n in json.loads(Path(example, "timing.json").read_text())["nodes"]}
        said = re.search(r"^plumb: (\d+) nodes, ", Path(example + ".txt").read_text(), re.M)[1]
        for number, command, lines in samples(Path(source, page)):
            where = "%s:%d" % (page, number)
            ends = re.search(r"^plumb: (\d+) nodes, ", "\n".join(lines), re.M)
            if re.search(r"(^|[ /])%s( |$)" % example, command) and ends and ends[1] != said:
                problems.append("%s: %s nodes, and the example has %s" % (where, ends[1], said))
            given = arguments(command)
            if given and any(RULE.match(line) for line in lines):
                # The node that the page names may be in the first run alone.
                real = output(plumb, given, runs[:1] if "slowest" in given else runs)
                check(where, lines, real, nodes, "trace" in given)
                checked += 1
    for problem in problems:
        print("docs_samples: " + problem, file=sys.stderr)
    if checked < 25:
        sys.exit("docs_samples: only %d samples found" % checked)
    sys.exit(1 if problems else 0)


main()
