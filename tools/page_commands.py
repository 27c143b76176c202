#!/usr/bin/python3
"""Lists the commands of README.md and CONTRIBUTING.md, and what tools/fresh.sh runs for each.

A command is
  - a line of a code block marked sh (a comment after it does not belong to it);
  - a line of any other code block that begins with "$ ";
  - the first cell of a table whose first column is called "command";
  - in the text, code that begins with make, or with a script of ours and its arguments.

Commands form units. A unit begins with `make` or with a script of ours, and is run as the first
command in a fresh root; the commands that follow it on the page, up to the next unit, need what it
made and run after it. A command that stands on the pages twice is listed once.

RULES says what takes the place of placeholders, and which commands are shortened. A command that is
not in it runs as it stands, so a new one on the pages is covered at once. A rule that fits no
command any more is an error.

Usage: page_commands.py [ROOT]
A line for each command, five columns separated by tabs: the unit's number, the most seconds, the page
with the line, the command of the page, the command that runs.
Exit status: 0, or 1 with one line per problem on stderr.
"""

import re
import shlex
import sys
from pathlib import Path

PAGES = ("README.md", "CONTRIBUTING.md")
LIMIT_S = 3600

# The command of the page: (what runs, the most seconds)
RULES = {
    "plumb report tree": ("build/release/bin/plumb report tree build/release/demo/run", 60),
    "make test": ("make test", 4 * 3600),
    "cc -O2 -o prog prog.c $(pkg-config --cflags --libs plumb) -lm": (
        "awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' README.md >prog.c && "
        "cc -O2 -o prog prog.c $(pkg-config --cflags --libs plumb) -lm", 60),
    "plumb record -- ./prog": ("plumb record -- ./prog", 60),
    "make asan": ("make asan", 3 * 3600),
    "make test-release": ("make test-release", 2 * 3600),
    "make tsan": ("make tsan", 3 * 3600),
    "make soak": ("SEEDS=300 ROUNDS=1 TEST_KILLS=20 TEST_GATES=10 make soak", 3 * 3600),
    "make mutants": ("ROWS=FV-8,TF-4,CV-13 make mutants", 2 * 3600),
    "make fuzz": ("FUZZ_SECONDS=2 make fuzz", 3600),
    "make fuzz-long": ("FUZZ_SECONDS=10 FUZZ_TARGETS='gz live' make fuzz-long", 3600),
    "make bench": ("BENCH=--quick TEST_KILLS=50 make bench", 2 * 3600),
    "make install PREFIX=...": ('make install PREFIX="$HOME/installed"', 3600),
    "BUILD=/elsewhere make test": ("BUILD=/tmp/elsewhere CTEST_ARGS='-R base' make test", 2 * 3600),
    "CTEST_ARGS='-R rows' make test": ("CTEST_ARGS='-R rows' make test", 2 * 3600),
    "docs/man/update.sh BUILD/bin/plumb": (
        "make build && docs/man/update.sh build/release/bin/plumb", 3600),
    "tests/abi/abi.sh --update BUILD_DIR": (
        "tools/deps.sh test && tools/build.sh dev && tests/abi/abi.sh --update build/dev", 3600),
}

FENCE = re.compile(r"^```(\S*)\s*$")
CODE = re.compile(r"`([^`]+)`")
ASSIGNMENT = re.compile(r"^[A-Z_]+=")


def words_of(command):
    """The words of a command without the assignments before it."""
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        return []
    while words and ASSIGNMENT.match(words[0]):
        words.pop(0)
    return words


def is_script(root, word):
    path = root / word
    return "/" in word and not word.startswith(("/", "build/")) and path.is_file() and \
        bool(path.stat().st_mode & 0o100)


def begins_unit(root, command):
    words = words_of(command)
    return bool(words) and (words[0] == "make" or is_script(root, words[0]))


def is_command_in_text(root, code):
    words = words_of(code)
    return len(words) > 1 and (words[0] == "make" or is_script(root, words[0]))


def without_comment(line):
    return re.sub(r"\s+#( .*)?$", "", line).strip()


def commands_of(root, page):
    """(line number, command) for each command of a page, in order."""
    fence = None
    table = None  # the first cell of the head of the table that the line is in
    joined = ""
    for number, line in enumerate((root / page).read_text(encoding="utf-8").split("\n"), 1):
        mark = FENCE.match(line)
        if mark:
            fence = mark[1] if fence is None else None
        elif fence == "sh":
            joined += line
            if joined.endswith("\\"):
                joined = joined[:-1]
                continue
            if without_comment(joined):
                yield number, without_comment(joined)
            joined = ""
        elif fence is not None:
            if line.startswith("$ "):
                yield number, without_comment(line[2:])
        elif line.startswith("|"):
            first = line.strip("|").split("|")[0].strip()
            if table is None:
                table = first.lower()
            elif table == "command":
                for code in CODE.findall(first):
                    yield number, code
        else:
            table = None
            for code in CODE.findall(line):
                if is_command_in_text(root, code):
                    yield number, code


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    units = {}  # the number of the unit that a command begins
    seen = set()
    for page in PAGES:
        unit = None
        for number, command in commands_of(root, page):
            if begins_unit(root, command):
                unit = units.setdefault(command, len(units) + 1)
            if command in seen:
                continue
            if unit is None:
                print("%s:%d: '%s' comes before any make or script of ours, which would install "
                      "what it needs" % (page, number, command), file=sys.stderr)
                return 1
            seen.add(command)
            run, limit_s = RULES.get(command, (command, LIMIT_S))
            print(unit, limit_s, "%s:%d" % (page, number), command, run, sep="\t")
    gone = sorted(set(RULES) - seen)
    for command in gone:
        print("page_commands.py: RULES has '%s', which is on no page" % command, file=sys.stderr)
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
