#!/usr/bin/python3
"""junit.py: checks a file against the rules of the JUnit schema that Jenkins (xUnit plugin, junit-10.xsd) and Maven
Surefire share: tests/gate/junit.py FILE

The rules are written down here, because the schema itself is not part of Debian: which elements stand in which, in which
order, which attributes each has and must have, the form of numbers and times, and that the sums of a suite are those of
its cases.
"""
import re
import sys
import xml.etree.ElementTree as tree

NUMBER, TIME, TEXT = r"\d+", r"\d+(\.\d+)?", r".*"
# element: (attributes with the form of each; those that must be there; elements in it, in their order)
SCHEMA = {
    "testsuites": ({"name": TEXT, "time": TIME, "tests": NUMBER, "failures": NUMBER, "disabled": NUMBER, "errors": NUMBER},
                   set(), ["testsuite"]),
    "testsuite": ({"name": TEXT, "tests": NUMBER, "failures": NUMBER, "errors": NUMBER, "time": TIME,
                   "disabled": NUMBER, "skipped": NUMBER, "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
                   "hostname": TEXT, "id": TEXT, "package": TEXT},
                  {"name", "tests"}, ["properties", "testcase", "system-out", "system-err"]),
    "properties": ({}, set(), ["property"]),
    "property": ({"name": TEXT, "value": TEXT}, {"name", "value"}, []),
    "testcase": ({"name": TEXT, "assertions": NUMBER, "time": TIME, "classname": TEXT, "status": TEXT},
                 {"name", "classname"}, ["skipped", "error", "failure", "system-out", "system-err"]),
    "skipped": ({"message": TEXT}, set(), []),
    "error": ({"type": TEXT, "message": TEXT}, set(), []),
    "failure": ({"type": TEXT, "message": TEXT}, set(), []),
    "system-out": ({}, set(), []),
    "system-err": ({}, set(), []),
}
ONCE = {"properties", "skipped", "system-out", "system-err"}


def check(element, problems):
    if element.tag not in SCHEMA:
        problems.append(f"<{element.tag}> is not an element of the schema")
        return
    attributes, needed, children = SCHEMA[element.tag]
    for name, value in element.attrib.items():
        if name not in attributes:
            problems.append(f"<{element.tag}> has no attribute '{name}'")
        elif not re.fullmatch(attributes[name], value, re.DOTALL):
            problems.append(f"<{element.tag} {name}={value!r}> has the wrong form")
    problems += [f"<{element.tag}> lacks '{name}'" for name in sorted(needed - element.attrib.keys())]
    last, seen = 0, set()
    for child in element:
        place = children.index(child.tag) if child.tag in children else -1
        if place < 0:
            problems.append(f"<{child.tag}> does not stand in <{element.tag}>")
        elif place < last:
            problems.append(f"<{child.tag}> comes too late in <{element.tag}>")
        if child.tag in ONCE & seen:
            problems.append(f"<{child.tag}> comes twice in <{element.tag}>")
        last = max(last, place)
        seen.add(child.tag)
        check(child, problems)


def check_sums(suite, problems):
    cases = suite.findall("testcase")
    found = {"tests": len(cases)}
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        found[key] = sum(1 for case in cases if case.find(tag) is not None)
    for key, count in found.items():
        if int(suite.get(key, count)) != count:
            problems.append(f"<testsuite {key}={suite.get(key)}>, but it has {count}")


def main():
    root = tree.parse(sys.argv[1]).getroot()
    problems = [] if root.tag in ("testsuites", "testsuite") else [f"the root is <{root.tag}>"]
    check(root, problems)
    for suite in root.iter("testsuite"):
        check_sums(suite, problems)
    for problem in problems:
        print(f"{sys.argv[1]}: {problem}")
    sys.exit(1 if problems else 0)


main()
