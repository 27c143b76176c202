#!/usr/bin/python3
"""check_disabled.py [INCLUDE [COMPILER]]: the interface is the same with and without PLUMB_DISABLE.

With PLUMB_DISABLE the table of functions is NULL, and detail/disabled.h replaces a few macros. The compiler lists
what a program can use in both modes, once from the headers as they are and once with -DPLUMB_DISABLE; a name that one
mode lacks, or that takes another number of arguments there, is printed and ends the check with status 1.
Names that end with _ are internal.
"""
import os
import re
import subprocess
import sys

HEADERS = ["plumb/plumb.h", "plumb/collector.h", "plumb/fake.h"]
FUNCTION = re.compile(r"\b(plumb_\w+)\s*\(((?:[^(){};]|\([^()]*\))*)\)\s*\{")
MACRO = re.compile(r"#define ((?:plumb|PLUMB)_\w+)(\([^)]*\))?")


def preprocessed(include, compiler, *options):
    text = "".join("#include <%s>\n" % header for header in HEADERS)
    return subprocess.run([compiler, "-x", "c", "-std=c11", "-I", include, "-E", "-P", *options, "-"],
                          input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def arity(parameters):
    text = parameters.strip()
    if text in ("", "void"):
        return 0
    return re.sub(r"\([^()]*\)", "", text).count(",") + 1


def interface(include, compiler, *options):
    """{name: number of arguments; None: a macro without any}, of all that a program can use."""
    names = {name: arity(parameters) for name, parameters in
             FUNCTION.findall(preprocessed(include, compiler, *options))}
    for line in preprocessed(include, compiler, "-dM", *options).splitlines():
        macro = MACRO.match(line)
        if macro and not macro.group(1).endswith("_H"):
            names[macro.group(1)] = arity(macro.group(2)[1:-1]) if macro.group(2) else None
    names.pop("PLUMB_DISABLE", None)
    return {name: n for name, n in names.items() if not name.endswith("_")}


def problems(on, off):
    for name in sorted(on.keys() | off.keys()):
        if name not in off:
            yield "%s: missing with PLUMB_DISABLE" % name
        elif name not in on:
            yield "%s: exists only with PLUMB_DISABLE" % name
        elif on[name] != off[name]:
            yield "%s: %s arguments, with PLUMB_DISABLE %s" % (name, on[name], off[name])


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    include = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "include")
    compiler = sys.argv[2] if len(sys.argv) > 2 else "cc"
    on, off = interface(include, compiler), interface(include, compiler, "-DPLUMB_DISABLE")
    found = list(problems(on, off))
    for line in found:
        print("disabled: " + line, file=sys.stderr)
    print("disabled: %d names, %d different" % (len(on), len(found)))
    return 1 if found or not on else 0


sys.exit(main())
