"""figures.py: the command line and the output file that the Python benchmarks share."""
import argparse
import json


def options(positional, **numbers):
    """Parses the command line: the named arguments, --json FILE, --tmp DIR, --quick, and an integer option
    with a default for each of `numbers`."""
    parser = argparse.ArgumentParser()
    for name in positional:
        parser.add_argument(name)
    parser.add_argument("--json", required=True)
    parser.add_argument("--tmp", default=".")
    for name, default in numbers.items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def save(path, figures):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=2)
