#!/usr/bin/python3
"""Checks that the sources keep the rules of their layers: tools/check_layers.py [ROOT]

Reads every #include of the C and C++ files below ROOT (default: this repository) and fails when

- a file names a layer that its own may not include, or within a layer a folder that its own may not;
- a client (the command, the examples, ...) includes a header of include/plumb/detail, which is machinery;
- a file reaches out of its tree with "..", or names one of our headers that does not exist;
- files of one folder include each other in a circle. A header without a source file of its name
  belongs to the files that include it: x.c, the header of its parts, and x.h are no circle;
- a folder of src is larger than FOLDER_MAX source files;
- a folder of src, or of README_TOPS, has more than README_FROM files and no README.md, or one of more
  than README_LINES lines;
- a layer that runs on the program's threads calls a function of libc to sleep: those are
  cancellation points, at which a thread of the program may end with a lock of ours. plumb_nap() and
  plumb_helper_pause() are not.

The tables are those of ARCHITECTURE.md. A unit test may include every folder of its layer, and the
fixtures of tests/.
"""

import collections
import pathlib
import re
import sys

from reach import reach

# layer: the layers it may include besides itself. `public` is include/plumb and the folders below it.
MAY_INCLUDE = {
    "public": set(),
    "base": {"public"},
    "config": {"public", "base"},
    "codec": {"public", "base"},
    "control": {"public", "base", "codec"},
    "tensor": {"public", "base", "codec"},
    "model": {"public", "base", "codec"},
    "live": {"public", "base", "codec", "model"},
    "timeline": {"public", "base", "config", "codec", "model", "live"},
    "summary": {"public", "base", "config", "codec", "model", "live"},
    "record": {"public", "base", "config", "codec", "control", "tensor", "model", "live",
               "timeline"},
    "collect": {"public", "base", "live", "record"},
    "inject": {"public", "base"},
    "read": {"public", "base", "codec", "control", "tensor", "model", "live", "timeline"},
    "analyze": {"public", "base", "config", "codec", "tensor", "model", "read"},
    "isolate": {"public", "base", "codec", "tensor", "model", "read"},
    "report": {"public", "base", "config", "codec", "model", "summary", "read", "analyze",
               "isolate"},
    "api": {"public", "base", "config", "codec", "control", "tensor", "model", "live", "timeline",
            "summary", "record", "collect", "inject", "read", "analyze", "isolate", "report"},
    "cli": {"public"},
    "bindings": {"public"},
    "services": {"public"},
    "examples": {"public"},
}
# Folders within a layer, the lowest first: each may include those before it. "" is the layer's own.
# A layer that is not here has folders that do not include each other, except its own folder "".
ORDER = {
    "base": ["text", "", "strings", "stats", "process"],
    "codec": ["", "gz"],
    "live": ["metric", ""],
    "record": ["runtime", "trace", "activation", "count", "metrics", "stage", "collect", "calls", "span",
               "control", "run"],
    "isolate": ["energy", ""],
    "read": ["file", "json", "ncu", "trace", "activation", "run", "control", "history"],
    "analyze": ["trace", "kernel", "roofline", "activation", "compare", "history", "gate", "diverge",
                "ncu"],
    "report": ["table", "", "picture", "activation", "bench", "compare", "deep", "diverge", "export",
               "history", "gate", "names", "trace", "run"],
}
FOLDER_MAX, README_FROM, README_LINES = 45, 10, 12
# Folders, apart from src, in which a reader needs a README.md to find the first file and the place of
# a new one. CONTRIBUTING.md has the folders of tests, and an example's README.md is its manual.
README_TOPS = ("include", "cli", "tools", "cmake")
# Clients keep to the public headers but may split themselves into files.
CLIENTS = {"cli", "bindings", "services", "examples"}
# Layers that run on threads of the program.
HOSTED = {"base", "config", "codec", "control", "tensor", "model", "live", "timeline", "summary",
          "record", "collect", "inject", "api"}
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


def folder_of(path):
    """The folder of a file of src below its layer: "span" of src/record/span/ring.c, "" of none."""
    return "/".join(path.parts[2:-1])


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


def check_folders(path, target, name):
    """The rule between the folders of one layer."""
    layer, own, other = layer_of(path), folder_of(path), folder_of(target)
    if path.parts[0] != "src" or own == other or is_test(path):
        return None
    order = ORDER.get(layer, [""])
    if other in order and (own not in order or order.index(other) < order.index(own)):
        return None
    return f'{layer}/{own} may not include {layer}/{other} ("{name}")'


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
    if layer in CLIENTS and target.parts[:3] == ("include", "plumb", "detail"):
        return f'{layer} may not include "{name}", which is machinery and not for programs'
    if target.parts[0] == "tests" or other in MAY_INCLUDE[layer]:
        return None
    if other == layer:
        return check_folders(path, target, name)
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
            problem = f"{call.group().removesuffix('(')}() is a cancellation point; plumb_nap() is not"
        if problem:
            problems.append(f"{path}:{number}: {problem}")
    return problems


def units_of(root, files):
    """Of each source file with its header, as one unit, the units of its folder that it includes."""
    sources = {p.with_suffix("") for p in files if p.suffix == ".c" and not is_test(p)}
    includes = {}
    for path in files:
        names = [INCLUDE.match(line) for line in
                 (root / path).read_text(errors="replace").splitlines()]
        found = [pathlib.Path("src", m.group(2)) for m in names if m]
        includes[path] = [p for p in found if p.parent == path.parent and p in set(files)]
    edges = collections.defaultdict(set)

    def follow(unit, path, seen):
        for other in includes.get(path, ()):
            if other in seen:
                continue
            seen.add(other)
            if other.with_suffix("") not in sources:
                follow(unit, other, seen)
            elif other.with_suffix("") != unit:
                edges[unit].add(other.with_suffix(""))

    for unit in sources:
        for suffix in (".c", ".h"):
            follow(unit, unit.with_suffix(suffix), set())
    return edges


def circles(edges):
    """Groups of units that reach each other."""
    reached = {unit: reach(edges, unit) for unit in edges}
    groups = {frozenset(u for u in reached[unit] if unit in reached.get(u, ()))
              for unit in edges if unit in reached[unit]}
    return sorted(sorted(group) for group in groups)


def check_readme(root, folder, count):
    readme = root / folder / "README.md"
    if count > README_FROM and not readme.is_file():
        return [f"{folder}: {count} files and no README.md"]
    if readme.is_file() and len(readme.read_text().splitlines()) > README_LINES:
        return [f"{folder}/README.md: more than {README_LINES} lines"]
    return []


def check_readmes(root):
    """The folders of README_TOPS, in which every file counts: scripts and tables too."""
    problems = []
    for top in README_TOPS:
        folders = [p for p in (root / top).rglob("*") if p.is_dir() and p.name != "__pycache__"]
        for folder in sorted([root / top, *folders]):
            count = sum(p.is_file() and p.name != "README.md" for p in folder.glob("*"))
            problems += check_readme(root, folder.relative_to(root), count)
    return problems


def check_folder(root, folder, files):
    problems = check_readme(root, folder, len(files))
    if len(files) > FOLDER_MAX:
        problems.append(f"{folder}: {len(files)} files; a folder has {FOLDER_MAX} at most")
    for group in circles(units_of(root, files)):
        problems.append(f"{folder}: files include each other in a circle: "
                        + ", ".join(unit.name for unit in group))
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if len(sys.argv) < 2:
        root = root.parent.parent
    problems, files, folders = [], 0, collections.defaultdict(list)
    for top in ("include", "src", *sorted(CLIENTS)):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            files += 1
            path = path.relative_to(root)
            problems += check_file(root, path)
            if top == "src":
                folders[path.parent].append(path)
    for folder, inside in folders.items():
        if folder != pathlib.Path("src"):
            problems += check_folder(root, folder, inside)
    problems += check_readmes(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"layers: {files} files, {len(problems)} violations")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
