#!/usr/bin/python3
"""Lengths of files and functions against the aims of STYLE.md: tools/size_report.py [ROOT]

Reports only; the status is always 0. Functions are found by the format of the code: with Linux
braces the body of a function, and nothing else, opens and closes with a brace in the first column.
"""

import pathlib
import re
import statistics
import sys

FILE_AIM, FUNCTION_AIM, FUNCTION_LONG = 600, 40, 60
FOLDERS = ("include", "src", "cli", "examples", "bench")
NAME = re.compile(r"(\w+)\s*\(")


def functions_of(lines):
    """Yields (name, length of the body in lines, first line)."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            head = "".join(lines[max(0, start - 6):start - 1]).split(";")[-1].split("}")[-1]
            names = NAME.findall(head)
            yield (names[0] if names else "?"), number - start - 1, start
            start = None


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    files, functions = [], []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            name = path.relative_to(root)
            lines = path.read_text(errors="replace").splitlines()
            files.append((len(lines), name))
            if not path.name.endswith("_test.c"):
                functions += [(size, f"{name}:{line} {function}")
                              for function, size, line in functions_of(lines)]
    if not files or not functions:
        print("size: no C files")
        return
    sizes = sorted(size for size, _ in functions)
    print(f"files:     {len(files)}, {sum(n for n, _ in files)} lines, "
          f"median {statistics.median(n for n, _ in files):.0f}, longest {max(files)[0]}")
    print(f"functions: {len(functions)}, median {statistics.median(sizes):.0f} lines, "
          f"p90 {sizes[len(sizes) * 9 // 10]}, longest {sizes[-1]}; "
          f"{sum(s > FUNCTION_AIM for s in sizes)} over {FUNCTION_AIM}, "
          f"{sum(s > FUNCTION_LONG for s in sizes)} over {FUNCTION_LONG}")
    for title, rows, aim in (("files", files, FILE_AIM), ("functions", functions, FUNCTION_LONG)):
        for size, name in sorted((r for r in rows if r[0] > aim), reverse=True, key=lambda r: r[0]):
            print(f"  {title} over {aim}: {size:5}  {name}")


if __name__ == "__main__":
    main()
