#!/usr/bin/python3
"""Checks the messages of new commits: tools/check_commits.py [--base COMMIT] [ROOT]

New are the commits between BASE, or COMMIT, and HEAD of the repository at ROOT (default: this one).
Fails when

- a subject has more than SUBJECT_MAX characters;
- a subject is not `area: imperative`: the area is a folder, a command or a topic in lower case, and
  the verb has its plain form in lower case ("add", not "adds", "added" or "adding");
- a subject ends with a full stop;
- a commit adds more than ADDED_MAX lines and has no body that says why. Lines that a rename moves
  are not added.

Merges are not checked. The status is 77, with the reason, where the commits cannot be seen: in a
tarball, or in a shallow clone that does not reach BASE.
"""

import argparse
import pathlib
import re
import subprocess
import sys

BASE = "9a2775ca3267fc6b6e2b08954384ccde49283008"
SUBJECT_MAX, ADDED_MAX = 72, 50
SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./+-]*(?:(?:, | and | )[a-z0-9_./+-]+)*: (?P<verb>\S+)")
# Endings of other forms of a verb, and plain verbs that end like them.
INFLECTED = re.compile(r"\w+(?:ed|ing|[^s]s)")
PLAIN = {"bring", "embed", "exceed", "feed", "focus", "need", "proceed", "ring", "seed", "shed",
         "speed", "string", "bias", "canvas", "alias", "succeed", "bus", "heed", "wed", "weed"}
# Starts a record; a subject, or a line of numbers, cannot hold it.
MARK = "\x1e"


class Unseen(Exception):
    """The commits cannot be seen; the text is the reason."""


def git(root, *arguments):
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True,
                              encoding="utf-8", errors="replace", check=False)
    except FileNotFoundError:
        raise Unseen("git is not installed") from None
    return done


def new_commits(root, base):
    """Yields (abbreviated id, subject, body, added lines), newest first."""
    inside = git(root, "rev-parse", "--git-dir")
    if inside.returncode != 0:
        raise Unseen("not in a git repository that can be read: "
                     + (inside.stderr.strip().splitlines() or ["git says nothing"])[0])
    if git(root, "merge-base", "--is-ancestor", base, "HEAD").returncode != 0:
        raise Unseen("commit %s is not in the history of HEAD" % base[:12])
    log = git(root, "log", "--no-merges", "-M", "--numstat", "--no-color", "--no-show-signature",
              "--format=" + MARK + "%h%n%s%n%b" + MARK, base + "..HEAD")
    if log.returncode != 0:
        raise Unseen("git log: " + log.stderr.strip())
    records = log.stdout.split(MARK)[1:]
    for message, numbers in zip(records[0::2], records[1::2]):
        short, subject, body = message.split("\n", 2)
        added = sum(int(n) for n in re.findall(r"^(\d+)\t\d+\t", numbers, re.M))
        yield short, subject, body.strip(), added


def problems_of(subject, body, added):
    if len(subject) > SUBJECT_MAX:
        yield "the subject has %d characters; %d at most" % (len(subject), SUBJECT_MAX)
    match = SUBJECT.match(subject)
    if not match:
        yield "the subject is not 'area: imperative', as 'stats: clamp the deviation'"
    else:
        verb = match["verb"].rstrip(",:")
        if not re.match(r"[a-z]", verb):
            yield "what follows the area begins with a verb in lower case, not with '%s'" % verb
        elif INFLECTED.fullmatch(verb) and verb not in PLAIN:
            yield "'%s' is not an imperative: 'add', not 'adds', 'added' or 'adding'" % verb
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if added > ADDED_MAX and not body:
        yield "%d lines are added and no body says why" % added


def main():
    parser = argparse.ArgumentParser(description="Checks the messages of new commits.")
    parser.add_argument("--base", default=BASE, metavar="COMMIT")
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    failed = False
    try:
        for short, subject, body, added in new_commits(args.root, args.base):
            for problem in problems_of(subject, body, added):
                print("commit %s '%s': %s" % (short, subject, problem), file=sys.stderr)
                failed = True
    except Unseen as reason:
        print("commits not checked: %s" % reason, file=sys.stderr)
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
