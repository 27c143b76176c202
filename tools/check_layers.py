#!/usr/bin/python3
"""Checks that the sources keep the rules of their layers: tools/check_layers.py [ROOT]

Reads every #include of the C and C++ files below ROOT (default: this repository) and fails when a
file names a layer that its own may not see, reaches out of its tree with "..", or names one of our
headers that does not exist. The table is that of ARCHITECTURE.md; a unit test keeps the rules of its
layer, and may use the fixtures of tests/ besides.

Fails as well when a layer that runs on the program's threads calls a libc function to sleep: those
are cancellation points, at which a thread of the program may end with a lock of ours. plumb_nap()
and plumb_helper_pause() are none.
"""

import pathlib
import re
import sys

# layer: the layers it may include besides itself. `public` is include/plumb.
MAY_INCLUDE = {
    "public": set(),
    "base": {"public"},
    "format": {"public", "base"},
    "tensor": {"public", "base"},
    "core": {"public", "base", "format", "tensor"},
    "collect": {"public", "base", "format", "core"},
    "inject": {"public", "base"},
    "trace": {"public", "base", "format", "tensor"},
    "analyze": {"public", "base", "format", "tensor", "trace"},
    "report": {"public", "base", "format", "trace", "analyze"},
    "api": {"public", "base", "format", "tensor", "core", "collect", "inject", "trace", "analyze",
            "report"},
    "cli": {"public"},
    "bindings": {"public"},
    "services": {"public"},
    "examples": {"public"},
}
# Clients keep to the public headers but may split themselves into files.
CLIENTS = {"cli", "bindings", "services", "examples"}
# Layers that run on threads of the program.
HOSTED = {"base", "format", "tensor", "core", "collect", "inject", "api"}
SLEEPS = re.compile(r"\b(?:(?:clock_)?nanosleep|u?sleep|p?poll|p?select|pause|sigsuspend|sigwait\w*|"
                    r"sem_(?:timed)?wait|pthread_testcancel)\(")
SUFFIXES = {".c", ".h", ".cc", ".cpp", ".hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer of a path relative to the root, or None for a file that has none (tests, bench)."""
    parts = path.parts
    if parts[:2] == ("include", "plumb"):
        return "public"
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    return parts[0] if parts[0] in CLIENTS else None


def is_test(path):
    return path.stem.endswith("_test")


def target_of(root, path, quote, name):
    """What an include names: ("own", relative path), ("outside", None) or ("missing", None)."""
    here = root / path.parent / name
    folders = ["src", "include"] + (["tests"] if is_test(path) else [])
    for candidate in ([here] if quote == '"' else []) + [root / f / name for f in folders]:
        if candidate.is_file():
            return "own", candidate.resolve().relative_to(root)
    ours = name.split("/")[0] in MAY_INCLUDE.keys() | {"plumb"} and "/" in name
    return ("missing" if ours or quote == '"' else "outside"), None


def check_line(root, path, quote, name):
    layer = layer_of(path)
    if ".." in pathlib.PurePosixPath(name).parts:
        return f'"{name}" climbs out of its folder'
    kind, target = target_of(root, path, quote, name)
    if kind == "missing":
        return f'"{name}" does not exist'
    if kind == "outside":
        return None
    other = layer_of(target)
    if target.parts[0] == "tests" or other == layer or other in MAY_INCLUDE[layer]:
        return None
    allowed = ", ".join(sorted(MAY_INCLUDE[layer])) or "nothing of ours"
    return f'{layer} may not include {other or target} ("{name}"); it may include {allowed}'


def check_file(root, path):
    layer = layer_of(path)
    if layer is None:
        return [f"{path}: lies in no layer"] if path.parts[0] == "src" else []
    if layer not in MAY_INCLUDE:
        return [f"{path}: '{layer}' is not in the table of layers"]
    problems = []
    text = (root / path).read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and check_line(root, path, *match.groups())
        call = SLEEPS.search(line) if layer in HOSTED and not is_test(path) else None
        if call:
            problem = f"{call.group().removesuffix('(')}() is a cancellation point; plumb_nap() is none"
        if problem:
            problems.append(f"{path}:{number}: {problem}")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if len(sys.argv) < 2:
        root = root.parent.parent
    problems, files = [], 0
    for top in ("include", "src", *sorted(CLIENTS)):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                files += 1
                problems += check_file(root, path.relative_to(root))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"layers: {files} files, {len(problems)} violations")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
