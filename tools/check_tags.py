#!/usr/bin/python3
"""Checks that no two types share a tag: tools/check_tags.py [ROOT]

Reads the struct, union and enum definitions of the C files of include, src, cli, bindings and
services below ROOT (default: this repository) and fails when a tag of a header, or one that begins
with "plumb_", is defined in two files. A reader who searches for such a tag must find one type.

A short tag that is private to a source file ("struct reader") may be used by several source files,
as a static function's name may be. One file may define a tag several times, for several processors.
A header named program_*_body.h is text of a generated program, which has the types of plumb's binary
interface once more and includes no header of plumb; tests/rows/tf_29_* compares them.
"""

import collections
import pathlib
import re
import sys

TOPS = ("include", "src", "cli", "bindings", "services")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINITION = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")


def tags_of(root):
    """Of each tag the files that define it, as paths relative to `root`."""
    places = collections.defaultdict(list)
    for top in TOPS:
        for path in sorted((root / top).rglob("*.[ch]")):
            if path.match("program_*_body.h"):
                continue
            text = COMMENT.sub(" ", path.read_text(errors="replace"))
            for tag in dict.fromkeys(DEFINITION.findall(text)):
                places[tag].append(path.relative_to(root))
    return places


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    places = tags_of(root)
    alike = 0
    for tag, files in places.items():
        shared = tag.startswith("plumb_") or any(path.suffix == ".h" for path in files)
        if shared and len(files) > 1:
            alike += 1
            print(f"'{tag}' is defined in {', '.join(map(str, files))}: rename all but one",
                  file=sys.stderr)
    print(f"tags: {len(places)} tags, {alike} defined twice")
    return 1 if alike or not places else 0


if __name__ == "__main__":
    sys.exit(main())
