#!/usr/bin/python3
"""Checks the words of what people read: tools/check_words.py [ROOT]

Looks at messages (string literals of src and cli), at the comments of every C and C++ file, and at the
pages (*.md), for the phrases of RULES: each makes a reader go back in the sentence, or is not the
field's word for the thing. A rule says where it holds, and what to write instead. Code on pages, names
in backquotes, and tests' own texts are not looked at.
"""

import pathlib
import re
import subprocess
import sys

READ = {"messages", "comments", "pages"}
# (name, pattern, what to write, where)
RULES = [
    # "is no longer" and "is no larger than 4" say what they mean.
    ("is no",
     r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|one\b|doubt\b|such\b"
     r"|better\b|worse\b|later\b|farther\b|\w+er than\b)\w",
     "'x is not a y': 'x is no y' reads as if 'no y' were a thing", READ),
    ("is none",
     r"(?<![Tt]here )\b(?:is|are|was|were) none\b",
     "'is not a y', or the word that it stands for: none of what?", READ),
    ("anew", r"\banew\b", "'again'", READ),
    ("tell of", r"\b(?:tell|tells|told|telling) of\b", "'report', 'record', 'print'", READ),
    ("else at the end", r"\b\w+ else(?=[.;:)])", "'otherwise', or name the other things", READ),
    ("headless Who", r"(?:\A|(?<=[.!?] )|(?<=\n))(?:Who|Whoever) [a-z]",
     "a noun: 'the thread that', 'the caller'", {"comments", "pages"}),
    # A question and a heading may begin so; a statement may not.
    ("headless What", r"(?:\A|(?<=[.!?:] )|(?<=\n))What [a-z][^.?!\n]*[.!]",
     "a noun: 'the bytes that', 'returns ...'", READ),
    ("behind", r"\bbehind\b", "'after', 'under', or 'the target of' a link", READ),
    ("beside", r"\bbeside\b", "'next to', 'in addition to'", READ),
    ("meanwhile", r"\b[Mm]eanwhile\b", "'in the meantime', 'during the call'", READ),
    ("somebody", r"\b(?:[Ss]ome|[Nn]o|[Aa]ny|[Ee]very)body\b",
     "a noun: 'another thread', 'the caller', 'the reader'", READ),
    ("room",
     r"\b(?:no|little|enough|more|found|has|have|is|was) room\b|\broom (?:for|left|in)\b",
     "the buffer, the memory or the file that is full; 'does not fit', 'dropped'", READ),
]
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"(?:\s*\"(?:\\.|[^\"\\\n])*\")*"
                   r"|'(?:\\.|[^'\\\n])*'", re.S)
SOURCES = (".c", ".h", ".cc", ".hpp")
# Pages that quote others: the rows of the reference document, the names of other profilers, and the
# style guide's examples of what not to write.
QUOTING = {"docs/rows.md", "docs/coming-from.md", "STYLE.md"}


def without_names(text):
    """The text with names in backquotes blanked; each character stays where it was."""
    return re.sub(r"``.+?``|`[^`\n]+`", lambda m: "`" * len(m[0]), text)


def comment_text(token):
    """The words of a comment as running text; a paragraph and an item of a list begin a line."""
    text = re.sub(r"\n[ \t]*\*?[ \t]*", "\n", without_names(token).strip("/*").strip())
    return re.sub(r"(?<!\n)\n(?![\n-])", " ", text)


def string_text(token):
    return re.sub(r"\\n", " ", re.sub(r"\"\s*\"", "", token)[1:-1])


def page_text(text):
    """A page without code; each character stays where it was."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^( *)```.*?^\1```", blank, text, flags=re.S | re.M)
    text = re.sub(r"^    .*$", blank, text, flags=re.M)
    return re.sub(r"(?<!\n)\n(?![\n|#>-])", " ", without_names(text))


def pieces(path, text):
    """Yields (what it is, its text, its place in the file)."""
    top, test = path.parts[0], path.stem.endswith("_test")
    if path.suffix == ".md":
        if str(path) not in QUOTING:
            yield {"pages"}, page_text(text), 0
        return
    for match in TOKEN.finditer(text):
        token = match[0]
        if token.startswith("/"):
            yield {"comments"}, comment_text(token), match.start()
        elif token.startswith('"') and top in ("src", "cli") and not test:
            yield {"messages"}, string_text(token), match.start()


def problems_of(path, text):
    for where, piece, start in pieces(path, text):
        for name, pattern, instead, holds in RULES:
            if not where & holds:
                continue
            for match in re.finditer(pattern, piece):
                # A page keeps its places; a comment or a string is named by its first line.
                at = match.start() if path.suffix == ".md" else start
                shown = piece[max(0, match.start() - 30):match.end() + 10].strip().replace("\n", " ")
                yield "%s:%d: %s: write %s: ...%s..." % (path, text.count("\n", 0, at) + 1, name,
                                                        instead, shown)


def listed(root):
    """The files of the repository; in a tarball, all files of our folders."""
    found = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others",
                            "--exclude-standard"], capture_output=True, text=True, check=False)
    if found.returncode == 0 and found.stdout:
        return [pathlib.Path(name) for name in found.stdout.splitlines()]
    return [p.relative_to(root) for folder in ("include", "src", "cli", "docs", "examples", "bench",
                                               "tests", "bindings", "services")
            for p in (root / folder).rglob("*")] + [p.relative_to(root) for p in root.glob("*.md")]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    count = failed = 0
    for path in sorted(listed(root)):
        if path.suffix not in SOURCES + (".md",) or path.parts[:2] == ("docs", "man"):
            continue
        if path.parts[0] in ("build", "tools") or not (root / path).is_file():
            continue
        count += 1
        for problem in problems_of(path, (root / path).read_text(encoding="utf-8", errors="replace")):
            print(problem, file=sys.stderr)
            failed += 1
    if count == 0:
        print("check_words: no files below %s" % root, file=sys.stderr)
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
