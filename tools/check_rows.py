#!/usr/bin/python3
"""Checks the row catalogue (docs/rows.md) against itself and the tests in the tree.

Owns the rules that keep the project's claims true:
  - docs/rows.md has every row ID exactly once, and no other;
  - every status is one of `works`, `partly`, `not yet`;
  - a row that works names at least one test, and every test that any row names is there;
  - its table by capability has every row ID exactly once, in its system's column, under the
    status that docs/rows.md gives it, and its last line counts the rows of each status.

It reads text only: whether a named test passes is for the test run to say. A missing table is a
problem like any other, so an emptied file cannot pass.

Usage: check_rows.py [ROOT]     ROOT is the repository, by default the one this file lies in.
Exit status: 0 when all is well, 1 with one line per problem on stdout, 2 for wrong usage.
"""

import re
import sys
from pathlib import Path

LAST_ROW = {"FV": 50, "AT": 20, "TF": 39, "TX": 27, "CV": 22}
STATUSES = ("works", "partly", "not yet")
CATALOGUE = "docs/rows.md"
README = "docs/rows.md"

ROW_LINE = re.compile(r"\s*\|\s*\**`?([A-Z]{2}-[^\s|*`]+)`?\**\s*\|")
ROW_ID = re.compile(r"([A-Z]{2})-(\d+)")
COLUMN_HEAD = re.compile(r"\((%s)\)" % "|".join(LAST_ROW))
COUNT_LABEL = "rows"


def expected_ids():
    return ["%s-%d" % (p, n) for p, last in LAST_ROW.items() for n in range(1, last + 1)]


def cells(line):
    """The cells of one Markdown table line, trimmed."""
    return [c.strip() for c in line.strip().strip("|").split("|")]


def read_text(path, problems, shown):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        problems.append("%s: cannot be read: %s" % (shown, e))
        return ""


def is_test(root, path):
    rel = path.relative_to(root)
    return path.is_file() and (rel.parts[0] == "tests" or rel.stem.endswith("_test"))


def check_tests(root, where, row, status, shown_by, problems):
    """Every pattern between backticks must match a test file below `root`."""
    patterns = re.findall(r"`([^`]+)`", shown_by)
    if status == "works" and not patterns:
        problems.append("%s: %s works but names no test" % (where, row))
    for pattern in patterns:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            problems.append("%s: %s names '%s', outside the repository" % (where, row, pattern))
        elif not any(is_test(root, p) for p in root.glob(pattern)):
            problems.append("%s: %s names '%s', and no test file matches" % (where, row, pattern))


def check_catalogue(root, problems):
    """Returns {row ID: status} of the well-formed rows of the catalogue."""
    known = set(expected_ids())
    first_line = {}
    status_of = {}
    for number, line in enumerate(read_text(root / CATALOGUE, problems, CATALOGUE).splitlines(), 1):
        match = ROW_LINE.match(line)
        if not match:
            continue
        where = "%s:%d" % (CATALOGUE, number)
        row = match.group(1)
        if row not in known:
            problems.append("%s: %s is not a known row" % (where, row))
            continue
        if row in first_line:
            problems.append("%s: %s stands in line %d already" % (where, row, first_line[row]))
            continue
        first_line[row] = number
        columns = cells(line)
        if len(columns) != 4:
            problems.append("%s: %s has %d columns, not 4" % (where, row, len(columns)))
            continue
        _, text, status, shown_by = columns
        if not text:
            problems.append("%s: %s says nothing" % (where, row))
        if status not in STATUSES:
            problems.append("%s: %s has status '%s', not one of %s"
                            % (where, row, status, ", ".join(STATUSES)))
            continue
        status_of[row] = status
        check_tests(root, where, row, status, shown_by, problems)
    for row in expected_ids():
        if row not in first_line:
            problems.append("%s: %s is missing" % (CATALOGUE, row))
    return status_of


def expand(text, where, problems):
    """'CV-1 to CV-3, TF-1' -> ['CV-1', 'CV-2', 'CV-3', 'TF-1']."""
    ids = []
    for item in filter(None, (t.strip() for t in text.split(","))):
        ends = [ROW_ID.fullmatch(e) for e in re.split(r"\s+to\s+", item)]
        if None in ends or len(ends) > 2 or ends[0][1] != ends[-1][1]:
            problems.append("%s: cannot read '%s' as row IDs" % (where, item))
            continue
        ids += ["%s-%d" % (ends[0][1], n) for n in range(int(ends[0][2]), int(ends[-1][2]) + 1)]
    return ids


def claims(cell, where, problems):
    """'works: CV-1 to CV-3; partly: CV-4' -> [('works', ['CV-1', ...]), ('partly', ['CV-4'])]."""
    if cell in ("", "-"):
        return []
    found = []
    for part in re.split(r";|<br\s*/?>", cell):
        status, colon, ids = part.partition(":")
        status = status.strip(" *`")
        if not colon or status not in STATUSES:
            problems.append("%s: '%s' does not begin with a status and ':'" % (where, part.strip()))
            continue
        found.append((status, expand(ids, where, problems)))
    return found


def check_counts(prefix, cell, where, status_of, problems):
    """The last line of the table: 'works 16; partly 0; not yet 6'."""
    have = [s for r, s in status_of.items() if r.startswith(prefix + "-")]
    want = "; ".join("%s %d" % (s, have.count(s)) for s in STATUSES)
    if cell != want:
        problems.append("%s: %s counts '%s', but %s has '%s'"
                        % (where, prefix, cell, CATALOGUE, want))


def check_readme(root, status_of, problems):
    """The feature table is the one whose head has a column '(FV)', '(AT)', ... per system."""
    prefixes = None
    counted = False
    seen = {}
    for number, line in enumerate(read_text(root / README, problems, README).splitlines(), 1):
        where = "%s:%d" % (README, number)
        if not line.startswith("|"):
            if prefixes:
                break
            continue
        columns = cells(line)
        if prefixes is None:
            heads = [COLUMN_HEAD.search(c) for c in columns[1:]]
            if heads and all(heads):
                prefixes = [h[1] for h in heads]
            continue
        if set(line) <= set("|-: "):
            continue
        if len(columns) != len(prefixes) + 1:
            problems.append("%s: %d columns, not %d" % (where, len(columns), len(prefixes) + 1))
            continue
        is_count = columns[0].strip("*").lower() == COUNT_LABEL
        counted = counted or is_count
        for prefix, cell in zip(prefixes, columns[1:]):
            if is_count:
                check_counts(prefix, cell, where, status_of, problems)
                continue
            for status, ids in claims(cell, where, problems):
                for row in ids:
                    check_claim(prefix, row, status, where, status_of, seen, problems)
    if prefixes is None or sorted(prefixes) != sorted(LAST_ROW):
        problems.append("%s: no feature table with one column for each of %s"
                        % (README, ", ".join(LAST_ROW)))
        return
    if not counted:
        problems.append("%s: the feature table has no line 'Rows' with the counts" % README)
    for row in expected_ids():
        if row not in seen:
            problems.append("%s: %s is missing from the feature table" % (README, row))


def check_claim(prefix, row, status, where, status_of, seen, problems):
    if row in seen:
        problems.append("%s: %s is in the feature table twice (%s)" % (where, row, seen[row]))
        return
    seen[row] = where
    if not row.startswith(prefix + "-"):
        problems.append("%s: %s stands in the column of %s" % (where, row, prefix))
    if row not in status_of:
        problems.append("%s: %s has no valid status in %s" % (where, row, CATALOGUE))
    elif status_of[row] != status:
        problems.append("%s: %s is '%s' here and '%s' in %s"
                        % (where, row, status, status_of[row], CATALOGUE))


def main(argv):
    if len(argv) > 2 or (len(argv) == 2 and argv[1].startswith("-")):
        print("usage: check_rows.py [ROOT]", file=sys.stderr)
        return 2
    root = (Path(argv[1]) if len(argv) == 2 else Path(__file__).parent.parent).resolve()
    problems = []
    status_of = check_catalogue(root, problems)
    check_readme(root, status_of, problems)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
