#!/usr/bin/python3
"""Breaks each feature once and checks that a test of that feature notices.

tests/mutants/*.txt hold the table: one small change of the source an entry.

    mutant FV-8: the last block of a region is dropped
    file src/record/span/region_span.c
    test rows.fv_8_region_scope
    - if (seen || selected)
    + if (seen)

`- ` lines are text that occurs exactly once in the file (several lines are joined by newlines), `+ `
lines are what replaces it. Without `test` lines, all tests that docs/rows.md cites for the row are
run, in the order of the page, until one fails.

A part of plumb that is not a row has a lower-case name in place of the row (`mutant helper: ...`); its
entries name their tests.

  --check   every entry applies, every row called `works` has one, every named test is cited for
            its row; takes a second, runs in `make test`
  (default) copies the tracked and new files to BUILD/tree, builds them, runs every cited test once
            unchanged, then each mutant: change, build what its tests need, run them, change back

A mutant that does not compile, or that no cited test catches, is a survivor; both fail. The copy is
kept between runs, so a second run builds what changed.

Usage: mutants.py [--check] [--build DIR] [--jobs N] [--only ROW,PART...] [--keep-going]
Exit status: 0 when no mutant survived, 1 with one line a problem, 2 for wrong usage.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = "docs/rows.md"
TABLES = "tests/mutants"
ROW_ID = re.compile(r"(FV|AT|TF|TX|CV)-\d+")
PART = re.compile(r"[a-z]+")
KEYWORD = re.compile(r"(mutant|file|test) (.*)")
TEST_TIMEOUT_S = 300


class Mutant:
    def __init__(self, where, row, what):
        self.where, self.row, self.what = where, row, what
        self.file, self.tests, self.old, self.new = None, [], [], []

    def old_text(self):
        return "\n".join(self.old)

    def new_text(self):
        return "\n".join(self.new)

    def __str__(self):
        return "%s: %s (%s)" % (self.row, self.what, self.where)


def read_tables(problems):
    """The mutants of all tables, in their order."""
    mutants = []
    for path in sorted((ROOT / TABLES).glob("*.txt")):
        current = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = "%s/%s:%d" % (TABLES, path.name, number)
            if not line.strip() or line.startswith("#"):
                continue
            if line[:2] in ("- ", "+ ") or line in ("-", "+"):
                if current is None:
                    problems.append("%s: text before the first mutant" % where)
                    continue
                (current.old if line[0] == "-" else current.new).append(line[2:])
                continue
            found = KEYWORD.fullmatch(line.rstrip())
            if not found:
                problems.append("%s: not understood: %s" % (where, line))
                continue
            word, value = found.groups()
            if word == "mutant":
                row, _, what = value.partition(": ")
                if not (ROW_ID.fullmatch(row) or PART.fullmatch(row)) or not what:
                    problems.append("%s: wanted 'mutant ROW: what breaks'" % where)
                current = Mutant(where, row, what)
                mutants.append(current)
            elif current is None:
                problems.append("%s: '%s' before the first mutant" % (where, word))
            elif word == "file":
                current.file = value
            else:
                current.tests.append(value)
    return mutants


def test_name(path):
    """The name that cmake/PlumbTests.cmake gives to the test in `path`; None: no test file."""
    if path.name.startswith("_") or path.suffix not in (".c", ".cc", ".sh"):
        return None
    if path.suffix != ".sh" and not path.stem.endswith("_test"):
        if path.parts[:2] not in (("tests", "rows"), ("tests", "hosts")):
            return None
    name = re.sub(r"^(src|tests)/", "", path.as_posix())
    name = re.sub(r"(_test)?\.[a-z]+$", "", name).replace("/", ".")
    return name


def read_rows():
    """{row: (status, names of the tests cited for it)}, in the order of the page."""
    rows = {}
    for line in (ROOT / CATALOGUE).read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not ROW_ID.fullmatch(cells[0]):
            continue
        tests = []
        for pattern in re.findall(r"`([^`]+)`", cells[3]):
            for path in sorted(ROOT.glob(pattern)):
                name = test_name(path.relative_to(ROOT))
                if name and name not in tests:
                    tests.append(name)
        rows[cells[0]] = (cells[2], tests)
    return rows


def all_tests():
    """The names of all tests."""
    paths = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.*")]
    return {test_name(path.relative_to(ROOT)) for path in paths}


def check_tests(m, rows, tests, problems):
    if PART.fullmatch(m.row):
        if not m.tests:
            problems.append("%s: names no test" % m.where)
        problems += ["%s: there is no test '%s'" % (m.where, t) for t in m.tests if t not in tests]
    elif m.row not in rows:
        problems.append("%s: %s is not in %s" % (m.where, m.row, CATALOGUE))
    else:
        problems += ["%s: %s does not cite %s for %s" % (m.where, CATALOGUE, t, m.row)
                     for t in m.tests if t not in rows[m.row][1]]


def check(mutants, rows, problems):
    tests = all_tests()
    for m in mutants:
        check_tests(m, rows, tests, problems)
        path = ROOT / m.file if m.file else None
        if not path or not path.is_file():
            problems.append("%s: there is no file '%s'" % (m.where, m.file))
            continue
        times = path.read_text(encoding="utf-8").count(m.old_text()) if m.old_text() else 0
        if times != 1:
            problems.append("%s: the text occurs %d times in %s, not once" %
                            (m.where, times, m.file))
        if m.old_text() == m.new_text():
            problems.append("%s: changes nothing" % m.where)
    covered = {m.row for m in mutants}
    for row, (status, _) in rows.items():
        if status == "works" and row not in covered:
            problems.append("%s: %s works and has no mutant" % (TABLES, row))


def run(command, cwd, timeout=None, quiet=True):
    """The exit status of `command`; its output goes to `last.log` of the folder of copies."""
    with open(cwd / "last.log", "ab") as log:
        try:
            return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, timeout=timeout,
                                  stdout=log if quiet else None, stderr=log if quiet else None,
                                  check=False).returncode
        except subprocess.TimeoutExpired:
            return 124


class Copy:
    """A scratch copy of the checkout with a build tree of its own."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder.resolve(), jobs
        self.tree, self.build = self.folder / "tree", self.folder / "build"
        self.tree.mkdir(parents=True, exist_ok=True)
        self.targets, self.programs = set(), {}

    def fill(self):
        """Makes the copy equal to the checkout; times of unchanged files stay, so little is built."""
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT,
                                check=True, capture_output=True).stdout.split(b"\0")
        wanted = {os.fsdecode(name) for name in listed if name}
        for path in [p for p in self.tree.rglob("*") if p.is_file() or p.is_symlink()]:
            if path.relative_to(self.tree).as_posix() not in wanted:
                path.unlink()
        for name in sorted(wanted):
            source, target = ROOT / name, self.tree / name
            if not source.is_file():
                continue
            content = source.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            target.chmod(source.stat().st_mode & 0o777)

    def configure(self):
        options = []
        for variable, folder in (("PLUMB_TRACES_DIR", "traces"),
                                 ("PLUMB_REFERENCE_FILE", "reference/systems.md")):
            found = sorted(ROOT.parent.glob("*/" + folder))
            if found:
                options.append("-D%s=%s" % (variable, found[0]))
        (self.folder / "last.log").write_bytes(b"")
        if run(["cmake", "--preset", "dev", "-S", str(self.tree), "-B", str(self.build), *options],
               self.tree) != 0:
            return False
        listed = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"],
                                check=True, capture_output=True, text=True).stdout
        self.targets = {line.split(":")[0] for line in listed.splitlines()}
        # How ctest starts each test: run_test.sh NAME LABELS COMMAND...
        for file in self.build.rglob("CTestTestfile.cmake"):
            for line in file.read_text(encoding="utf-8").splitlines():
                parts = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
                if line.startswith("add_test(") and parts and parts[0].endswith("run_test.sh"):
                    self.programs[parts[1]] = parts
        return True

    def make(self, tests):
        """Builds the libraries, the command, the examples, and the programs of `tests`."""
        wanted = ["plumb_products"]
        for test in tests:
            target = "test_" + test.replace(".", "_")
            if target in self.targets:
                wanted.append(target)
        return run(["ninja", "-C", str(self.build), "-j", str(self.jobs), *wanted], self.folder) == 0

    def test(self, name):
        """"passed", "failed" or "skipped"."""
        command = self.programs.get(name)
        if not command:
            return "skipped"
        status = run(command, self.folder, TEST_TIMEOUT_S)
        return "passed" if status == 0 else "skipped" if status == 77 else "failed"


def tests_of(mutant, rows):
    return mutant.tests or rows[mutant.row][1]


def try_mutant(copy, mutant, rows):
    """The test that caught it, or None and why not."""
    target = copy.tree / mutant.file
    text = target.read_text(encoding="utf-8")
    tests = tests_of(mutant, rows)
    (copy.folder / "last.log").write_bytes(b"")
    target.write_text(text.replace(mutant.old_text(), mutant.new_text()), encoding="utf-8")
    try:
        if not copy.make(tests):
            return None, "does not compile"
        for test in tests:
            if copy.test(test) == "failed":
                return test, None
        return None, "SURVIVED " + ", ".join(tests)
    finally:
        target.write_text(text, encoding="utf-8")


def run_all(copy, mutants, rows, keep_going):
    began = time.monotonic()
    copy.fill()
    if not copy.configure():
        print("mutants: cmake failed: %s" % (copy.tree / "last.log"))
        return 1
    tests = list(dict.fromkeys(t for m in mutants for t in tests_of(m, rows)))
    if not copy.make(tests):
        print("mutants: the unchanged tree does not compile: %s" % (copy.folder / "last.log"))
        return 1
    results = {t: copy.test(t) for t in tests}
    failing = [t for t in tests if results[t] == "failed"]
    for test in failing:
        print("mutants: %s fails without any mutant" % test)
    for test in [t for t in tests if results[t] == "skipped"]:
        print("mutants: %s is skipped here and can catch nothing" % test)
    if failing and not keep_going:
        return 1
    print("mutants: %d tests pass unchanged, %.0f s" %
          (len(tests) - len(failing), time.monotonic() - began), flush=True)
    survivors = []
    for m in mutants:
        start = time.monotonic()
        caught, why = try_mutant(copy, m, rows)
        if not caught:
            survivors.append(m)
            if len(survivors) < 20:
                os.replace(copy.folder / "last.log",
                           copy.folder / ("survivor-%d.log" % len(survivors)))
        print("%-6s %-60s %s (%.0f s)" % (m.row, m.what[:60], "caught by " + caught if caught else why,
                                          time.monotonic() - start), flush=True)
    print("mutants: %d caught, %d survived, %.0f s" %
          (len(mutants) - len(survivors), len(survivors), time.monotonic() - began))
    for m in survivors:
        print("survivor: %s" % m)
    return 1 if survivors or failing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="apply nothing, look at the table only")
    parser.add_argument("--build", default="build/mutants", help="folder of the scratch copy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel compilations")
    parser.add_argument("--only", default="", help="rows and parts, separated by commas")
    parser.add_argument("--keep-going", action="store_true",
                        help="go on though a cited test fails without any mutant")
    options = parser.parse_args()

    problems = []
    mutants = read_tables(problems)
    rows = read_rows()
    if not rows:
        problems.append("%s: no rows found" % CATALOGUE)
    only = [r for r in options.only.split(",") if r]
    if only:
        mutants = [m for m in mutants if m.row in only]
        problems += ["%s: %s has no mutant" % (TABLES, row) for row in only
                     if row not in {m.row for m in mutants}]
        rows = {r: rows[r] for r in rows if r in only}
    check(mutants, rows, problems)
    if problems:
        print("\n".join(problems))
        return 1
    if options.check:
        print("%d mutants of %d rows and parts apply" % (len(mutants), len({m.row for m in mutants})))
        return 0
    return run_all(Copy(Path(options.build), options.jobs), mutants, rows, options.keep_going)


if __name__ == "__main__":
    sys.exit(main())
