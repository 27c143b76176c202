#!/usr/bin/python3
"""Checks that the public headers are for people: tools/check_public.py [INCLUDE]

Reads include/plumb (or INCLUDE/plumb) and fails when

- plumb.h, which is the manual, has more than MANUAL_MAX lines;
- headers include each other in a circle;
- the result `out` of a function or callback is not its first parameter, or `plumb_error *err` is not its last;
- a parameter through which a function hands out a pointer has another name than `out`;
- a function has no comment, or one that does not begin with a verb of VERBS ("Returns", "Records"). Functions with
  the same result and the same names of parameters that follow each other directly may share one.

What is below detail/, and names that end with _, are machinery: of these only circles are checked.
"""
import pathlib
import re
import sys

from reach import reach

MANUAL_MAX = 300
INCLUDE = re.compile(r"^\s*#\s*include <(plumb/[^>]+)>", re.M)
PARAMETERS = r"\(((?:[^(){};]|\([^()]*\))*)\)"
FUNCTION = re.compile(r"^(?:static inline|PLUMB_API)[^;{}=]*?\b(plumb_\w+)" + PARAMETERS + r"\s*[;{]", re.M | re.S)
CALLBACK = re.compile(r"\(\*(\w+)\)" + PARAMETERS)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# What a call can do. A list, because no rule tells "Sets" from "Options" or "This".
VERBS = """Adds Advances Begins Blocks Captures Checks Compares Continues Copies Drops Ends Fills Finds Frees Interns Lists
Makes Marks Measures Opens Passes Queues Reads Records Registers Removes Renders Replaces Requests Resets Restores Returns
Runs Sets Stops Switches Takes Translates Writes""".split()
# "As plumb_x(), ..." refers to the comment of another function.
VERB = re.compile(r"/\* (?:(?:%s)\b|As plumb_)" % "|".join(VERBS))


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def parameters(text):
    """The names of the parameters in order, and of those that hand out a pointer."""
    text = CALLBACK.sub(lambda m: " " + m.group(1), text)
    names, handed = [], set()
    for part in text.split(","):
        words = re.findall(r"\w+", part)
        if words and words != ["void"]:
            names.append(words[-1])
            if re.search(r"\*\s*\*", part) and "const" not in part.split("*", 1)[1]:
                handed.add(words[-1])
    return names, handed


def check_parameters(name, text):
    names, handed = parameters(text)
    if "out" in names[1:]:
        yield "%s: `out` is not the first parameter" % name
    if "err" in names[:-1]:
        yield "%s: `err` is not the last parameter" % name
    for other in sorted(handed - {"out"}):
        yield "%s: `%s` hands out a pointer: call it `out`" % (name, other)


def comment_directly_above(text, at):
    """The comment that ends on the line above the one that `at` begins."""
    above = text[:at].rstrip(" \t")
    if not above.endswith("*/\n"):
        return None
    return above[above.rindex("/*"):].rstrip("\n")


def shape(match):
    """What functions that share a comment agree in: the type of the result, and the names of the parameters."""
    return match.group().split("plumb_")[0].split(), parameters(match.group(2))[0]


def check_header(path, text):
    code = COMMENT.sub(blank, text)
    before, comment = None, None
    for match in FUNCTION.finditer(code):
        name = match.group(1)
        own = comment_directly_above(text, match.start())
        shared = before and shape(before) == shape(match) and "\n\n" not in text[before.end():match.start()]
        before, comment = match, own or (comment if shared else None)
        if name.endswith("_"):
            continue
        yield from check_parameters(name, match.group(2))
        if not comment:
            yield "%s: no comment" % name
        elif not VERB.match(comment):
            yield "%s: its comment does not begin with a verb: %s" % (name, comment.split("\n")[0])
    for match in CALLBACK.finditer(code):
        yield from check_parameters(match.group(1), match.group(2))


def circles(includes):
    """Headers that reach themselves."""
    for start in sorted(includes):
        if start in reach(includes, start):
            yield "%s: includes itself through others" % start


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    include = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "include"
    texts = {str(p.relative_to(include)): p.read_text() for p in sorted((include / "plumb").rglob("*.h"))}
    problems = list(circles({name: INCLUDE.findall(text) for name, text in texts.items()}))
    lines = texts.get("plumb/plumb.h", "").count("\n")
    if lines > MANUAL_MAX:
        problems.append("plumb/plumb.h: %d lines; a manual has %d at most" % (lines, MANUAL_MAX))
    for name, text in texts.items():
        if not name.startswith("plumb/detail/"):
            problems += ["%s: %s" % (name, line) for line in check_header(name, text)]
    for line in problems:
        print("public: " + line, file=sys.stderr)
    print("public: %d headers, %d problems" % (len(texts), len(problems)))
    return 1 if problems or not texts else 0


sys.exit(main())
