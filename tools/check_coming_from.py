#!/usr/bin/python3
"""Checks docs/coming-from.md, the page that says what other profilers' names are called in plumb. Its
tables are made from share/predecessors.tsv (docs/man/update.sh), which tests/tools/docs.sh compares.

Against the tree, always:
  - every entry has a kind, a known row, one of the statuses, and what its status demands;
  - whatever plumb name an entry gives exists, unless the entry is marked 'not yet': PLUMB_* as a
    setting or in a public header, plumb_* in a public header, commands and options in the
    completion, fields of timing.json on its page;
  - a row that docs/rows.md says to work has no name that is 'not yet', and one that is 'partly' only
    where its remark names the row, which does not work yet, that the rest belongs to: (TF-14), or
    where PARTS below says why the row does not promise the rest.

Against the reference document of the five systems (--reference FILE), when it is at hand: every name
that stands in it is on the page. A name is
  1. whatever stands between backquotes. A signature or schema (`f(a, b=1)`, `x{y, z}`) is taken
     apart into its words, `x_{a,b}` into x_a and x_b; `x[]`, `x()`, `x=1` and `x: 1` are x;
  2. any other word of prose with an underscore inside, or with an inner capital.
In the part about one system the entry must be of that system. Names that are left out are listed below,
one by one, with the reason; there is no pattern. An entry of that list which the document does not
have is reported too, so that the list cannot outlive its reasons.

Usage: check_coming_from.py [--reference FILE] [ROOT]
Exit status: 0 when all is well, 1 with one line per problem on stdout, 2 for wrong usage.
"""

import argparse
import re
import sys
from pathlib import Path

PAGE = "docs/coming-from.md"
STATUSES = ("works", "partly", "not yet", "not needed")
KINDS = ("variable", "function", "parameter", "command", "option", "endpoint", "file", "line",
         "field", "metric", "name", "value")
LAST_ROW = {"FV": 50, "AT": 20, "TF": 39, "TX": 27, "CV": 22}
FIELD_PAGES = {
    "timing.json": "docs/timing-json.md",
    "timing_io_signature.json": "docs/signature-json.md",
    "summary_rank<R>.json": "docs/reading.md",
    "<node>_rank<R>.breakdown.json": "docs/regions.md",
}
# The part of the reference document that is about one system.
SECTIONS = {"1": "FV", "2": "AT", "3": "TF", "4": "TX", "5": "CV"}

# ---- What is left out, and why -------------------------------------------------------------------

LEFT_OUT = {
    "a value or a character, no name of anything": (
        '""', "~", "0", "1", "true", "false", "no", "*", "-", "--", "_", "/", "<", "<=", "%", ",",
        "3", "3.0", "..", "+Inf", "2,5", "2 5", "0,2", "[1,2]", "[A-Za-z0-9._-]"),
    "a word of Python, or of the reference document itself": (
        "with", "self", "__call__", "ValueError", "RuntimeError", "(+)", "<R>", "all rows differ"),
    "plumb's own": ("PLUMB_*",),
    "a revision or a file of their repositories": (
        "2f3d4074", "5a12f03e", "27e65b0f", "12347c7c", "4c7d437a", "b037e1c3", "a2f37f67",
        "1af7742c", "ea33bacd", "19a19b9d", "a212f2b0", "4b07c68a", "fde417fb", "tools/*",
        "tests/test_perf_regression.py", "tests/performance", "activation_trace"),
    "an example or a golden value": (
        "block\\.0.*", "block.0", "abs_mean,sum,shape,dtype", "out[0].x[2]",
        " Model_Loading , ,inference_denoising", "hw-41f86157a00d7e43", "sw-f1f9448b4e9bf474",
        "ed3864a6c5087bd6defc8fde990e73b7b9397a62e68f247c46cb4b3ad4bc1594", "node_a", "node_b",
        "FLASH_ATTN",
        '{"module": "block.0", "tensor": "out", "step": 3, "abs_mean": 0.41, "sum": -0.82, '
        '"shape": [1, 2], "dtype": "torch.float32"}'),
    "a model, a package or a project, not a part of a profiler": (
        "minimax_h3", "magi_human", "fastvideo_kernel", "flash_attn_4", "nvidia_cutlass_dsl",
        "pytorch_geometric", "FastVideo", "TeleFuser", "PyTorch", "OpenTelemetry"),
    "of the trace format that viewers read": (
        "traceEvents", 'ph:"X"', "ts", "dur", "pid", "tid", "cat", "args"),
}
# Names that are partly there, of rows that work all the same.
PARTS = {
    "memory_snapshot.pkl": "memory over time is the row's history; single blocks are an allocator's",
}
# Types and prose inside signatures and schemas.
SIGNATURE_WORDS = {
    "string", "bool", "optional", "int32", "repeated", "or", "a", "list", "of", "those", "scalar",
    "null", "the", "text", "type", "single", "tensor", "only", "keyword", "scalars", "no", "prefix",
    "gpu", "substring", "i",
}
# Short, cut or filled-in spellings, and what they stand for.
SPELLED = {
    "..._WITH_PROFILE_MEMORY": ("FASTVIDEO_TORCH_PROFILER_WITH_PROFILE_MEMORY",),
    "..._WITH_STACK": ("FASTVIDEO_TORCH_PROFILER_WITH_STACK",
                       "TELEFUSER_TORCH_PROFILER_WITH_STACK"),
    "..._WITH_FLOPS": ("FASTVIDEO_TORCH_PROFILER_WITH_FLOPS",),
    "..._PROFILE_MEMORY": ("TELEFUSER_TORCH_PROFILER_PROFILE_MEMORY",),
    "fastvideo.region::": ("fastvideo.region::<name>",),
    "fastvideo.region::<canonical>": ("fastvideo.region::<name>",),
    "PROFILER: ": ("PROFILER: <text>",),
    ".split_tiles": ("minimax_h3.vae.decode_clip.split_tiles",),
    ".decode_tiles": ("minimax_h3.vae.decode_clip.decode_tiles",),
    ".stitch_tiles": ("minimax_h3.vae.decode_clip.stitch_tiles",),
    "[...] Execution completed in <float> ms": ("[<key>|<Class>] Execution completed in <float> ms",),
    "POST .../refresh": ("POST /api/performance/refresh",),
    "GET .../records": ("GET /api/performance/records",),
    ".../summary": ("GET /api/performance/summary",),
    ".../trends": ("GET /api/performance/trends",),
    "summary_rank0.txt": ("summary_rank<R>.txt",),
    "summary_rank0.json": ("summary_rank<R>.json",),
    "abs_mean,sum": ("abs_mean", "sum"),
    "out[i]": ("out[<i>]",),
    "out[0]": ("out[<i>]",),
    "out[1]": ("out[<i>]",),
    "out.k": ("out.<key>",),
    "<error>": ("<error: ...>",),
    "_io_signature.json": ("<report>_io_signature.json",),
    ".json": ("timing.json",),
    "[Harness]": ("[Harness] <text>",),
    "stage.process(**inputs)": ("process", "inputs"),
    "--set full": ("ncu --set full <program>",),
    "_total": ("telefuser_stage_<name>_total",),
    "_errors_total": ("telefuser_stage_<name>_errors_total",),
    "_active": ("telefuser_stage_<name>_active",),
    "_input_size_bytes": ("telefuser_stage_<name>_input_size_bytes",),
    "_output_size_bytes": ("telefuser_stage_<name>_output_size_bytes",),
    "[Profile] x cost ... seconds": ("[Profile] <name> cost <seconds> seconds",),
    "Rank 0 - Function ... Peak Memory": ("Rank <r> - Function <name> Peak Memory",),
    "[Profiler] Timing report saved to": ("[Profiler] Timing report saved to <path>",),
    "_ = wave | chain": ("wave | f",),
    "--depths 2,5,10,20": ("--depths",),
    "cuda-": ("cuda-<host>.json",),
    "realtime-": ("realtime-<host>.json",),
    "launches-cpu-": ("launches-cpu-<host>.json",),
    "launches-cuda-": ("launches-cuda-<host>.json",),
    "threshold-cuda-": ("threshold-cuda-<host>.json",),
    ".out": ("<benchmark>.out",),
    ".breakdown.json": ("<name>_rank<r>.breakdown.json",),
    "Average per-frame pipeline time: 15.00 ms (66.7 FPS)":
        ("Average per-frame pipeline time: <2dp> ms (<1dp> FPS)",),
    "Profiling Summary (skip_first_n=3)": ("Profiling Summary (<F> frames, skip_first_n=<n>)",),
}
# ---- The page ------------------------------------------------------------------------------------


class Entry:
    def __init__(self, where, kind, cells):
        self.where = where
        self.kind = kind
        self.name, self.row, self.plumb, self.status, self.remark = cells


def code(cell):
    """The text of a cell `like this`; "" for a dash."""
    match = re.fullmatch(r"`(.*)`", cell)
    return match[1] if match else ""


def read_page(root, problems):
    """The entries: table lines of six cells whose third is a row ID."""
    entries = []
    for number, line in enumerate((root / PAGE).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            continue
        cells = [c.strip().replace("\\|", "|")
                 for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if len(cells) != 6 or not re.fullmatch(r"[A-Z]{2}-\d+", cells[2]):
            continue
        name, kind, row, plumb, status, remark = cells
        where = "%s:%d" % (PAGE, number)
        entries.append(Entry(where, kind, (code(name), row, code(plumb), status, remark)))
        if not code(name):
            problems.append("%s: no name between backquotes" % where)
    if not entries:
        problems.append("%s: no table of names" % PAGE)
    return entries


# ---- Against the tree ----------------------------------------------------------------------------


class Tree:
    def __init__(self, root):
        settings = (root / "src/config/settings.c").read_text(encoding="utf-8")
        self.settings = {"PLUMB" + ("_" + n if n else "")
                         for n in re.findall(r'\.name = "([A-Z0-9_]*)"', settings)}
        headers = "\n".join(p.read_text(encoding="utf-8")
                            for p in sorted((root / "include/plumb").rglob("*.h*")))
        # A name that only a comment mentions does not exist.
        self.headers = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", " ", headers, flags=re.S)))
        # The fields of a file are those that its page names.
        self.fields = {file: set(re.findall(r"\w+", (root / page).read_text("utf-8")))
                       for file, page in FIELD_PAGES.items()}
        self.commands = {}
        completion = (root / "completions/plumb.bash").read_text(encoding="utf-8")
        for name, words in re.findall(r"^    ([\w-]+)\)\n\s+words='([^']*)'", completion, re.M):
            self.commands[name] = set(words.split())
        self.views = dict(re.findall(r"^    ([\w-]+)\)\n\s+words='[^']*'\n\s+names='([a-z ]+)'", completion,
                                     re.M))
        rows = (root / "docs/rows.md").read_text(encoding="utf-8")
        self.rows = dict(re.findall(r"^\| ([A-Z]{2}-\d+) \|.*\| ([a-z ]+) \| [^|]* \|$", rows, re.M))

    def missing(self, plumb):
        """The names in an entry's plumb form that do not exist."""
        gone = []
        file, colon, path = plumb.partition(": ")
        if colon and file.endswith(".json"):
            words = re.findall(r"\w+", re.sub(r"<[^>]*>", "", path))
            return [w for w in words if w not in self.fields.get(file, ())]
        for name, follows in re.findall(r"\b(PLUMB(?:_[A-Z0-9_]+)?)\b(.?)", plumb):
            # PLUMB_PIPELINE=x is the variable, PLUMB_PIPELINE(x) the macro.
            known = {"=": self.settings, "(": self.headers}.get(follows,
                                                                self.settings | self.headers)
            if name not in known:
                gone.append(name)
        for name in re.findall(r"\bplumb_\w+(?:\.\w+)?", plumb):
            if any(word not in self.headers for word in name.split(".")):
                gone.append(name)
        for command, rest in re.findall(r"\bplumb ([a-z][a-z-]*)([^|;]*)", plumb):
            if command not in self.commands:
                gone.append("plumb " + command)
                continue
            view = re.match(r" ([a-z]+)\b", rest)
            if command in self.views and view and view[1] not in self.views[command].split():
                gone.append("plumb %s %s" % (command, view[1]))
            gone += ["plumb %s %s" % (command, o) for o in re.findall(r"--[a-z-]+", rest)
                     if o not in self.commands[command]]
        return gone


def check_tree(root, entries, problems):
    tree = Tree(root)
    variables = set()
    for e in entries:
        prefix, _, number = e.row.partition("-")
        if int(number) not in range(1, LAST_ROW.get(prefix, 0) + 1):
            problems.append("%s: '%s' is of row %s, which does not exist" % (e.where, e.name, e.row))
        if e.kind not in KINDS:
            problems.append("%s: '%s' is of kind '%s', which does not exist" % (e.where, e.name, e.kind))
        if e.status not in STATUSES:
            problems.append("%s: '%s' has status '%s', not one of %s"
                            % (e.where, e.name, e.status, ", ".join(STATUSES)))
        if e.status in ("works", "partly") and not e.plumb:
            problems.append("%s: '%s' is said to be '%s', but not as what"
                            % (e.where, e.name, e.status))
        if not e.remark:
            problems.append("%s: '%s' has no remark" % (e.where, e.name))
        if e.kind == "variable":
            if e.name in variables:
                problems.append("%s: the variable '%s' stands there twice" % (e.where, e.name))
            variables.add(e.name)
        if e.status in ("works", "partly"):
            for name in tree.missing(e.plumb):
                problems.append("%s: '%s' is said to be '%s', but there is no '%s'"
                                % (e.where, e.name, e.status, name))
        if e.status == "not yet" and tree.rows.get(e.row) == "works":
            problems.append("%s: '%s' is 'not yet', but docs/rows.md says that %s works"
                            % (e.where, e.name, e.row))
        if e.status == "partly" and tree.rows.get(e.row) == "works" and e.name not in PARTS:
            others = re.findall(r"\(([A-Z]{2}-\d+)\)", e.remark)
            if not any(tree.rows.get(row, "works") != "works" for row in others):
                problems.append("%s: '%s' is 'partly', but docs/rows.md says that %s works"
                                % (e.where, e.name, e.row))
    if not tree.settings or not tree.headers or not tree.commands or len(tree.rows) != 158:
        problems.append("the tree's settings, headers, commands or rows cannot be read")


# ---- Against the reference document --------------------------------------------------------------

LEFT = {text for texts in LEFT_OUT.values() for text in texts}
BRACES = re.compile(r"^(.*[\w./>])\{([\w]+(?:,[\w]+)+)\}(.*)$")
WORD = re.compile(r"[A-Za-z_]\w*")


def signature_words(span):
    span = re.sub(r" \([^)]*\)", "", span)  # remarks inside a schema
    span = re.sub(r'"[^"]*"', "", span)
    span = re.sub(r"<[^>]*>", "", span)
    span = re.sub(r"=[^\s,)}]+", "", span)  # default values and field numbers
    return [w for w in WORD.findall(span) if w not in SIGNATURE_WORDS]


def names_of(span, table):
    """The names that a span between backquotes stands for."""
    if span in LEFT:
        return []
    if span in SPELLED:
        return SPELLED[span]
    if span in table:
        return [span]
    if re.fullmatch(r"[\w.]+\(\)", span):
        return [span[:-2]]
    braces = BRACES.match(span)
    if braces:
        return [n for part in braces[2].split(",")
                for n in names_of(braces[1] + part + braces[3], table)]
    if re.match(r"[\w.]*\[?[({]", span):
        return signature_words(span)
    plain = re.sub(r"\[\]$", "", span)
    plain = re.sub(r"^([\w<>]+)(=|: )[\w.]*$", r"\1", plain)
    if plain not in table and re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", plain):
        return plain.split(".")
    return [plain]


def read_reference(path, table):
    """Yields (line, system or None, name) for each name, and notes which exceptions were met."""
    section = None
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        heading = re.match(r"## (\d+)\. ", line)
        if heading:
            section = SECTIONS.get(heading[1])
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith("```"):
            continue
        line = line.replace("\\|", "|")
        for span in re.findall(r"`([^`]+)`", line):
            yield number, section, span, names_of(span, table)
        prose = re.sub(r"`[^`]+`", " ", line)
        for word in re.findall(r"(?<![\w/.-])_?[A-Za-z]\w*(?:_\w+)+|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b",
                               prose):
            yield number, section, word, [] if word in LEFT else [word]


def check_reference(path, entries, problems):
    table = {}
    for e in entries:
        table.setdefault(e.name, set()).add(e.row.partition("-")[0])
    met = set()
    names = 0
    for number, section, span, found in read_reference(path, table):
        met.add(span)
        names += len(found)
        # One cut spelling may stand for a name of each of two systems.
        shared = set().union(*(table.get(n, set()) for n in found)) if span in SPELLED else set()
        for name in found:
            if name not in table:
                problems.append("reference:%d: '%s' is not on the page (from `%s`)"
                                % (number, name, span))
            elif section and section not in table[name] | shared:
                problems.append("reference:%d: '%s' is not on the page as a name of %s (from `%s`)"
                                % (number, name, section, span))
    for text in sorted((LEFT | set(SPELLED)) - met):
        problems.append("the exception '%s' is not in the reference document" % text)
    if names < 500:
        problems.append("only %d names were found in the reference document" % names)


def main(argv):
    parser = argparse.ArgumentParser(description="Checks docs/coming-from.md.")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    args = parser.parse_args(argv[1:])
    root = args.root.resolve()
    problems = []
    try:
        entries = read_page(root, problems)
        if args.reference:
            check_reference(args.reference, entries, problems)
        else:
            check_tree(root, entries, problems)
    except (OSError, UnicodeDecodeError) as e:
        problems.append("cannot be read: %s" % e)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
