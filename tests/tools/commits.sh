#!/bin/sh
# labels: plain
# New commits have messages as CONTRIBUTING.md wants them, and the check notices planted ones.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_commits.py
command -v git >/dev/null || {
    echo "git is not installed" >&2
    exit 77
}
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_CONFIG_NOSYSTEM=1

# verdict STATUS: the status of the last check must be that one.
verdict() {
    if [ "$status" != "$1" ]; then
        echo "$what: status $status, not $1:" >&2
        cat out.txt >&2
        exit 1
    fi
}

# says TEXT: the last check must have printed it.
says() {
    grep -q -F -- "$1" out.txt || {
        echo "$what: failed without '$1':" >&2
        cat out.txt >&2
        exit 1
    }
}

judge() {
    status=0
    "$check" "$@" >out.txt 2>&1 || status=$?
}

# commit LINES SUBJECT [BODY]: a repository with one new commit that adds so many lines.
commit() {
    what="'$2' with $1 lines"
    git -C repository reset -q --hard base
    seq "$1" >repository/added.txt
    git -C repository add added.txt
    git -C repository commit -q -m "$2" ${3:+-m "$3"}
    judge --base base repository
}

git init -q repository
seq 100 >repository/long.txt
git -C repository add long.txt
git -C repository commit -q -m 'An old subject of any form, which nobody checks, since it came before the base.'
git -C repository tag base

for subject in 'stats: clamp the deviation' 'cli, docs: name the views' 'src/read: bring it back' \
    'plumb-serve: process requests' "$(printf 'a: pass %064d' 0)"; do
    commit 50 "$subject"
    verdict 0
done
commit 51 'report: add a view' 'The matrix of options was hard to read.'
verdict 0

commit 1 "$(printf 'a: pass %065d' 0)"
verdict 1
says 'the subject has 73 characters; 72 at most'
commit 1 'Clamp the deviation'
verdict 1
says "is not 'area: imperative'"
commit 1 'Stats: clamp the deviation'
verdict 1
says "is not 'area: imperative'"
commit 1 'stats: The deviation is clamped'
verdict 1
says "a verb in lower case, not with 'The'"
for verb in clamps clamped clamping; do
    commit 1 "stats: $verb the deviation"
    verdict 1
    says "'$verb' is not an imperative"
done
commit 1 'stats: clamp the deviation.'
verdict 1
says 'ends with a full stop'
commit 51 'stats: clamp the deviation'
verdict 1
says '51 lines are added and no body says why'

# A file that moves adds nothing.
what='a move'
git -C repository reset -q --hard base
git -C repository mv long.txt moved.txt
git -C repository commit -q -m 'docs: move the long file'
judge --base base repository
verdict 0

# Without the commits there is nothing to check, and that is said.
what='a shallow clone'
git -C repository commit -q --allow-empty -m 'Any subject'
git clone -q --depth 1 "file://$PWD/repository" shallow
judge --base "$(git -C repository rev-parse base)" shallow
verdict 77
says 'is not in the history of HEAD'
what='a tarball'
mkdir tarball
export GIT_CEILING_DIRECTORIES="$PWD"
judge tarball
verdict 77
says 'not in a git repository'

exec "$check" "$PLUMB_SOURCE_DIR"
